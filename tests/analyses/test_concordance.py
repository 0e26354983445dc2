"""concordance: it gives the scores on common topics to the tests, and counts pairs by class."""

from itertools import combinations

import numpy as np
import pytest

from gainboard.statistics import find_test
from gainboard.statistics.agreement import CLASSES, concordance_counts
from gainboard.statistics.significance import SignificanceSettings
from tests.world.groves import tables_of

KIND = "concordance"
METRICS = ["AP", "RR", "P@5"]


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_pairs_are_counted_by_class(answer, laboratory, alpha):
    found = answer(KIND, metrics=METRICS, alpha=alpha)
    scores = [np.array(list(rows.values())) for rows in laboratory.common(*METRICS).values()]
    significant = [find_test("t-test").decide(each, SignificanceSettings()).asl < alpha for each in scores]
    counts = concordance_counts(np.array([each.mean(axis=1) for each in scores]), np.array(significant))
    assert [each["metric"] for each in found["metrics"]] == METRICS
    assert [each["metrics"] for each in found["comparisons"]] == [list(each) for each in combinations(METRICS, 2)]
    for each, (one, other) in zip(found["comparisons"], combinations(range(3), 2), strict=True):
        expected = dict(zip(CLASSES, counts[one, other].tolist(), strict=True))
        assert each["counts"] == expected
        assert each["shares"] == pytest.approx({name: count / 28 for name, count in expected.items()})
        counted = sum(expected[name] for name in ("AA", "AD", "MA", "MD"))
        assert each["consistency"] == pytest.approx(expected["AA"] / counted)
    assert found["consistency"][0][0] == 1


MAX_T = {"test": "paired-bootstrap", "correction": "max-t", "resamples": 400, "seed": 3}


def test_levels_are_those_of_bootstrap_sensitivity(answer):
    counts = []
    for asked in (MAX_T, *({"test": "t-test", "correction": each} for each in ("none", "benjamini-hochberg", "holm"))):
        found = answer(KIND, metrics=METRICS, **asked)
        tested = answer("bootstrap-sensitivity", metrics=METRICS, **asked, alphas=[0.05])
        theirs = [metric["levels"][0]["significant_pairs"] for metric in tested["metrics"]]
        assert [each["significant_pairs"] for each in found["metrics"]] == theirs
        counts.append(sum(theirs))
    _, plain, by_rate, holm = counts
    assert holm < by_rate < plain
    shown = tables_of(answer(KIND, metrics=METRICS, correction="benjamini-hochberg"))[0]
    assert "false discovery rate" in shown.caption


def test_without_a_significant_pair_consistency_is_undefined(answer):
    found = answer(KIND, metrics=["AP", "RR"], alpha=1e-12)
    assert found["comparisons"][0]["consistency"] is None
    assert found["consistency"] == [[None, None], [None, None]]
    assert tables_of(found)[0].rows[0][-1] is None
