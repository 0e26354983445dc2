"""When runs are taken, and how many: windows, quotas, and what a team is told of both."""

import socket
from datetime import UTC, datetime, timedelta
from math import log2
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.collections import merged_policy
from gainboard.evaluation.runs import upload_quota
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections, runs, teams, tokens
from gainboard.store.database import Database
from gainboard.store.schema import migrate
from gainboard.store.tables import blobs
from tests.waiting import until
from tests.world.campaigns import RUN, WORSE, Campaign, refused, run_text
from tests.world.servers import ADMIN

DCG_OF_1000 = sum(1 / max(1, log2(rank)) for rank in range(1, 1001))
CLOSED = (403, "submissions-closed")
EXCEEDED = (403, "quota-exceeded")
PATIENCE = 30


def _in(seconds):
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def _campaign(service, **policy):
    campaign = Campaign(service, policy=policy)
    return campaign, campaign.client("participant", "own")


def _until_uploading(client, count=1):
    """Returns when so many uploads of the client's team are under way."""
    until(lambda: _limits(client)["team"]["runs"]["concurrent"]["used"] == count)


def _limits(client):
    return client.get("/v1/me/limits").json()


def test_runs_of_teams_are_taken_inside_the_window_alone(shared):
    campaign, own = _campaign(shared, opens_at=_in(-60), closes_at=_in(3600))
    assert campaign.submit(client=own).status_code == 201
    for opens, closes in ((3600, None), (None, -1), (-9, -1)):
        window = {"opens_at": opens and _in(opens), "closes_at": closes and _in(closes)}
        assert campaign.change(policy=window).status_code == 200
        answer = campaign.submit(WORSE, own)
        assert refused(answer) == CLOSED
        for name, at in window.items():
            assert at is None or datetime.fromisoformat(answer.json()[name]) == datetime.fromisoformat(at)
    assert [run["name"] for run in campaign.get("/runs", own).json()["items"]] == ["tag"]
    assert campaign.submit(WORSE).status_code == 201  # an organiser's baseline


def test_a_file_has_arrived_when_all_of_it_has(shared):
    campaign, own = _campaign(shared, quotas={"concurrent": 1})

    def slowly():
        yield RUN.encode()[:10]
        _until_uploading(own)  # so it has been let in
        campaign.change(policy={"closes_at": _in(0)})
        yield RUN.encode()[10:]

    answer = own.post(f"{campaign.path}/runs", content=slowly())
    assert refused(answer) == CLOSED
    assert campaign.get("/runs").json()["items"] == []


def test_faulty_repeated_and_withdrawn_files_cost_nothing(shared):
    campaign, own = _campaign(shared, quotas={"per_day": 1, "total": 1})
    for text in ("nonsense\n", "", RUN + RUN):
        assert campaign.submit(text, own).status_code == 422
    assert _limits(own)["submissions_left"] == 1
    assert [campaign.submit(client=own).status_code for _ in range(3)] == [201, 200, 200]
    answer = campaign.submit(WORSE, own)
    assert refused(answer) == EXCEEDED
    assert (answer.json()["quota"], answer.json()["limit"], answer.json()["used"]) == ("per_day", 1, 1)
    own.delete(f"{campaign.path}/runs/tag")
    assert campaign.submit(WORSE, own).status_code == 201
    assert campaign.submit(run_text({"1": ["b"]}, "b"), campaign.client("participant", "b")).status_code == 201
    assert campaign.submit(run_text({"1": ["c"]}, "c"), team="own").status_code == 201  # organisers are not bound


def test_a_day_ends_at_midnight_of_utc(migrated_url):
    database = Database(migrated_url)
    migrate(database)
    workspace, evening = Workspace(database), datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    with database.writing() as tx:
        tokens.replace_environment_token(tx, ADMIN, evening)
        organiser = Principal("organiser", tokens.find(tx, tokens.digest(ADMIN)))
        view, team = _with_run(tx, workspace, organiser, evening)
        found = {
            now: upload_quota.of_team(tx, workspace, view, team, now)
            for now in (evening, evening + timedelta(seconds=1))
        }
    today, tomorrow = found.values()
    assert (today["per_day"].left, today["per_day"].resets_at) == (0, evening + timedelta(seconds=1))
    assert (tomorrow["per_day"].left, today["total"].left, tomorrow["total"].left) == (1, 1, 1)
    database.close()


