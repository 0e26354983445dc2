"""Bodies that nobody may send, and bodies that do not arrive."""

import asyncio
import json
import socket
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from gainboard.api import middleware
from tests.world.campaigns import RUN

LENGTH = 1000


@contextmanager
def sending(service, method, path, token, first):
    """A connection over which the head of a request and the first bytes of its body are sent, and no more."""
    address = urlsplit(service.url)
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {LENGTH}\r\n"
    head += f"Authorization: {token}\r\n" if token else ""
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall(f"{head}\r\n".encode() + first)
        yield connection


def answer_of(connection):
    read = b""
    while b"}" not in read:
        read += (more := connection.recv(65536))
        assert more, read
    head, _, body = read.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["type"].removeprefix("/problems/")


@pytest.mark.parametrize("path", ["/v1/collections", "/v1/collections/web/jobs"])
@pytest.mark.parametrize("token", [None, "Bearer gainboard_unknown", "Basic YTpi"])
def test_no_byte_of_json_is_waited_for_without_a_token(shared, path, token):
    with sending(shared, "POST", path, token, b"") as connection:
        assert answer_of(connection) == (401, "not-authenticated")


@pytest.mark.parametrize("first", [b"", b"{", b"x" * (LENGTH - 1)])
def test_json_that_stalls_is_closed_with_an_answer(shared, monkeypatch, first):
    monkeypatch.setattr(middleware, "STALLED_SECONDS", 0.05)
    token = shared.organiser.headers["authorization"]
    with sending(shared, "POST", "/v1/collections", token, first) as connection:
        assert answer_of(connection) == (408, "body-stalled")
        assert connection.recv(1) == b""


@pytest.mark.parametrize(("method", "what"), [("POST", "runs?team=t"), ("PUT", "qrels")])
def test_an_upload_that_stalls_is_closed_and_stores_nothing(campaign, monkeypatch, method, what):
    monkeypatch.setattr(middleware, "STALLED_SECONDS", 0.05)
    token = campaign.organiser.headers["authorization"]
    with sending(campaign.service, method, f"{campaign.path}/{what}", token, RUN.encode()) as connection:
        assert answer_of(connection) == (408, "body-stalled")
        assert connection.recv(1) == b""
    assert campaign.get("/runs").json()["items"] == []


def test_after_the_body_the_end_of_the_connection_may_take_any_time(monkeypatch):
    monkeypatch.setattr(middleware, "STALLED_SECONDS", 0)
    messages = [{"type": "http.request", "body": b"x", "more_body": False}, {"type": "http.disconnect"}]
    coming = iter(messages)
    received = []

    async def receive():
        if received:
            await asyncio.sleep(0)  # whoever is timed is interrupted here
        return next(coming)

    async def send(_): ...

    async def reading(_, receive, __):
        received.append(await receive())
        received.append(await receive())

    asyncio.run(middleware.Attentive(reading)({"type": "http"}, receive, send))
    assert [message["type"] for message in received] == ["http.request", "http.disconnect"]
