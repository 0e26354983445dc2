"""Conditional and compressed answers, and who may keep them."""

import asyncio
import hashlib

import pytest
from starlette.responses import Response

from gainboard.api import middleware
from gainboard.api.middleware import ASIDE_FROM_BYTES, Conditional
from tests.world.campaigns import judged

PATHS = ["", "/runs", "/runs/tag", "/qrels", "/qrels/1", "/scores", "/leaderboard", "/tokens"]


@pytest.fixture(scope="module")
def open_campaign(shared):
    found = judged(shared)
    found.release(public=True)
    return found


def asked(campaign, path="", held=None, accept="application/json"):
    sent = {"Accept-Encoding": "identity", "Accept": accept} | ({"If-None-Match": held} if held else {})
    return campaign.organiser.get(campaign.path + path, headers=sent)


@pytest.mark.parametrize("path", [*PATHS, "/qrels/1 text/plain", "/runs/tag text/plain"])
def test_the_etag_is_the_hash_of_the_body_and_spares_a_second_one(open_campaign, path):
    path, _, accept = path.partition(" ")
    first = asked(open_campaign, path, None, accept or "application/json")
    assert first.headers["etag"] == f'"{hashlib.sha256(first.content).hexdigest()}"'
    second = asked(open_campaign, path, f'"other", W/{first.headers["etag"]}', accept or "application/json")
    assert (second.status_code, second.content) == (304, b"")
    for name in ("etag", "vary", "cache-control"):
        assert second.headers[name] == first.headers[name]


def test_an_etag_that_a_proxy_has_changed_is_the_same(open_campaign):
    tag = asked(open_campaign).headers["etag"]
    for more in ("-gzip", "-br", "--gzip", "-gzip-gzip", "-zstd"):
        changed = f'{tag[:-1]}{more}"'
        for held in (changed, f"W/{changed}", f'"other-gzip", {changed}'):
            assert asked(open_campaign, held=held).status_code == 304
        assert asked(open_campaign, held=f'"old{more}"').status_code == 200
    assert asked(open_campaign, held="*").status_code == 304


def test_long_answers_are_compressed_for_who_takes_gzip(shared):
    taking = ("gzip", "br, GZIP;q=0.5", "*", "*;q=0, gzip")
    for accepted in (*taking, "gzip;q=0", "gzip; q=0.000, *", "*, gzip;q=0", "xgzip", "identity", ""):
        answer = shared.anonymous.get("/v1/metrics", headers={"Accept-Encoding": accepted})
        assert (answer.headers.get("content-encoding") == "gzip") is (accepted in taking), accepted
        assert answer.json()["items"]


@pytest.mark.parametrize("codec", ["gzip", "isal.igzip"])
def test_equal_answers_are_equal_bytes_compressed_or_not(shared, codec, monkeypatch):
    monkeypatch.setattr(middleware, "gzip", pytest.importorskip(codec))

    def tags(encoding):
        sent = {"Accept-Encoding": encoding}
        return {shared.anonymous.get("/v1/metrics", headers=sent).headers["etag"] for _ in range(3)}

    assert len(tags("gzip")) == len(tags("identity")) == 1
    assert tags("gzip") != tags("identity")


def test_others_are_answered_while_a_large_answer_is_compressed():
    large = Response(b"0123456789" * (ASIDE_FROM_BYTES // 5), media_type="text/csv")
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"accept-encoding", b"gzip")]}
    turns = []

    async def nothing():
        return {"type": "http.request"}

    async def send(message):
        turns.append(message["type"])

    async def both():
        answering = asyncio.create_task(Conditional(large)(scope, nothing, send))
        await asyncio.sleep(0)
        turns.append("another's turn")
        await answering

    asyncio.run(both())
    assert turns == ["another's turn", "http.response.start", "http.response.body"]
