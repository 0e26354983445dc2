"""test-agreement, against the three lists made by themselves."""

from itertools import combinations

import pytest
from scipy import stats

from tests.analyses.plain_trials import SEED, TRIALS, Swaps, outcomes

METRICS = ["Q", "P@5", "AP"]
NAMES = ("sign-minority", "sign-swap", "minority-swap")


def sign_level(x, y):
    differences = [round(a - b, 12) for a, b in zip(x, y, strict=True)]
    above, below = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    return stats.binomtest(above, above + below).pvalue if above + below else 1.0


@pytest.mark.parametrize(("fuzziness", "size"), [(0.01, 5), (0.1, 3)])
def test_tau_between_each_two_lists(answer, laboratory, fuzziness, size):
    asked = {"fuzziness": fuzziness, "subset_size": size, "trials": TRIALS, "seed": SEED}
    found = answer("test-agreement", metrics=METRICS, **asked)
    scores = laboratory.common(*METRICS)
    assert {name: found[name] for name in asked} == asked
    assert [metric["metric"] for metric in found["metrics"]] == list(scores)
    for metric in found["metrics"]:
        rows = scores[metric["metric"]]
        sign = [round(sign_level(x, y), 12) for x, y in combinations(rows.values(), 2)]
        minority = [min(count["greater"], count["less"]) for count in outcomes(rows, fuzziness, size).values()]
        lists = combinations((sign, minority, list(Swaps(rows, size).by_pair.values())), 2)
        assert tuple(metric["kendall"]) == NAMES
        expected = [stats.kendalltau(*each).statistic for each in lists]
        assert list(metric["kendall"].values()) == pytest.approx(expected, abs=1e-12)


def test_a_constant_list_agrees_with_none(answer):
    found = answer("test-agreement", metrics=["RR"], runs=["yew", "maple", "zelkova"], trials=TRIALS)
    assert found["metrics"] == [{"metric": "RR", "kendall": dict.fromkeys(NAMES)}]
