"""Stored results that are computed again: identical, equal, different, or made by another version."""

import hashlib
import json

import pytest
from sqlalchemy import update

from gainboard.analyses.verify import VerifyResult, compare
from gainboard.errors import Conflict
from gainboard.jobs.results import content
from gainboard.jobs.verification import verify
from gainboard.store import blobs, jobs
from gainboard.store.tables import jobs as table
from gainboard.trec.bodies import compress
from tests.analyses.test_every_kind import ASKED, RUNS
from tests.world.groves import planted

pytestmark = pytest.mark.usefixtures("few_topics")


@pytest.fixture(scope="module")
def grove(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("verified"))


def done(lab, job):
    lab.work()
    with lab.workspace.database.reading() as tx:
        return jobs.find(tx, job.id)


def verified(lab, work):
    job = verify(lab.workspace, lab.principal, work)
    lab.work()
    return VerifyResult.model_validate_json(lab.result(job))


def replaced(lab, job, result):
    body = json.dumps(result).encode()
    sha256 = hashlib.sha256(body).hexdigest()
    with (
        blobs.prepared(lab.workspace.database, sha256, len(body), compress(body)) as made,
        lab.workspace.database.writing() as tx,
    ):
        blobs.put(tx, made)
        tx.execute(update(table).where(table.c.id == job.id).values(result_sha256=sha256))
    return done(lab, job)


@pytest.mark.parametrize("kind", list(ASKED)[::4])
def test_a_result_of_any_kind_is_the_same_bytes_when_it_is_computed_again(grove, kind):
    job = done(grove, grove.launch(kind, **({"runs": RUNS} | ASKED[kind][0])))
    found = verified(grove, job)
    assert (found.outcome, found.message) == ("identical", "identical")
    assert found.compared[0].sha256 == job.result_sha256


def test_numbers_are_compared_digit_by_digit(grove):
    job = done(grove, grove.launch("difficulty", metrics=["AP"]))
    result = json.loads(b"".join(content(grove.workspace, job)))
    number = result["metrics"][0]
    place = next(name for name, value in number.items() if isinstance(value, float) and 0 < value < 1)
    number[place] *= 1 + 4e-16
    found = verified(grove, replaced(grove, job, result))
    assert found.outcome == "equal"
    assert found.message.startswith("equal to 1e-12 relative (1 of ")
    number[place] *= 1.01
    result["runs"][0] = "other"
    found = verified(grove, replaced(grove, job, result))
    assert found.outcome == "different"
    assert [each.place for each in found.compared[0].differences] == ["runs.0", f"metrics.0.{place}"]


def test_a_result_of_another_version_is_not_compared(grove):
    job = done(grove, grove.launch("stability", metrics=["RR"], trials=20))
    with grove.workspace.database.writing() as tx:
        tx.execute(update(table).where(table.c.id == job.id).values(engine_version=3))
    found = verified(grove, done(grove, job))
    assert found.outcome == "not-comparable"
    assert found.message.startswith("made by engine version 3 (here ")


def test_a_change_is_not_made_again(grove):
    job = done(grove, grove.launch("rejudge", order_by="score32"))
    with pytest.raises(Conflict, match="not computed again"):
        verify(grove.workspace, grove.principal, job)


@pytest.mark.parametrize(
    ("stored", "computed"),
    [
        (1, 2),
        ([1.0, 2.0], [1.0]),
        ("0.5", 0.5),
        (float("nan"), 0.5),
        (float("nan"), None),
        (float("inf"), 1e308),
        (10**400, 0.5),
        (True, 1),
        (0, False),
        (None, 0.0),
        ([], {}),
    ],
)
def test_what_stands_in_the_place_of_a_value_is_another_one(stored, computed):
    for pair in ((stored, computed), (computed, stored)):
        found = compare({"mean": pair[0]}, {"mean": pair[1]})
        assert found.outcome == "different"
        assert found.differences[0].place.startswith("mean")
    assert compare([0.1, 1], [0.1000000000000001, 1]).outcome == "equal"
    assert compare({"a": 0.1}, {"a": 0.1}).outcome == "identical"
