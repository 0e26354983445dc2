"""rank-correlation between metrics over several qrels versions, against plain means of `/scores` for each version."""

import numpy as np
import pytest

from gainboard.errors import InvalidRequest, NotFound
from gainboard.statistics.agreement import discordant_pairs
from tests.analyses.test_rank_correlation import tau
from tests.world.groves import NO_RELEVANT, ONLY_LOW, planted

KIND = "rank-correlation"
HIGH = "RR(rel=3)"
FIRST = {"metric": HIGH, "qrels": 1}
LABEL = "RR(rel=3) (qrels 1)"
ONLY_SECOND = "105"


def means(laboratory, metric, version, left_out=(ONLY_SECOND,)):
    """Each run's mean over the topics that both versions judge, and for which the metric is defined."""
    (by_run,) = laboratory.scores(metric, version=version).values()
    kept = {
        run: [score for topic, score in row.items() if topic not in left_out and score is not None]
        for run, row in by_run.items()
    }
    return {run: sum(scores) / len(scores) for run, scores in kept.items()}


def test_a_metric_over_two_versions_is_compared_on_the_topics_that_both_judge(answer, laboratory):
    found = answer(KIND, metrics=[HIGH, FIRST, "AP", {"metric": "AP", "qrels": 1}])
    expected = {
        HIGH: means(laboratory, HIGH, 2),
        LABEL: means(laboratory, HIGH, 1),
        "AP": means(laboratory, "AP", 2),
        "AP (qrels 1)": means(laboratory, "AP", 1),
    }
    assert found["metrics"] == list(expected)
    for row, (one, x) in enumerate(expected.items()):
        assert dict(zip(found["runs"], found["means"][one], strict=True)) == pytest.approx(x, abs=1e-12)
        for column, y in enumerate(expected.values()):
            assert found["coefficients"]["kendall"][row][column] == pytest.approx(tau(x, y), abs=1e-12)
    assert found["coefficients"]["kendall"][0][1] < 1
    assert means(laboratory, HIGH, 2) != laboratory.means(HIGH, version=2)


def test_topics_of_one_version_only_are_left_out_for_all_and_the_rest_metric_by_metric(answer):
    found = answer(KIND, metrics=["AP", FIRST, HIGH])
    assert (found["qrels_version"], found["qrels_versions"]) == (2, [1, 2])
    assert (found["topics"], found["topics_left_out"]) == (11, [ONLY_SECOND])
    assert "versions" in found["left_out_because"]
    assert found["topics_undefined"]["AP"] == [NO_RELEVANT]
    assert found["topics_undefined"][HIGH] == [ONLY_LOW, NO_RELEVANT]
    for label, undefined in found["topics_undefined"].items():
        assert found["topics_scored"][label] == 11 - len(undefined)


@pytest.mark.parametrize("against", [FIRST, LABEL])
def test_swops_against_a_metric_over_another_version(answer, laboratory, against):
    found = answer(KIND, metrics=["AP", HIGH], against=against)
    assert found["against"] == found["metrics"][-1] == LABEL
    for label in ("AP", HIGH):
        own, reference = ([means(laboratory, *each)[run] for run in sorted(found["runs"])] for each in
                          ((label, 2), (HIGH, 1)))  # fmt: skip
        names = np.array(sorted(found["runs"]))
        swops = discordant_pairs(np.array(own), np.array(reference)).pairs
        assert found["swops"][label] == names[swops].tolist()
    assert found["swops"][HIGH]


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("apart"), 4, ("maple", "zelkova"))


def test_a_draft_is_not_to_be_named_beside_a_version(apart):
    draft = apart.judge("101 0 101-00 1\n", draft=True).qrels.version
    assert apart.answer(KIND, metrics=["AP", FIRST], qrels=draft)["topics"] == 1
    with pytest.raises(NotFound, match=f"no published qrels version {draft}"):
        apart.launch(KIND, metrics=["AP", {"metric": "AP", "qrels": draft}])


def test_versions_without_a_common_topic_cannot_be_compared(apart):
    other = apart.judge("999 0 any 1\n").qrels.version
    with pytest.raises(InvalidRequest, match=f"all of the qrels versions 1, {other}"):
        apart.launch(KIND, metrics=["AP", FIRST], qrels=other)
