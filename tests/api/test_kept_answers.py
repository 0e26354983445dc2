"""Answers that are given again from memory: only unchanged, and only to who may see them."""

import asyncio
import threading
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial

import pytest

from gainboard.api.response_cache import Checks
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store.database import Database
from gainboard.store.snapshots import StandingKey, Standings
from tests.world.campaigns import OTHER_QRELS, WORSE, judged, refused
from tests.world.servers import ADMIN, Service, new_settings, running

PATHS = ["/leaderboard?metric=AP&metric=Q", "/scores?metric=AP", "/scores?topics=all&format=csv"]


@dataclass(frozen=True)
class Servers:
    """Two servers of the same database; what is in the memory of `one` is not in that of the `other`."""

    one: Service
    other: Service

    def remembers(self, ask):
        before = self._kept()
        assert ask().status_code in (200, 304)
        return self._kept() > before

    def _kept(self):
        registry = self.one.application.state.telemetry.registry
        return registry.get_sample_value("gainboard_kept_answers_total", {"found": "yes"}) or 0.0

    def released(self):
        """A released collection with two runs, each of whose answers `one` remembers."""
        campaign = judged(self.one)
        campaign.submit(WORSE, team="gnu")
        campaign.release(public=True)
        for path in PATHS:
            ask = partial(campaign.organiser.get, campaign.path + path)
            ask()
            assert self.remembers(ask)
        return campaign


@pytest.fixture
def servers(tmp_path):
    """On SQLite."""
    with two_over(new_settings(tmp_path)) as found:
        yield found


@pytest.fixture
def on_each(migrated_url):
    """On each kind of database."""
    with two_over(Settings.read({}, database_url=migrated_url, admin_token=ADMIN)) as found:
        yield found


@contextmanager
def two_over(settings):
    with ExitStack() as stack:
        workspaces = [open_workspace(settings)[0] for _ in range(2)]
        yield Servers(*(stack.enter_context(running(create_app(each, settings))) for each in workspaces))


def test_what_was_asked_takes_room_as_well_as_the_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("gainboard.api.response_cache.MOST_BYTES", 50_000)
    settings = new_settings(tmp_path)
    workspace, _ = open_workspace(settings)
    with running(create_app(workspace, settings)) as one:
        servers = Servers(one, one)
        campaign = servers.released()
        path, filler = campaign.path + PATHS[0], "x" * 10_000
        ask = partial(campaign.organiser.get, path)
        for number in range(6):
            long = partial(ask, headers={"Accept": f"application/json, a/{filler}{number}"})
            long()
            assert servers.remembers(long)
        assert not servers.remembers(ask)


def _withdraw(there):
    return there.organiser.delete(f"{there.path}/runs/tag")


def _make_anew(there):
    there.organiser.delete(there.path)
    return there.organiser.post("/v1/collections", json={"name": there.name, "levels": 2})


