"""swap-rate, against trials counted one by one."""

from itertools import pairwise, product

import numpy as np
import pytest

from gainboard.analyses.swap_rate import why_none
from gainboard.statistics.stability import RULES, SwapCounts
from tests.analyses.plain_trials import SEED, TRIALS, Swaps
from tests.world.groves import tables_of

METRICS = ["Q", "P@5", "nDCG@10", "RR"]
ASKED = {"metrics": METRICS, "trials": TRIALS, "seed": SEED}
FORMS = [{}, {"strict": False}, {"replacement": True}, {"strict": False, "replacement": True}]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "+".join(form) or "papers")
@pytest.mark.parametrize("size", [5, 2])
def test_every_trial_counts_in_the_bin_of_its_difference(answer, laboratory, form, size):
    found = answer("swap-rate", **ASKED, **form, **({} if size == 5 else {"subset_size": size}))
    assert found["subset_size"] == size
    edges = [step / 100 for step in range(21)]
    assert [(each["from"], each["to"]) for each in found["metrics"][0]["bins"]] == [*pairwise([*edges, None])]
    for metric in found["metrics"]:
        theirs = Swaps(laboratory.common(*METRICS)[metric["metric"]], size, **form)
        assert [each["comparisons"] for each in metric["bins"]] == theirs.comparisons
        assert [each["swaps"] for each in metric["bins"]] == theirs.swaps
        for each in metric["bins"]:
            assert each["swap_rate"] == (each["swaps"] / each["comparisons"] if each["comparisons"] else None)
        assert metric["maximum_performance"] == pytest.approx(theirs.largest, abs=1e-12)
        assert metric["by_rule"]["pooled"]["absolute_difference_required"] == theirs.required("pooled")


CHOSEN = ["all", ["maple", "alder", "zelkova", "birch", "oak"], ["zelkova", "birch", "oak"], ["zelkova", "oak"]]


def test_the_columns_of_every_rule_follow_from_the_bins(answer):
    differing, reasons, exceptions = set(), set(), 0
    for runs, rule in [*product(CHOSEN, RULES), (CHOSEN[1], None)]:
        found = answer("swap-rate", **ASKED | {"trials": 300}, runs=runs, **({"rule": rule} if rule else {}))
        assert found["rule"] == (rule or "first")
        for metric in found["metrics"]:
            counted = [[each[name] for each in metric["bins"]] for name in ("comparisons", "swaps")]
            counts = SwapCounts(*map(np.array, counted), np.array([0]), metric["maximum_performance"])
            assert list(metric["by_rule"]) == list(RULES)
            for each, columns in metric["by_rule"].items():
                needed, _, relative, power = (None if np.isnan(own) else own for own in counts.sensitivity(each))
                assert columns["absolute_difference_required"] == needed
                assert columns["relative_difference_required"] == (relative and pytest.approx(relative))
                assert columns["discrimination_power"] == (power and pytest.approx(power))
                assert columns["no_difference_because"] == (why_none(counts, each) if needed is None else None)
                reasons.add(columns["no_difference_because"])
            chosen = metric["by_rule"][found["rule"]]
            assert {name: metric[name] for name in chosen} == chosen
            differing.add(len({columns["absolute_difference_required"] for columns in metric["by_rule"].values()}))
            place = counts.deciding_bin(found["rule"])
            higher = [] if place is None else [metric["bins"][at] for at in counts.exceptions(place)]
            assert metric["exceptions"] == higher
            assert metric["comparisons_in_exceptions"] == sum(each["comparisons"] for each in higher)
            exceptions += len(higher)
    assert max(differing) > 1
    assert len(reasons) > 2
    assert exceptions


@pytest.mark.parametrize(
    ("bins", "rule", "reason"),
    [
        ({0: (99, 0), 5: (40, 0)}, "first", "every bin has fewer than 100 comparisons"),
        ({0: (500, 90), 5: (60, 4)}, "first", "no difference brings the swap rate to 5 %"),
        ({0: (500, 90), 5: (60, 4)}, "all-higher", "no difference brings the swap rate to 5 %"),
        (
            {0: (500, 90), 5: (60, 3)},
            "first",
            "only bins with fewer than 100 comparisons have a swap rate of at most 5 %",
        ),
        ({0: (500, 90), 5: (160, 3), 6: (400, 40)}, "pooled", "higher bins exceed 5 %"),
        ({0: (500, 90), 5: (160, 3), 20: (1, 1)}, "all-higher", "higher bins exceed 5 %"),
    ],
)
def test_each_reason_has_its_case(bins, rule, reason):
    comparisons, swaps = (np.array([bins.get(place, (0, 0))[row] for place in range(21)]) for row in (0, 1))
    counts = SwapCounts(comparisons, swaps, swaps[:1], 0.5)
    assert counts.deciding_bin(rule) is None
    assert why_none(counts, rule) == reason


def test_tables_name_the_exceptions_and_the_metrics_without_a_difference(answer):
    found = answer("swap-rate", **ASKED | {"trials": 300})
    required, _, rules = tables_of(found)
    (higher,) = (note for note in required.notes if note.startswith("Bins above the difference that exceed 5 %"))
    named = [metric["metric"] for metric in found["metrics"] if metric["exceptions"]]
    assert named
    assert all(name in higher for name in named)
    assert len(rules.rows) == 4 * len(METRICS)
    few = tables_of(answer("swap-rate", metrics=["AP", "RR"], trials=3, runs=["zelkova", "oak"]))[0]
    assert few.notes == ["Every bin has fewer than 100 comparisons: AP, RR."]


@pytest.mark.parametrize("form", FORMS[1:3], ids=lambda form: "+".join(form))
def test_columns_under_several_seeds_are_those_of_jobs_with_each_seed(answer, form):
    params = ASKED | form | {"rule": "isotonic"}
    found = answer("swap-rate", **params, seeds=3)
    each = [answer("swap-rate", **params | {"seed": SEED + step}) for step in range(3)]
    columns = [
        {name: job["metrics"][place][name] for name in found["metrics"][0]["by_seed"][0]}
        for place in range(len(METRICS))
        for job in each
    ]
    assert [under for metric in found["metrics"] for under in metric["by_seed"]] == columns
    assert columns[0] != columns[1]
    alone = [{name: value for name, value in metric.items() if name != "by_seed"} for metric in found["metrics"]]
    assert alone == [{name: metric[name] for name in alone[0]} for metric in each[0]["metrics"]]
    assert (found["seed"], found["seeds"]) == (SEED, 3)
