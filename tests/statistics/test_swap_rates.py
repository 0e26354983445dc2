"""Swap rates and what they say about the difference that is needed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from gainboard.statistics.draws import Draws, Floats, Indices
from gainboard.statistics.swap_rates import BIN_EDGES, SwapCounts, swap_counts

from .reliability import GOLDEN, HALVES, discrete_scores, example


def two_sets(trials: int, topics: int, size: int) -> tuple[Indices, Indices]:
    both = Draws(4, "swaps").subsets(trials, topics, 2 * size)
    return both[:, :size], both[:, size:]


@pytest.mark.parametrize(("strict", "swaps"), [(True, "swaps_sakai"), (False, "swaps_voorhees_original")])
def test_the_worked_example_comes_out(strict: bool, swaps: str) -> None:
    expected = GOLDEN["swap_exact"]
    found = swap_counts(example("swap_exact"), HALVES, HALVES[::-1], strict)
    assert found.comparisons.tolist() == expected["count"]
    assert found.swaps.tolist() == expected[swaps]
    assert found.by_pair.sum() == sum(expected[swaps])
    if strict:
        rates = [np.nan if rate is None else rate for rate in expected["rate"]]
        np.testing.assert_allclose(found.swap_rate, rates, rtol=1e-15)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("scores", [discrete_scores(), np.random.default_rng(7).random((6, 12))])
def test_counts_are_those_of_the_definition_pair_by_pair(scores: Floats, strict: bool) -> None:
    first, second = two_sets(300, 12, 4)
    found = swap_counts(scores, first, second, strict)
    comparisons, swaps, by_pair = plain_counts(scores, first, second, strict)
    assert (found.comparisons.tolist(), found.swaps.tolist()) == (comparisons, swaps)
    assert found.by_pair.tolist() == by_pair
    largest = max(scores[:, topics].mean(axis=1).max() for topics in (*first, *second))
    assert found.maximum == pytest.approx(largest, abs=1e-15)


def plain_counts(
    scores: Floats, first: Indices, second: Indices, strict: bool
) -> tuple[list[int], list[int], list[int]]:
    comparisons, swaps, by_pair = [0] * 21, [0] * 21, []
    for i, j in combinations(range(len(scores)), 2):
        before = sum(swaps)
        for one, other in zip(first, second, strict=True):
            d = round(scores[i, one].mean() - scores[j, one].mean(), 9)
            e = round(scores[i, other].mean() - scores[j, other].mean(), 9)
            place = min(20, int(abs(d) * 100 + 1e-7))
            comparisons[place] += 1
            swaps[place] += d * e < 0 or (strict and (d == 0) != (e == 0))
        by_pair.append(sum(swaps) - before)
    return comparisons, swaps, by_pair


def test_trials_and_pairs_may_be_split_in_any_way_and_added() -> None:
    scores = np.random.default_rng(2).random((60, 9))
    first, second = two_sets(700, 9, 4)
    whole = swap_counts(scores, first, second)
    parts = swap_counts(scores, first[:300], second[:300]) + swap_counts(scores, first[300:], second[300:])
    few = swap_counts(scores[:2], first, second)
    np.testing.assert_array_equal(whole.comparisons, parts.comparisons)
    np.testing.assert_array_equal(whole.swaps, parts.swaps)
    np.testing.assert_array_equal(whole.by_pair, parts.by_pair)
    assert whole.maximum == pytest.approx(parts.maximum, abs=1e-15)
    assert whole.by_pair[:1].tolist() == few.by_pair.tolist()


@pytest.mark.parametrize("place", range(21))
def test_a_difference_on_an_edge_belongs_to_the_bin_above_it(place: int) -> None:
    scores = np.array([[0.7], [0.7 - place / 100]])
    found = swap_counts(scores, np.array([[0]]), np.array([[0]]))
    assert found.comparisons.tolist() == [int(each == place) for each in range(21)]
    assert BIN_EDGES[place] == place / 100


def test_a_difference_that_vanishes_is_a_swap_only_by_the_stricter_count() -> None:
    scores = np.array([[0.1 + 0.2, 0.5, 0.5], [0.3, 0.5, 0.4]])
    first, second = np.array([[0], [0], [2]]), np.array([[1], [2], [0]])
    assert swap_counts(scores, first, second).by_pair.tolist() == [2]
    assert swap_counts(scores, first, second, strict=False).by_pair.tolist() == [0]


def counts(comparisons: dict[int, int], swaps: dict[int, int], maximum: float = 0.5) -> SwapCounts:
    tables = [np.array([table.get(place, 0) for place in range(21)]) for table in (comparisons, swaps)]
    return SwapCounts(tables[0], tables[1], np.array([sum(swaps.values())]), maximum)


@pytest.mark.parametrize(
    ("comparisons", "swaps", "expected"),
    [
        ({0: 40, 3: 40, 7: 20, 20: 20}, {0: 30, 3: 4, 7: 1}, (0.07, 0.5, 0.14, 1 / 3)),
        ({0: 50, 1: 50}, {0: 2, 1: 2}, (0.0, 0.5, 0.0, 1.0)),
        ({0: 50, 2: 20, 4: 10}, {0: 20, 2: 0, 4: 1}, (np.nan, 0.5, np.nan, np.nan)),
        ({0: 50, 2: 20, 4: 10, 5: 10}, {0: 20, 4: 1}, (0.05, 0.5, 0.1, 1 / 9)),
    ],
)
def test_the_difference_required_is_where_no_higher_populated_bin_swaps_more(
    comparisons: dict[int, int], swaps: dict[int, int], expected: tuple[float, ...]
) -> None:
    assert counts(comparisons, swaps).sensitivity() == pytest.approx(expected, nan_ok=True)


def test_runs_without_any_score_need_no_difference_and_have_no_relative_one() -> None:
    found = swap_counts(np.zeros((3, 4)), np.array([[0, 1]]), np.array([[2, 3]])).sensitivity()
    assert found == pytest.approx((0.0, 0.0, np.nan, 1.0), nan_ok=True)
