"""Uploads at once: so many in a server, so many of a team, and each is over when its request is."""

import socket
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from tests.waiting import until
from tests.world.campaigns import RUN, Campaign, refused, run_text
from tests.world.servers import new_settings, serving


@pytest.fixture
def six(tmp_path):
    with serving(new_settings(tmp_path, readers=6)) as service:
        yield Campaign(service)


@contextmanager
def held(campaign, client, what="POST runs"):
    method, path = what.split()
    address = urlsplit(campaign.service.url)
    team = "" if client is not campaign.organiser or path == "qrels" else "?team=t"
    head = f"{method} {campaign.path}/{path}{team} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
    head += f"Authorization: {client.headers['authorization']}\r\nContent-Length: 100000\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")  # the server asks for the body only once it reads it
        yield connection


def is_taken(campaign, client):
    return campaign.submit(run_text({"1": ["d"]}, f"t{id(client)}"), client).status_code in (200, 201)


def test_a_team_has_four_uploads_at_once_whatever_their_tokens(six):
    one, other = six.client("participant", "lemur"), six.client("participant", "lemur")
    rival = six.client("participant", "rival")
    with ExitStack() as uploads:
        for client in (one, other, one, other):
            uploads.enter_context(held(six, client))
        answer = six.submit(client=one)
        assert refused(answer) == (429, "too-many-uploads")
        assert (answer.headers["retry-after"], answer.json()["limit"]) == ("5", 4)
        assert is_taken(six, rival)
    # The connections are closed, and so are the uploads, in a moment.
    until(lambda: is_taken(six, one))


def test_a_team_never_has_all_places(tmp_path):
    with serving(new_settings(tmp_path, readers=4)) as service, ExitStack() as uploads:
        campaign = Campaign(service)
        lemur, rival = campaign.client("participant", "lemur"), campaign.client("participant", "rival")
        for _ in range(3):
            uploads.enter_context(held(campaign, lemur))
        answer = campaign.submit(client=lemur)
        assert (refused(answer), answer.json()["limit"]) == ((429, "too-many-uploads"), 3)
        assert is_taken(campaign, rival)


def test_a_server_reads_so_many_uploads_in_all(six):
    teams = [six.client("participant", f"t{number}") for number in range(6)]
    with ExitStack() as uploads:
        for client in teams:
            uploads.enter_context(held(six, client))
        for answer in (six.put_qrels(), six.submit(), six.submit(client=teams[0])):
            assert refused(answer) == (429, "too-many-uploads")
            assert answer.json()["limit"] == 6
        assert six.get("/runs").status_code == 200
    until(lambda: is_taken(six, teams[0]))


@pytest.mark.parametrize("body", [RUN, "faulty\n", b"PK\x03\x04", b"\x1f\x8b"])
def test_every_end_of_an_upload_frees_its_place(tmp_path, body):
    with serving(new_settings(tmp_path, readers=1)) as service:
        campaign = Campaign(service)
        found = [campaign.submit(body).status_code for _ in range(3)]
        assert 429 not in found
        assert campaign.submit(team="x y").status_code == 422
        assert campaign.put_qrels().status_code == 201