def _with_run(tx, workspace, organiser, now):
    fixed = {"title": "", "level_names": None, "highest_level": 1, "gains": "linear", "depth": 9, "order_by": "score"}
    open_to_none = {"topics": None, "metrics": None, "phase": "hidden", "public": False}
    made = collections.create(
        tx, now, name="c", **fixed, **open_to_none, policy=merged_policy(None, {"per_day": 1, "total": 2})
    )
    team = teams.create(tx, made.id, "own", now)
    known = {"collection_id": made.id, "team_id": team.id, "name": "r", "tag": "r", "pooled": True, "created_at": now}
    tx.execute(blobs.insert().values(sha256="0" * 64, size=0))
    runs.add(tx, **known, sha256="0" * 64, topics=b"", topic_count=0, retrieved=0, warnings=[])
    return open_collection(tx, organiser, "c"), team.id


class Slow:
    """An upload of which the server has read the beginning, and which goes on when it is told."""

    def __init__(self, campaign, client, text):
        self._go, self._begun = Event(), Event()
        self._text, self._url, self._client = text.encode(), f"{campaign.path}/runs", client
        self.answers = []
        self._thread = Thread(target=self._send)
        self._thread.start()
        _until_uploading(client)

    def _send(self):
        def chunks():
            yield self._text[:10]
            self._go.wait(PATIENCE)
            yield self._text[10:]

        self.answers.append(self._client.post(self._url, content=chunks()))

    def finish(self):
        self._go.set()
        self._thread.join()
        return self.answers[0]


def test_uploads_at_once_are_bounded_and_end_however_they_go(on_both):
    campaign, own = _campaign(on_both, quotas={"concurrent": 1})
    for text, status in ((RUN, 201), ("nonsense that is no run\n", 422)):
        slow = Slow(campaign, own, text)
        answer = campaign.submit(WORSE, own)
        assert (refused(answer), answer.json()["quota"]) == (EXCEEDED, "concurrent")
        assert campaign.submit(run_text({"1": ["x"]}, "x"), campaign.client("participant", "x")).status_code in (
            201,
            200,
        )
        assert slow.finish().status_code == status
        assert _limits(own)["team"]["runs"]["concurrent"]["used"] == 0
    assert campaign.submit(WORSE, own).status_code == 201


def test_an_upload_whose_sender_leaves_is_over(shared):
    campaign, own = _campaign(shared, quotas={"concurrent": 1})
    address = urlsplit(shared.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = f"POST {campaign.path}/runs HTTP/1.1\r\nHost: x\r\nAuthorization: {own.headers['authorization']}\r\n"
        connection.sendall(f"{head}Content-Length: 999\r\n\r\n1 Q0".encode())
        _until_uploading(own)
    _until_uploading(own, 0)
    assert campaign.submit(client=own).status_code == 201


@pytest.mark.parametrize(
    ("policy", "bits"),
    [
        ({"presets": ["AP", "Q"]}, log2(1001)),
        ({"presets": ["AP"], "decimals": 4}, log2(10_001)),
        # The widest of the presets counts: 10 documents of the highest gain.
        ({"presets": ["AP", "CG(gains=3:2:1)@10"]}, log2(30 * 1000 + 1)),
        ({"presets": ["CG(gains=1000000:1000:1)@10"]}, log2(10**7 * 1000 + 1)),
        ({"presets": ["CG(gains=1e90:1e9:1)@10"]}, 64),
        ({"parameters": "free"}, 64),
        # One score for each of two declared topics, or none, and their mean.
        ({"presets": ["AP"], "scores": "own-per-topic"}, log2(1001) + 2 * log2(1002)),
        # No table is as long as the cut-off; the depth of the collection bounds the ranks.
        ({"presets": ["CG(gains=1:1:1)@1000000000"]}, log2(1000 * 1000 + 1)),
        ({"presets": ["DCG(base=2,gains=1:1:1)@1000000000"]}, log2(DCG_OF_1000 * 1000 + 1)),
        ({"presets": ["ADM(srs=raw)"]}, 64),
    ],
)
def test_limits_say_how_much_an_answer_may_tell(shared, policy, bits):
    campaign = Campaign(shared, levels=3, policy=policy, topics=["t1", "t2"])
    assert _limits(campaign.client("participant", "own"))["team"]["bits_an_answer"] == pytest.approx(bits)


def test_nobody_can_say_what_scores_of_topics_tell_that_are_not_declared(shared):
    team = _limits(_campaign(shared, presets=["AP"], scores="own-per-topic", coverage=0)[1])["team"]
    assert (team["bits_an_answer"], team["bits_left"]) == (None, None)
