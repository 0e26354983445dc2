"""swap-rate, against trials counted one by one."""

import numpy as np
import pytest

from gainboard.analyses.swap_rate import why_none
from gainboard.exhibits import Table
from gainboard.statistics.swap_rates import RULES, SwapCounts
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
    for metric in found["metrics"]:
        theirs = Swaps(laboratory.common(*METRICS)[metric["metric"]], size, **form)
        assert [each["comparisons"] for each in metric["bins"]] == theirs.comparisons
        assert [each["swaps"] for each in metric["bins"]] == theirs.swaps
        for each in metric["bins"]:
            rate = each["swaps"] / each["comparisons"] if each["comparisons"] else None
            assert each["swap_rate"] == rate


@pytest.mark.parametrize("runs", ["all", ["zelkova", "birch", "oak"], ["maple", "alder", "yew"]])
def test_the_four_columns_follow_from_the_bins(answer, laboratory, runs):
    found = answer("swap-rate", **ASKED, runs=runs)
    for metric in found["metrics"]:
        rows = laboratory.common(*METRICS, runs=None if runs == "all" else runs)[metric["metric"]]
        theirs = Swaps(rows, 5)
        required = theirs.required()
        assert metric["maximum_performance"] == pytest.approx(theirs.largest, abs=1e-12)
        assert metric["absolute_difference_required"] == required
        if required is None:
            assert (metric["relative_difference_required"], metric["discrimination_power"]) == (None, None)
            continue
        power = sum(theirs.comparisons[round(required * 100) :]) / sum(theirs.comparisons)
        assert metric["relative_difference_required"] == pytest.approx(required / theirs.largest, abs=1e-12)
        assert metric["discrimination_power"] == pytest.approx(power, abs=1e-12)


def test_some_metrics_reach_5_percent_and_some_never_do(answer):
    required = [
        metric["absolute_difference_required"]
        for runs in ("all", ["zelkova", "birch", "oak"], ["maple", "alder", "yew"])
        for metric in answer("swap-rate", **ASKED, runs=runs)["metrics"]
    ]
    assert None in required
    assert any(required)


def test_the_bins_are_hundredths_and_the_last_has_no_end(answer):
    bins = answer("swap-rate", **ASKED)["metrics"][0]["bins"]
    assert [each["from"] for each in bins] == [step / 100 for step in range(21)]
    assert [each["to"] for each in bins] == [step / 100 for step in range(1, 21)] + [None]


def test_runs_that_rank_alike_never_swap(answer):
    found = answer("swap-rate", **ASKED | {"trials": 100}, runs=["hazel", "yew"])
    for metric in found["metrics"]:
        first, *others = metric["bins"]
        assert (first["comparisons"], first["swaps"]) == (100, 0)
        assert not any(each["comparisons"] for each in others)
        assert (metric["absolute_difference_required"], metric["discrimination_power"]) == (0, 1)


def test_every_rule_is_answered_and_one_is_chosen(answer, laboratory):
    runs = ["maple", "alder", "zelkova", "birch", "oak"]
    found = {rule: answer("swap-rate", **ASKED, runs=runs, rule=rule) for rule in RULES}
    assert answer("swap-rate", **ASKED, runs=runs) == found["first"]
    differing = set()
    for rule, result in found.items():
        assert result["rule"] == rule
        for metric in result["metrics"]:
            theirs = Swaps(laboratory.common(*METRICS, runs=runs)[metric["metric"]], 5)
            assert list(metric["by_rule"]) == list(RULES)
            chosen = metric["by_rule"][rule]
            assert {name: metric[name] for name in chosen} == chosen
            for each, columns in metric["by_rule"].items():
                assert columns["absolute_difference_required"] == theirs.required(each)
                assert (columns["no_difference_because"] is None) == (theirs.required(each) is not None)
            differing.add(len({columns["absolute_difference_required"] for columns in metric["by_rule"].values()}))
    assert max(differing) > 1


def test_higher_bins_that_exceed_5_percent_are_named_with_their_comparisons(answer):
    exceptional = 0
    for metric in answer("swap-rate", **ASKED | {"trials": 300})["metrics"]:
        required = metric["absolute_difference_required"]
        expected = [
            each
            for each in metric["bins"]
            if required is not None and each["from"] > required and each["comparisons"] and each["swap_rate"] > 0.05
        ]
        assert metric["exceptions"] == expected
        assert metric["comparisons_in_exceptions"] == sum(each["comparisons"] for each in expected)
        exceptional += len(expected)
    assert exceptional


def test_it_is_said_why_there_is_no_difference(answer):
    few = answer("swap-rate", metrics=METRICS, trials=3, runs=["zelkova", "oak"])["metrics"]
    assert {metric["no_difference_because"] for metric in few} == {"every bin has fewer than 100 comparisons"}
    assert {metric["absolute_difference_required"] for metric in few} == {None}
    many = answer("swap-rate", **ASKED | {"trials": 200}, runs=["maple", "alder", "zelkova", "oak"])["metrics"]
    many += answer("swap-rate", **ASKED)["metrics"]
    for metric in many:
        populated = [each for each in metric["bins"] if each["comparisons"]]
        low = [each for each in populated if each["swap_rate"] <= 0.05]
        reason = {
            "no difference brings the swap rate to 5 %": not low,
            "only bins with fewer than 100 comparisons have a swap rate of at most 5 %": bool(low)
            and max(each["comparisons"] for each in low) < 100,
            None: any(each["comparisons"] >= 100 for each in low),
        }
        assert reason[metric["no_difference_because"]]
    assert len({metric["no_difference_because"] for metric in many}) == 3


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
    assert isinstance(required, Table)
    assert isinstance(rules, Table)
    (higher,) = (note for note in required.notes if note.startswith("Bins above the difference that exceed 5 %"))
    named = [metric["metric"] for metric in found["metrics"] if metric["exceptions"]]
    assert named
    assert all(name in higher for name in named)
    assert len(rules.rows) == 4 * len(METRICS)
    few = tables_of(answer("swap-rate", metrics=["AP", "RR"], trials=3, runs=["zelkova", "oak"]))[0]
    assert isinstance(few, Table)
    assert few.notes == ["Every bin has fewer than 100 comparisons: AP, RR."]


def test_what_was_asked_for_is_said(answer):
    found = answer("swap-rate", **ASKED, strict=False, replacement=True)
    assert (found["strict"], found["replacement"]) == (False, True)
    assert (found["trials"], found["seed"], found["topics"]) == (TRIALS, SEED, 11)
    assert answer("swap-rate", metrics=["AP"])["trials"] == 1000


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
