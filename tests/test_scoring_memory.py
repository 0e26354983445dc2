"""The judged rankings that are kept in memory: read once, never more than there is room for, and right all the same."""

from itertools import count

import numpy as np
import pytest

from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.evaluation.collections import create
from gainboard.evaluation.judgments import qrels
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.evaluation.scoring import scorer
from gainboard.evaluation.scoring.requests import Question, score
from gainboard.main import open_workspace
from gainboard.store.records import VersionName
from tests.world.campaigns import body, run_text
from tests.world.groves import SETTINGS
from tests.world.servers import ADMIN, new_settings

TOPICS = [str(number) for number in range(40)]
QRELS = "".join(f"{topic} 0 d{number} {number % 3}\n" for topic in TOPICS for number in range(9))
RUNS = [f"run-{number}" for number in range(12)]


class Kept:
    """A workspace with collections, and the names of the runs that were read from its database to be scored."""

    def __init__(self, folder):
        self.workspace, _ = open_workspace(new_settings(folder))
        self.organiser = authenticate(self.workspace, Sender.of(ADMIN))
        self.read = []
        self._gains = count(4)

    def add(self, name):
        create(self.workspace, self.organiser, SETTINGS | {"name": name})
        qrels.publish(self.workspace, self.organiser, name, body(QRELS))
        for run in RUNS:
            self.submit(name, run)

    def submit(self, name, run):
        """Submits a run whose documents come in an order of its own."""
        rng = np.random.default_rng(len(run) + sum(map(ord, run)))
        rankings = {topic: [f"d{number}" for number in rng.permutation(12)] for topic in TOPICS}
        runs.submit(self.workspace, self.organiser, name, body(run_text(rankings, run)), RunDetails("lemur"))

    def scores(self, name, gains="", metrics=("Q", "nDCG@5"), **asked):
        """Scores under gains that nobody asked for yet, so that they are not in memory themselves."""
        defaults = {"gains": gains or f"{next(self._gains)}:2:1"}
        question = Question(metrics, defaults=defaults, **asked)
        return score(self.workspace, Sender.of(ADMIN), name, question).by_topic

    def newly_read(self, name, **asked):
        self.read.clear()
        self.scores(name, **asked)
        return sorted(self.read)

    @property
    def bytes(self):
        kept = self.workspace.kept[scorer._Memory]._slices.values()
        return sum(each.runs.nbytes for each in kept)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    found, really_read = Kept(tmp_path), scorer.judged_runs

    def noted(workspace, *asked):
        found.read += [run.name for run in asked[2]]
        return really_read(workspace, *asked)

    monkeypatch.setattr(scorer, "judged_runs", noted)
    monkeypatch.setattr(scorer, "_AT_ONCE", 1)
    monkeypatch.setattr(scorer, "SLICE_BYTES", 4_000)  # a run or two
    found.add("one")
    yield found
    found.workspace.database.close()


def test_runs_are_read_once_and_a_new_run_alone(kept):
    assert kept.newly_read("one") == sorted(RUNS)
    assert kept.newly_read("one") == []
    assert kept.newly_read("one", runs=["run-7", "run-3"]) == []
    kept.submit("one", "late")
    assert kept.newly_read("one") == ["late"]


def test_other_judgments_are_other_rankings(kept):
    kept.scores("one")
    qrels.publish(kept.workspace, kept.organiser, "one", body(QRELS.replace("d1 1", "d1 2")))
    assert kept.newly_read("one") == sorted(RUNS)
    assert kept.newly_read("one", qrels=VersionName(version=1)) == []


def test_of_a_collection_larger_than_the_memory_as_much_stays_as_there_is_room_for(kept, tmp_path):
    whole = kept.scores("one", "9:2:1")
    kept.workspace.kept.clear()
    kept.workspace.scoring_memory = 15_000
    np.testing.assert_array_equal(kept.scores("one", "9:2:1"), whole)
    rest = kept.newly_read("one")
    assert 0 < len(rest) < len(RUNS)
    assert kept.newly_read("one") == rest
    assert kept.bytes <= 15_000


def test_collections_asked_for_in_turn_do_not_push_each_other_out_whole(kept):
    kept.add("two")
    kept.scores("one")
    kept.workspace.scoring_memory = round(1.5 * kept.bytes)
    kept.workspace.kept.clear()
    for name in ("one", "two"):
        kept.scores(name)
    for name in ("one", "two") * 3:
        assert 0 < len(kept.newly_read(name)) <= 0.8 * len(RUNS)
    assert kept.bytes <= kept.workspace.scoring_memory


def test_with_no_room_at_all_runs_are_scored_alike_and_some_as_among_all_in_the_order_of_the_request(kept):
    whole = kept.scores("one", "9:2:1")
    names = ["run-11", "run-0", "run-5"]
    some = whole[:, [sorted(RUNS).index(name) for name in names]]
    np.testing.assert_array_equal(kept.scores("one", "9:2:1", runs=names), some)
    kept.workspace.kept.clear()
    kept.workspace.scoring_memory = 1
    np.testing.assert_array_equal(kept.scores("one", "9:2:1"), whole)
    assert kept.bytes == 0
