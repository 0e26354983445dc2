"""Qrels versions that are published while other things happen."""

from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

import pytest

from gainboard.evaluation import collections
from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.evaluation.judgments import publication, qrels
from gainboard.evaluation.judgments.versions import INDEXES
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.evaluation.workspace import LRUCache, Workspace
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.store import collections as stored
from gainboard.store import qrels as stored_qrels
from gainboard.store import runs as stored_runs
from gainboard.store.database import Database
from gainboard.store.records import VersionName
from tests.api.test_races import at_once
from tests.world.campaigns import OTHER_QRELS, QRELS, body, judged, run_text
from tests.world.servers import ADMIN


def test_runs_that_race_with_the_publication_of_a_draft_are_all_judged_by_it(on_both):
    campaign = judged(on_both)
    campaign.draft()
    texts = [run_text({"1": ["good", f"d{number}"], "2": ["good"]}, f"r{number}") for number in range(10)]
    uploads = [partial(campaign.submit, each) for each in texts]
    answers = at_once([*uploads[:5], partial(campaign.publish, 2), *uploads[5:]])
    assert sorted(each.status_code for each in answers) == [200, *[201] * 10]
    found = campaign.get("/runs").json()["items"]
    assert [run["unjudged_share"] for run in found] == [*[pytest.approx(1 / 3)] * 10, 0.0]
    assert campaign.scores("AP")["qrels_version"] == 2


def test_of_organisers_who_publish_at_once_all_have_the_same_publication(on_both):
    campaign = judged(on_both)
    campaign.draft()
    answers = at_once([partial(campaign.publish, 2)] * 6)
    assert [each.status_code for each in answers] == [200] * 6
    assert {each.text for each in answers} == {campaign.get("/qrels/2").text}


def test_a_draft_is_either_published_or_discarded(on_both):
    campaign = judged(on_both)
    campaign.draft()
    answers = at_once([partial(campaign.publish, 2), partial(campaign.discard, 2)])
    assert [each.status_code for each in answers] in ([200, 409], [404, 204])
    assert campaign.scores("AP")["qrels_version"] == (2 if answers[0].status_code == 200 else 1)


def test_of_drafts_of_one_file_sent_at_once_one_is_made(on_both):
    campaign = judged(on_both)
    answers = at_once([partial(campaign.put_qrels, OTHER_QRELS, draft=True)] * 8)
    assert sorted(each.status_code for each in answers) == [*[200] * 7, 201]
    made = campaign.get("/qrels/2").json()
    receipts = [each.json()["receipt"] for each in answers]
    assert receipts == receipts[:1] * 8
    assert [each.json() for each in answers] == [{**made, "receipt": receipts[0]}] * 8


class Stopped(Workspace):
    """A workspace whose clock stands still."""

    def now(self):
        return datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def stopped(migrated_url):
    opened, _ = open_workspace(Settings.read({}, database_url=migrated_url, admin_token=ADMIN))
    with closing(opened.database):
        workspace = Stopped(opened.database)
        principal, name = authenticate(workspace, Sender.of(ADMIN)), f"c-{uuid4().hex}"
        settings = {"title": "", "level_names": None, "highest_level": 2, "gains": "linear", "depth": 10}
        more = {"order_by": "score", "topics": None, "metrics": None, "phase": "hidden", "public": False}
        collections.create(workspace, principal, {"name": name, **settings, **more})
        yield workspace, principal, name


def test_what_was_published_last_answers_even_if_the_clock_stood_still(stopped):
    workspace, principal, name = stopped
    for text in (QRELS, OTHER_QRELS):
        qrels.publish(workspace, principal, name, body(text))
    for number in (1, 2, 1):
        publication.publish(workspace, principal, name, VersionName(version=number))
        found = collections.find_collection(workspace, principal, name).qrels
        assert found is not None
        assert found.version == number


def test_only_what_is_published_counts_the_revision_on(stopped):
    workspace, principal, name = stopped

    def revision():
        with workspace.database.reading() as tx:
            found = stored.find(tx, name)
        assert found is not None
        return found.revision

    qrels.publish(workspace, principal, name, body(QRELS))
    before = revision()
    for text in (OTHER_QRELS, OTHER_QRELS + "3 0 good 1\n"):
        qrels.publish(workspace, principal, name, body(text), draft=True)
    publication.discard(workspace, principal, name, VersionName(version=2))
    assert revision() == before
    publication.publish(workspace, principal, name, VersionName(version=3))
    assert revision() == before + 1


class Interrupted(LRUCache[int, QrelsIndex]):
    """Something else happens when an index is first asked for: in the middle of judging."""

    def __init__(self, happens):
        super().__init__(1_000)
        self._waiting = [happens]

    def get(self, key, make):
        while self._waiting:
            self._waiting.pop()()
        return super().get(key, make)


def send(stopped, tag):
    workspace, principal, name = stopped
    runs.submit(workspace, principal, name, body(run_text({"1": ["good"], "2": [tag]}, tag)), RunDetails("lemur"))


def test_a_run_that_comes_while_another_is_judged_is_judged_before_the_publication(stopped):
    workspace, principal, name = stopped
    qrels.publish(workspace, principal, name, body(QRELS))
    qrels.publish(workspace, principal, name, body(OTHER_QRELS), draft=True)
    send(stopped, "early")
    meddled = Stopped(workspace.database)
    meddled.kept[INDEXES] = Interrupted(partial(send, stopped, "late"))
    publication.publish(meddled, principal, name, VersionName(version=2))
    found = runs.list_runs(workspace, principal, name, None, 10)
    assert [(each.run.name, each.judging and each.judging.unjudged) for each in found] == [("early", 1), ("late", 1)]


def stored_rankings(stopped):
    """The judged rankings that the database has for the version that answers, by the names of their runs."""
    workspace, _, name = stopped
    with workspace.database.reading() as tx:
        found = stored.find(tx, name)
        assert found is not None
        newest = stored_qrels.find(tx, found.id)
        assert newest is not None
        names = {run.id: run.name for run in stored_runs.page(tx, found.id)}
        return {names[run]: ranking for run, ranking in stored_runs.rankings(tx, [*names], newest.id).items()}


def test_runs_that_are_stored_already_are_judged_at_the_moment_of_publication(stopped):
    workspace, principal, name = stopped
    send(stopped, "early")
    qrels.publish(workspace, principal, name, body(QRELS))
    assert [*stored_rankings(stopped)] == ["early"]
    qrels.publish(workspace, principal, name, body(OTHER_QRELS))
    judged = stored_rankings(stopped)
    send(stopped, "later")  # the same judged documents, which an upload is joined with by itself
    assert stored_rankings(stopped) == {"early": judged["early"], "later": judged["early"]}


class Overtaken(Database):
    """A database where something else happens just before the first writing transaction."""

    def __init__(self, url, happens):
        super().__init__(url)
        self._waiting = [happens]

    @contextmanager
    def writing(self):
        while self._waiting:
            self._waiting.pop()()
        with super().writing() as tx:
            yield tx


def test_a_run_that_comes_after_all_others_are_judged_is_judged_before_the_publication(stopped):
    workspace, principal, name = stopped
    send(stopped, "early")
    with closing(Overtaken(workspace.database.url, partial(send, stopped, "late"))) as database:
        qrels.publish(Stopped(database), principal, name, body(QRELS))
    assert sorted(stored_rankings(stopped)) == ["early", "late"]
