"""noise, on a campaign of two systems with replicates and one without."""

import random

import numpy as np
import pytest

from gainboard.errors import InvalidRequest
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.boards.design import DesignQuestion, design_topics
from gainboard.evaluation.boards.leaderboard import leaderboard
from gainboard.evaluation.scoring.requests import Question
from gainboard.statistics.topic_sets import replicate_components, replicated_widths
from tests.world.campaigns import run_text
from tests.world.groves import made_of
from tests.world.servers import ADMIN

TOPICS = [f"{number:02d}" for number in range(1, 13)]
REPLICATES = {"dense": 3, "sparse": 2, "alone": 1}


def ranked(system, replicate):
    """The documents of a replicate, which lacks a topic if it is the third one."""
    drawn = random.Random(f"{system} {replicate}")
    topics = TOPICS[1:] if replicate == 3 else TOPICS
    return run_text(
        {topic: drawn.sample(["a", "b", "c", "d", "e", "f"], 6) for topic in topics}, f"{system}-{replicate}"
    )


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    judged = "".join(f"{topic} 0 {document} 1\n" for topic in TOPICS for document in "ab")
    laboratory = made_of(tmp_path_factory.mktemp("repeated"), [judged], {})
    for system, number in REPLICATES.items():
        for replicate in range(1, number + 1):
            told = {"system": system, "replicate": str(replicate)} if number > 1 else {}
            laboratory.send(f"{system}-{replicate}", "lab", ranked(system, replicate), **told)
    return laboratory


def test_components_and_widths_are_those_of_the_replicates_scores(repeated):
    found = repeated.answer("noise", metrics=["AP"], resamples=50)
    rows = repeated.scores("AP")["AP"]
    groups = np.array([0, 1, 1, 1, 2, 2])
    scores = np.array([list(rows[name].values()) for name in sorted(rows)])
    scores[[name == "dense-3" for name in sorted(rows)], 0] = np.nan
    every = replicate_components(scores, groups, np.ones((12, 1)))[:, 0]
    (metric,) = found["metrics"]
    assert found["runs"] == ["alone-1", "dense", "sparse"]
    assert [part["variance"] for part in metric["components"]] == pytest.approx(np.maximum(every[:4], 0))
    assert sum(part["share"] for part in metric["components"]) == pytest.approx(1)
    assert metric["components"][0]["interval"] == [None, None]
    low, high = metric["components"][3]["interval"]
    assert low < every[3] < high
    assert (metric["mean"], metric["difference"]) == tuple(map(pytest.approx, replicated_widths(every, 12)))


def test_one_system_has_topics_and_replicates_alone(repeated):
    found = repeated.read("noise", metrics=["AP"], runs=["dense"])
    parts = {part.source: part.variance for part in found.metrics[0].components}
    assert parts["systems"] is parts["systems x topics"] is found.metrics[0].difference[0] is None
    assert "The interval of a mean is" in found.verdict()
    assert found.metrics[0].mean[1] < found.metrics[0].mean[0] > found.metrics[0].mean[2]


def test_without_replicates_it_is_refused(repeated):
    with pytest.raises(InvalidRequest, match="No selected run has replicates"):
        repeated.launch("noise", metrics=["AP"], runs=["alone-1"])


def test_one_replicate_of_each_system_is_none(tmp_path):
    laboratory = made_of(tmp_path, ["".join(f"{topic} 0 a 1\n" for topic in TOPICS)], {})
    for system in ("dense", "sparse"):
        laboratory.send(f"{system}-1", "lab", ranked(system, 1), system=system, replicate="1")
    with pytest.raises(InvalidRequest, match="No selected run has replicates"):
        laboratory.launch("noise", metrics=["AP"])
    board = leaderboard(laboratory.workspace, Sender.of(ADMIN), laboratory.name, Question(metrics=("AP",)), None)
    assert board.variance_shares == {}


def test_a_replicate_is_reproduced_by_another_one_but_not_by_its_own_system(repeated):
    found = repeated.answer("reproduction", metrics=["AP"], pairs=[{"original": "dense-1", "reproduced": "dense-2"}])
    assert found["runs"] == ["dense-1", "dense-2"]
    whole = repeated.answer("reproduction", metrics=["AP"], pairs=[{"original": "dense", "reproduced": "sparse"}])
    assert whole["runs"] == ["dense", "sparse"]
    with pytest.raises(InvalidRequest, match="'dense-1' is a replicate of a system that is named, too"):
        repeated.launch("reproduction", metrics=["AP"], pairs=[{"original": "dense", "reproduced": "dense-1"}])


def test_a_board_shows_the_shares_of_the_job(repeated):
    question = Question(metrics=("AP",))
    board = leaderboard(repeated.workspace, Sender.of(ADMIN), repeated.name, question, None)
    (metric,) = repeated.answer("noise", metrics=["AP"])["metrics"]
    assert board.variance_shares == pytest.approx({part["source"]: part["share"] for part in metric["components"]})


def test_judgment_sets_of_one_judge_are_replicates_as_on_the_board(repeated):
    for name, topics in (("again", TOPICS), ("fewer", TOPICS[1:])):
        repeated.judge("".join(f"{topic} 0 {document} 1\n" for topic in topics for document in "bc"), name)
    question = Question(metrics=("AP",), repeats=("again", "fewer"))
    board = leaderboard(repeated.workspace, Sender.of(ADMIN), repeated.name, question, None)
    found = repeated.answer("noise", metrics=["AP"], repeats=["again", "fewer", "official"])
    (metric,) = found["metrics"]
    assert board.variance_shares == pytest.approx({part["source"]: part["share"] for part in metric["components"]})
    assert [each["judgments"] for each in found["repeats"]] == ["again", "fewer", "official"]
    one = repeated.read("noise", metrics=["AP"], runs=["alone-1"], repeats=["again"])
    assert one.metrics[0].components[3].variance > 0
    with pytest.raises(InvalidRequest, match="lacks the topic '01'"):
        repeated.launch("noise", metrics=["AP"], judgments="fewer", repeats=["again"])


def test_a_design_adds_the_noise_of_both_runs():
    asked = {"method": "interval", "width": 0.2}
    noisy = design_topics(DesignQuestion(**asked, difference_variance=0.1, noise=0.01 / 5))
    assert noisy == design_topics(DesignQuestion(**asked, difference_variance=0.1 + 2 * 0.002))
    with pytest.raises(InvalidRequest, match="noise is nan"):
        design_topics(DesignQuestion(**asked, variance=0.1, noise=float("nan")))
