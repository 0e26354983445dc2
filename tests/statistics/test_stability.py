"""Minority rates and proportions of ties."""

import numpy as np
import pytest

from gainboard.statistics.stability import shared_rate, stability_counts, ties_at

from .reliability import GOLDEN, HALVES, example


@pytest.mark.parametrize("fuzziness", [0.01, 0.05, 0.1])
def test_the_worked_example_comes_out(fuzziness):
    expected = GOLDEN[f"minority_f{fuzziness}"]
    counts = stability_counts(example(f"minority_f{fuzziness}"), HALVES, [fuzziness])
    by_pair = np.stack((counts.greater[0], counts.less[0], counts.equal[0]), axis=1)
    assert by_pair.tolist() == list(expected["per_pair"].values())
    assert counts.minority_rate[0] == pytest.approx(expected["minority_rate"], abs=1e-15)
    assert counts.proportion_of_ties[0] == pytest.approx(expected["proportion_ties"], abs=1e-15)


def test_a_difference_of_just_the_fuzziness_is_no_tie():
    scores = np.array([[0.4], [0.38], [0.3801]])
    counts = stability_counts(scores, np.array([[0]]), [0.05])
    assert counts.equal.tolist() == [[0, 1, 1]]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([0.09, 0.07, 0.04, 0.01], (0.2 + 0.3 * 2 / 3, True)),
        ([0.09, 0.05, 0.04, 0.01], (0.2, True)),
        ([0.05, 0.04, 0.02, 0.01], (0.1, True)),
        ([0.04, 0.03, 0.02, 0.01], (0.1, False)),
        ([0.09, 0.08, 0.07, 0.06], (np.nan, False)),
    ],
)
def test_ties_at_five_percent_are_interpolated_where_the_curve_comes_down(rates, expected):
    found = ties_at(np.array(rates), np.array([0.1, 0.2, 0.5, 0.6]))
    assert found.proportion == pytest.approx(expected[0], nan_ok=True)
    assert found.crossed == expected[1]


def test_the_shared_rate_is_that_of_a_search_over_a_grid():
    for seed in range(200):
        random = np.random.default_rng(seed)
        steps = -np.sort(-random.integers(0, 100, (random.integers(1, 6), 4)), axis=1)
        grid = {rate: sum(int(row[-1] <= rate <= row[0]) for row in steps) for rate in range(100)}
        distance = min(abs(rate - 50) for rate, count in grid.items() if count == max(grid.values()))
        found = shared_rate(steps / 1000)
        assert abs(found - 0.05) == pytest.approx(distance / 1000, abs=1e-12)
        assert grid[round(found * 1000)] == max(grid.values())
