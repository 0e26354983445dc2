"""Another order of runs, worked chunk by chunk on both databases, with something else happening in between."""

from contextlib import closing

import pytest

from gainboard.analyses.rejudge import Rejudging
from gainboard.errors import Conflict, NotAuthenticated
from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.evaluation.access.tokens import Wish, revoke
from gainboard.evaluation.access.tokens import create as create_token
from gainboard.evaluation.collections import create
from gainboard.evaluation.judgments import qrels
from gainboard.evaluation.judgments.reordering import change_unpublished
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.worker import Worker
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.store import claims, jobs
from gainboard.store import qrels as stored_qrels
from gainboard.store import runs as stored_runs
from gainboard.vocabulary import OFFICIAL, RunOrder
from tests.api.test_publication import Overtaken
from tests.api.test_rejudging import near
from tests.world.campaigns import body
from tests.world.groves import NAME, SETTINGS, Laboratory
from tests.world.servers import ADMIN

QRELS = "1 0 good 1\n2 0 good 1\n"
NEW_QRELS = "1 0 good 1\n2 0 zebra 1\n"


@pytest.fixture
def lab(migrated_url):
    """Two runs, joined with qrels in the order of double precision."""
    workspace, _ = open_workspace(Settings.read({}, database_url=migrated_url, admin_token=ADMIN))
    with closing(workspace.database):
        laboratory = Laboratory(workspace, authenticate(workspace, Sender.of(ADMIN)))
        create(workspace, laboratory.principal, SETTINGS)
        qrels.publish(workspace, laboratory.principal, NAME, body(QRELS))
        for tag in ("one", "two"):
            send(laboratory, tag)
        yield laboratory


def send(lab, tag, workspace=None):
    runs.submit(workspace or lab.workspace, lab.principal, NAME, body(near(tag)), RunDetails("lemur"))


def rank_joined(lab):
    """The reciprocal ranks of each run under the version that answers, whose joins are all stored."""
    with lab.workspace.database.reading() as tx:
        collection = lab.collection()
        newest = stored_qrels.find(tx, collection.id)
        assert newest is not None
        assert newest.order_by == collection.order_by
        stored = stored_runs.page(tx, collection.id)
        assert stored_runs.find_judgings(tx, [run.id for run in stored], newest.id).keys() == {run.id for run in stored}
    (by_run,) = lab.scores("RR").values()
    return {run: [value or 0.0 for value in row.values()] for run, row in by_run.items()}


def versions(lab):
    found = qrels.list_versions(lab.workspace, lab.principal, NAME, OFFICIAL, None, 100)
    return [(each.qrels.version, each.qrels.order_by) for each in found]


def last_claim(lab):
    """Works all chunks but the one that publishes, each in a worker of its own, and claims that."""
    while True:
        (claim, *others) = lab.claims()
        if claim.is_last:
            return claim
        for each in (claim, *others):
            Worker(lab.workspace).work(each)


def test_runs_and_qrels_that_come_while_it_works_are_taken_along(lab):
    job = lab.launch("rejudge", chunk_seconds=1e-9, order_by="score32")
    claim = last_claim(lab)
    send(lab, "three")
    assert lab.launch("rejudge", order_by="score32").id == job.id  # an equal request finds the open job
    qrels.publish(lab.workspace, lab.principal, NAME, body(NEW_QRELS))
    Worker(lab.workspace).work(claim)
    assert versions(lab) == [(1, "score"), (2, "score"), (3, "score32")]
    assert rank_joined(lab) == {tag: [0.5, 1.0] for tag in ("one", "three", "two")}


def test_what_comes_just_before_the_publication_is_taken_along(lab, monkeypatch):
    def send_and_draft():
        send(lab, "three")
        qrels.publish(lab.workspace, lab.principal, NAME, body(NEW_QRELS), draft=True)

    meanwhile(monkeypatch, send_and_draft)
    lab.launch("rejudge", order_by="score32")
    lab.work()
    assert versions(lab) == [(1, "score"), (3, "score32"), (4, "score32")]
    assert rank_joined(lab) == {tag: [0.5, 0.5] for tag in ("one", "three", "two")}


def meanwhile(monkeypatch, happens):
    """Has something happen once, when the result is there and nothing is published yet."""
    result, waiting = Rejudging.result, [happens]

    def interrupted(self, found):
        made = result(self, found)
        while waiting:
            waiting.pop()()
        return made

    monkeypatch.setattr(Rejudging, "result", interrupted)


def test_a_worker_that_was_taken_for_dead_publishes_nothing(lab):
    lab.launch("rejudge", order_by="score32")
    slow = last_claim(lab)
    with lab.workspace.database.writing() as tx:
        claims.put_back_all(tx, "the tests")
    again = last_claim(lab)
    Worker(lab.workspace).work(slow)
    assert versions(lab) == [(1, "score")]
    Worker(lab.workspace).work(again)
    assert versions(lab) == [(1, "score"), (2, "score32")]


def test_a_job_that_is_cancelled_before_its_end_changes_nothing(lab, monkeypatch):
    def cancel():
        with lab.workspace.database.writing() as tx:
            jobs.cancel(tx, job.id, lab.workspace.now())

    meanwhile(monkeypatch, cancel)
    job = lab.launch("rejudge", order_by="score32")
    lab.work()
    assert versions(lab) == [(1, "score")]
    assert lab.collection().order_by == "score"
    assert lab.launch("rejudge", order_by="score32").id == job.id
    lab.work()
    assert versions(lab) == [(1, "score"), (2, "score32")]


def test_whoever_asked_must_still_be_an_organiser_when_it_publishes(lab):
    made = create_token(lab.workspace, lab.principal, NAME, Wish("organiser"))
    Laboratory(lab.workspace, authenticate(lab.workspace, Sender.of(made.token))).launch("rejudge", order_by="score32")
    claim = last_claim(lab)
    revoke(lab.workspace, lab.principal, NAME, made.record.id)
    with pytest.raises(NotAuthenticated, match="revoked"):
        Worker(lab.workspace).work(claim)
    assert versions(lab) == [(1, "score")]


def test_a_run_that_was_read_in_the_old_order_is_read_again(migrated_url):
    workspace, _ = open_workspace(Settings.read({}, database_url=migrated_url, admin_token=ADMIN))
    lab = Laboratory(workspace, authenticate(workspace, Sender.of(ADMIN)))
    create(workspace, lab.principal, SETTINGS)

    def reorder():
        assert change_unpublished(workspace, lab.principal, NAME, RunOrder("rank"))

    with closing(workspace.database), closing(Overtaken(migrated_url, reorder)) as database:
        send(lab, "one", Workspace(database))
        qrels.publish(workspace, lab.principal, NAME, body(QRELS))
        assert rank_joined(lab) == {"one": [0.5, 1.0]}


def test_qrels_that_were_joined_in_the_old_order_are_to_be_sent_again(lab):
    def reorder():
        lab.launch("rejudge", order_by="rank")
        lab.work()

    with closing(Overtaken(lab.workspace.database.url, reorder)) as database, pytest.raises(Conflict, match="again"):
        qrels.publish(Workspace(database), lab.principal, NAME, body(NEW_QRELS))
    assert versions(lab) == [(1, "score"), (2, "rank")]
