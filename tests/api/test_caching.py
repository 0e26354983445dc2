"""Conditional and compressed answers, and who may keep them."""

import asyncio
import gzip
import hashlib

import pytest
from starlette.responses import Response

from gainboard.api import middleware
from gainboard.api.middleware import ASIDE_FROM_BYTES, Conditional
from tests.world.campaigns import QRELS, RUN, judged, refused

VARY = "Accept, Accept-Encoding, Authorization"
PATHS = ["", "/runs", "/runs/tag", "/qrels", "/qrels/1", "/scores", "/leaderboard", "/tokens"]


@pytest.fixture(scope="module")
def open_campaign(shared):
    found = judged(shared)
    found.release(public=True)
    return found


@pytest.mark.parametrize("path", PATHS)
def test_the_etag_is_the_hash_of_the_body_and_spares_a_second_one(open_campaign, path):
    first = open_campaign.organiser.get(open_campaign.path + path, headers={"Accept-Encoding": "identity"})
    assert first.headers["etag"] == f'"{hashlib.sha256(first.content).hexdigest()}"'
    assert first.headers["vary"] == VARY
    held = {"If-None-Match": f'"other", W/{first.headers["etag"]}', "Accept-Encoding": "identity"}
    second = open_campaign.organiser.get(open_campaign.path + path, headers=held)
    assert (second.status_code, second.content) == (304, b"")
    assert {name: second.headers[name] for name in ("etag", "vary", "cache-control")} == {
        name: first.headers[name] for name in ("etag", "vary", "cache-control")
    }


@pytest.mark.parametrize("accept", ["application/json", "text/plain"])
@pytest.mark.parametrize("path", [*PATHS, "/pool", "/absent"])
def test_head_says_what_get_would_and_sends_no_body(open_campaign, path, accept):
    sent = {"Accept-Encoding": "identity", "Accept": accept}
    got = open_campaign.organiser.get(open_campaign.path + path, headers=sent)
    head = open_campaign.organiser.head(open_campaign.path + path, headers=sent)
    assert (head.status_code, head.content) == (got.status_code, b"")
    own = ("x-request-id", "date", "transfer-encoding")  # the last is not for answers without a body
    assert [each for each in head.headers.items() if each[0] not in own] == [
        each for each in got.headers.items() if each[0] not in own
    ]


def test_files_come_back_byte_for_byte_under_the_hash_of_their_content(campaign):
    campaign.put_qrels(gzip.compress(QRELS.encode()))
    campaign.submit(gzip.compress(RUN.encode()))
    name = f"{campaign.name}-official-1"
    for path, text, saved_as in (("/qrels/1", QRELS, name), ("/runs/tag", RUN, "tag")):
        answer = campaign.organiser.get(campaign.path + path, headers={"Accept": "text/plain"})
        assert answer.text == text
        assert answer.headers["content-disposition"] == f'attachment; filename="{saved_as}.txt"'
        assert answer.headers["etag"] == f'"{hashlib.sha256(text.encode()).hexdigest()}"'
        again = {"Accept": "text/plain", "If-None-Match": answer.headers["etag"]}
        assert campaign.organiser.get(campaign.path + path, headers=again).status_code == 304


def test_any_etag_matches_a_star_and_an_old_one_matches_nothing(open_campaign):
    def status(tag):
        return open_campaign.organiser.get(open_campaign.path, headers={"If-None-Match": tag}).status_code

    assert status("*") == 304
    assert status('"old"') == 200


@pytest.mark.parametrize("more", ["-gzip", "-br", "--gzip", "-gzip-gzip", "-zstd"])
def test_an_etag_that_a_proxy_has_changed_is_the_same(open_campaign, more):
    tag = open_campaign.organiser.get(open_campaign.path, headers={"Accept-Encoding": "identity"}).headers["etag"]
    changed = f'{tag[:-1]}{more}"'
    for held in (changed, f"W/{changed}", f'"other-gzip", {changed}'):
        sent = {"If-None-Match": held, "Accept-Encoding": "identity"}
        assert open_campaign.organiser.get(open_campaign.path, headers=sent).status_code == 304
    sent = {"If-None-Match": f'"old{more}"', "Accept-Encoding": "identity"}
    assert open_campaign.organiser.get(open_campaign.path, headers=sent).status_code == 200


def test_an_answer_that_changed_is_sent_again(campaign):
    held = {"If-None-Match": campaign.get("").headers["etag"]}
    campaign.change(title="new")
    assert campaign.organiser.get(campaign.path, headers=held).json()["title"] == "new"


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*, gzip;q=0", False),
        ("*;q=0, gzip", True),
        ("xgzip", False),
        ("identity", False),
        ("", False),
    ],
)
def test_long_answers_are_compressed_for_who_takes_gzip(shared, accepted, packed):
    answer = shared.anonymous.get("/v1/metrics", headers={"Accept-Encoding": accepted})
    assert (answer.headers.get("content-encoding") == "gzip") is packed
    assert answer.json()["items"]


@pytest.mark.parametrize("codec", ["gzip", "isal.igzip"])
def test_equal_answers_are_equal_bytes_compressed_or_not(shared, codec, monkeypatch):
    monkeypatch.setattr(middleware, "gzip", pytest.importorskip(codec))

    def tags(encoding):
        sent = {"Accept-Encoding": encoding}
        return {shared.anonymous.get("/v1/metrics", headers=sent).headers["etag"] for _ in range(3)}

    assert len(tags("gzip")) == len(tags("identity")) == 1
    assert tags("gzip") != tags("identity")


def test_only_what_anybody_may_read_may_be_kept_by_caches(open_campaign):
    def kept(client, path):
        return client.get(open_campaign.path + path).headers["cache-control"]

    service = open_campaign.service
    assert kept(service.anonymous, "/scores") == "public, max-age=5"
    assert kept(service.anonymous, "/tokens") == "private, no-cache"
    assert kept(service.organiser, "/scores") == "private, no-cache"
    assert kept(service.client("gainboard_bad"), "/scores") == "private, no-cache"


def test_errors_have_no_etag_and_are_not_kept(campaign):
    answer = campaign.get("/scores")
    assert refused(answer) == (409, "no-qrels")
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "private, no-cache"
    assert answer.headers["vary"] == VARY


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
