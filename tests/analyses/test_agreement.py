"""test-agreement, against the three lists made by themselves."""

from itertools import combinations

import pytest
from scipy import stats

from gainboard.errors import InvalidRequest
from tests.analyses.plain_tests import classical
from tests.analyses.plain_trials import SEED, TRIALS, Swaps, outcomes

METRICS = ["Q", "P@5", "AP"]
NAMES = ("sign-minority", "sign-swap", "minority-swap")


def agreements(rows, fuzziness, size):
    sign = [classical("sign", x, y) for x, y in combinations(rows.values(), 2)]
    minority = [min(count["greater"], count["less"]) for count in outcomes(rows, fuzziness, size).values()]
    swaps = list(Swaps(rows, size).by_pair.values())
    lists = (([round(level, 12) for level in sign], minority), (sign, swaps), (minority, swaps))
    return [float(stats.kendalltau(*each).statistic) for each in lists]


@pytest.mark.parametrize(("fuzziness", "size"), [(0.01, 5), (0.1, 3)])
def test_tau_between_each_two_lists(answer, laboratory, fuzziness, size):
    asked = {"fuzziness": fuzziness, "subset_size": size, "trials": TRIALS, "seed": SEED}
    found = answer("test-agreement", metrics=METRICS, **asked)
    scores = laboratory.common(*METRICS)
    assert {name: found[name] for name in asked} == asked
    assert [metric["metric"] for metric in found["metrics"]] == list(scores)
    for metric in found["metrics"]:
        theirs = agreements(scores[metric["metric"]], fuzziness, size)
        assert tuple(metric["kendall"]) == NAMES
        assert list(metric["kendall"].values()) == pytest.approx(theirs, abs=1e-12)


def test_a_constant_list_agrees_with_none(answer):
    found = answer("test-agreement", metrics=["RR"], runs=["yew", "maple", "zelkova"], trials=TRIALS)
    assert found["metrics"] == [{"metric": "RR", "kendall": dict.fromkeys(NAMES)}]


def test_one_pair_of_runs_is_no_list(answer):
    with pytest.raises(InvalidRequest, match="need at least 3 runs"):
        answer("test-agreement", metrics=["AP"], runs=["yew", "hazel", "yew"])


def test_the_defaults_are_those_of_the_paper(answer):
    found = answer("test-agreement", metrics=["AP"])
    assert (found["fuzziness"], found["trials"], found["subset_size"], found["topics"]) == (0.01, 1000, 5, 11)
