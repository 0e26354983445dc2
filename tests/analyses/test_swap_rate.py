"""swap-rate, against trials counted one by one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyses.conftest import Answer
from tests.analyses.laboratory import Laboratory
from tests.analyses.plain_trials import SEED, TRIALS, Swaps

METRICS = ["Q", "P@5", "nDCG@10", "RR"]
ASKED: dict[str, Any] = {"metrics": METRICS, "trials": TRIALS, "seed": SEED}
FORMS: list[dict[str, Any]] = [{}, {"strict": False}, {"replacement": True}, {"strict": False, "replacement": True}]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "+".join(form) or "papers")
@pytest.mark.parametrize("size", [5, 2])
def test_every_trial_counts_in_the_bin_of_its_difference(
    answer: Answer, laboratory: Laboratory, form: dict[str, Any], size: int
) -> None:
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
def test_the_four_columns_follow_from_the_bins(answer: Answer, laboratory: Laboratory, runs: Any) -> None:
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


def test_some_metrics_reach_5_percent_and_some_never_do(answer: Answer) -> None:
    required = [
        metric["absolute_difference_required"]
        for runs in ("all", ["zelkova", "birch", "oak"], ["maple", "alder", "yew"])
        for metric in answer("swap-rate", **ASKED, runs=runs)["metrics"]
    ]
    assert None in required
    assert any(required)


def test_the_bins_are_hundredths_and_the_last_has_no_end(answer: Answer) -> None:
    bins = answer("swap-rate", **ASKED)["metrics"][0]["bins"]
    assert [each["from"] for each in bins] == [step / 100 for step in range(21)]
    assert [each["to"] for each in bins] == [step / 100 for step in range(1, 21)] + [None]


def test_runs_that_rank_alike_never_swap(answer: Answer) -> None:
    found = answer("swap-rate", **ASKED, runs=["hazel", "yew"])
    for metric in found["metrics"]:
        first, *others = metric["bins"]
        assert (first["comparisons"], first["swaps"]) == (TRIALS, 0)
        assert not any(each["comparisons"] for each in others)
        assert (metric["absolute_difference_required"], metric["discrimination_power"]) == (0, 1)


def test_what_was_asked_for_is_said(answer: Answer) -> None:
    found = answer("swap-rate", **ASKED, strict=False, replacement=True)
    assert (found["strict"], found["replacement"]) == (False, True)
    assert (found["trials"], found["seed"], found["topics"]) == (TRIALS, SEED, 11)
    assert answer("swap-rate", metrics=["AP"])["trials"] == 1000