CHANGES = {
    "a run is uploaded": lambda there: there.submit(WORSE.replace("bad", "worse"), name="third"),
    "a run is withdrawn": _withdraw,
    "qrels are published": lambda there: there.put_qrels(OTHER_QRELS),
    "a draft is published": lambda there: there.publish(there.draft()["version"]),
    "gains are changed": lambda there: there.change(gains="10:1"),
    "the collection is deleted": lambda there: there.organiser.delete(there.path),
    "another collection has its name": _make_anew,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_another_server_changes_is_seen_at_once(on_each, change):
    here = on_each.released()
    there = copy(here)
    there.service, there.organiser = on_each.other, on_each.other.organiser
    before = [here.organiser.get(here.path + path).content for path in PATHS]
    assert CHANGES[change](there).is_success
    after = [here.organiser.get(here.path + path) for path in PATHS]
    anew = [there.organiser.get(there.path + path) for path in PATHS]
    assert [(each.status_code, each.content) for each in after] == [(each.status_code, each.content) for each in anew]
    assert after[0].content != before[0]


def test_what_is_hidden_again_or_closed_is_given_to_nobody_from_memory(servers):
    campaign = servers.released()
    reader = campaign.client("reader")
    for path in PATHS:
        assert reader.get(campaign.path + path).status_code == 200
        assert servers.one.anonymous.get(campaign.path + path).status_code == 200
    campaign.change(public=False)
    for path in PATHS:
        assert refused(servers.one.anonymous.get(campaign.path + path)) == (401, "not-authenticated")
        assert reader.get(campaign.path + path).status_code == 200
    campaign.change(policy={"phase": "hidden"})
    for path in PATHS:
        assert campaign.organiser.get(campaign.path + path).status_code == 200
        assert refused(reader.get(campaign.path + path)) == (403, "judgments-hidden")


def test_a_token_that_ended_is_refused_what_others_have_in_memory(on_each):
    campaign = on_each.released()
    campaign.change(public=False)
    made = campaign.new_token()
    reader = on_each.one.client(made["token"])
    for path in PATHS:
        ask = partial(reader.get, campaign.path + path)
        ask()
        assert on_each.remembers(ask)
    assert on_each.other.organiser.delete(f"{campaign.path}/tokens/{made['id']}").status_code == 204
    for path in PATHS:
        assert refused(reader.get(campaign.path + path)) == (401, "not-authenticated")
        assert on_each.remembers(partial(campaign.organiser.get, campaign.path + path))


def test_all_who_see_every_score_share_an_answer(servers):
    campaign = servers.released()
    for client in (campaign.client("participant", "gnu"), campaign.client("organiser"), servers.one.anonymous):
        client.get(campaign.path)  # so that the use of the token is noted
        for path in PATHS:
            assert servers.remembers(partial(client.get, campaign.path + path))
    assert servers.one.anonymous.get(campaign.path + PATHS[0]).headers["cache-control"] == "public, max-age=5"
    assert campaign.organiser.get(campaign.path + PATHS[0]).headers["cache-control"] == "private, no-cache"


def test_of_a_hidden_collection_a_team_is_never_answered_from_memory(servers):
    campaign = judged(servers.one, policy={"presets": ["AP"], "answers": 1, "coverage": 0})
    own = campaign.client("participant", "lemur")
    asked = f"{campaign.path}/scores?metric=AP"
    assert [run["mean"] for run in campaign.organiser.get(asked).json()["runs"]] != []
    for _ in range(3):
        assert own.get(asked).json()["topics_scored"] is None
        assert not servers.remembers(partial(own.get, asked))
        assert own.get("/v1/me/limits").json()["answers_left"] == 0
    assert servers.remembers(partial(campaign.organiser.get, asked))


def test_a_draft_is_never_answered_from_memory(servers):
    campaign = servers.released()
    number = campaign.draft()["version"]
    asked = f"{campaign.path}/scores?qrels={number}"
    assert campaign.organiser.get(asked).status_code == 200
    assert campaign.discard(number).status_code == 204
    assert refused(campaign.organiser.get(asked)) == (404, "not-found")


def test_an_answer_from_memory_has_the_headers_of_the_first_and_an_id_of_its_own(servers):
    campaign = servers.released()
    fresh = servers.other.organiser
    for path in PATHS:
        for sent in ({"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip"}):
            first = fresh.get(campaign.path + path, headers=sent)
            campaign.organiser.get(campaign.path + path, headers=sent)
            again = campaign.organiser.get(campaign.path + path, headers={**sent, "X-Request-ID": "mine"})
            own = {"date", "x-request-id"}
            assert [each for each in again.headers.items() if each[0] not in own] == [
                each for each in first.headers.items() if each[0] not in own
            ]
            assert again.content == first.content
            assert again.headers["x-request-id"] == "mine"


def test_of_changed_and_unchanged_queries_each_has_its_own_answer(servers):
    campaign = servers.released()
    asked = [{}, {"beta": "10"}, {"gains": "10:1"}, {"format": "csv"}]
    first = [campaign.get("/scores", metric="Q", **each).content for each in asked]
    assert len(set(first)) == len(asked)
    assert [campaign.get("/scores", metric="Q", **each).content for each in asked] == first
    assert refused(campaign.get("/scores", metric="Q", nonsense="1")) == (422, "unknown-parameter")


def test_who_comes_while_the_database_is_read_waits_for_the_next_reading():
    read = []
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Standings):
        is_quick = False

        def find(self, asked):
            asked = set(asked)
            read.append({each.collection for each in asked})
            begun.set()
            assert go_on.wait(10)
            return dict.fromkeys(asked)

    async def ask():
        checks = Checks(Slow(Database("sqlite://")))
        first = asyncio.create_task(checks.find(StandingKey("a", None)))
        await asyncio.to_thread(begun.wait, 10)
        later = [asyncio.create_task(checks.find(StandingKey(name, None))) for name in ("a", "b", "a", "b")]
        await asyncio.sleep(0.01)
        later.pop().cancel()
        go_on.set()
        assert await asyncio.gather(first, *later) == [None] * 4

    asyncio.run(ask())
    assert read == [{"a"}, {"a", "b"}]


def test_a_reading_in_the_event_loop_is_shared_by_those_who_came_before_it_alone():
    read = []
    later = []

    class Quick(Standings):
        is_quick = True

        def find(self, asked):
            (key,) = asked
            read.append(key.collection)
            if len(read) <= 2:  # requests that come while the first ones are read
                later.append(asyncio.create_task(checks.find(key)))
            return {key: None}

    checks = Checks(Quick(Database("sqlite://")))

    async def ask():
        await asyncio.gather(*(checks.find(StandingKey(name, None)) for name in ("a", "b", "a", "b", "a")))
        await asyncio.gather(*later)

    asyncio.run(ask())
    assert read == ["a", "b", "a", "b"]
