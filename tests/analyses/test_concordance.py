"""concordance, against each pair of runs compared by itself."""

from itertools import combinations

import pytest

from gainboard.errors import InvalidRequest
from gainboard.exhibits import Table
from tests.analyses.plain_tests import classical, mean
from tests.statistics.test_concordance import class_of
from tests.world.groves import tables_of

KIND = "concordance"
METRICS = ["AP", "RR", "P@5"]


def sign(difference):
    return 0.0 if abs(difference) < 1e-12 else 1.0 if difference > 0 else -1.0


def classes(scores, labels, alpha):
    found = dict.fromkeys(("AA", "MA", "PA", "AD", "MD", "PD", "tie"), 0)
    for x, y in combinations(scores[labels[0]], 2):
        rows = [(scores[label][x], scores[label][y]) for label in labels]
        signs = tuple(sign(mean(a) - mean(b)) for a, b in rows)
        verdicts = tuple(classical("t-test", a, b) < alpha for a, b in rows)
        found[class_of(signs, verdicts)] += 1
    return found


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_pairs_are_counted_by_class(answer, laboratory, alpha):
    found = answer(KIND, metrics=METRICS, alpha=alpha)
    scores = laboratory.common(*METRICS)
    assert [each["metric"] for each in found["metrics"]] == METRICS
    assert [each["metrics"] for each in found["comparisons"]] == [list(each) for each in combinations(METRICS, 2)]
    for each in found["comparisons"]:
        expected = classes(scores, each["metrics"], alpha)
        assert each["counts"] == expected
        assert each["shares"] == pytest.approx({name: count / 28 for name, count in expected.items()})
        counted = sum(expected[name] for name in ("AA", "AD", "MA", "MD"))
        assert each["consistency"] == pytest.approx(expected["AA"] / counted)
    assert found["consistency"][0][0] == 1


def test_levels_are_those_of_bootstrap_sensitivity(answer):
    asked = {"metrics": METRICS, "test": "paired-bootstrap", "correction": "max-t", "resamples": 400, "seed": 3}
    found, tested = answer(KIND, **asked, alpha=0.1), answer("bootstrap-sensitivity", **asked, alphas=[0.1])
    theirs = [metric["levels"][0]["significant_pairs"] for metric in tested["metrics"]]
    assert [each["significant_pairs"] for each in found["metrics"]] == theirs
    assert (found["resamples"], found["seed"], found["pairs"]) == (400, 3, 28)
    assert theirs != [0, 0, 0]


def test_the_false_discovery_rate_is_controlled_on_request_and_finds_more_than_holms_method(answer):
    counts = {}
    for correction in ("none", "benjamini-hochberg", "holm"):
        asked = {"metrics": METRICS, "test": "t-test", "correction": correction}
        found, tested = answer(KIND, **asked), answer("bootstrap-sensitivity", **asked, alphas=[0.05])
        theirs = [metric["levels"][0]["significant_pairs"] for metric in tested["metrics"]]
        assert [each["significant_pairs"] for each in found["metrics"]] == theirs
        counts[correction] = sum(theirs)
    assert counts["holm"] < counts["benjamini-hochberg"] < counts["none"]
    assert (
        "false discovery rate" in tables_of(answer(KIND, metrics=METRICS, correction="benjamini-hochberg"))[0].caption
    )


def test_without_a_significant_pair_consistency_is_undefined(answer):
    found = answer(KIND, metrics=["AP", "RR"], alpha=1e-12)
    assert found["comparisons"][0]["consistency"] is None
    assert found["consistency"] == [[None, None], [None, None]]
    table, _ = tables_of(found)
    assert isinstance(table, Table)
    assert table.rows[0][-1] is None


def test_one_metric_in_two_spellings_is_refused(answer):
    with pytest.raises(InvalidRequest, match=r"names one metric, AP, .*Name another one"):
        answer(KIND, metrics=["AP", "map"])
