"""Groups of runs that are not told apart."""

from itertools import combinations

import numpy as np
import pytest

from gainboard.statistics.bootstrap_range import BootstrapRange
from gainboard.statistics.classical import RandomisedTukey
from gainboard.statistics.multiple_comparisons import differing_pairs, significance_groups
from gainboard.statistics.significance import SignificanceSettings

from .matrices import continuous


def test_groups_overlap_and_the_best_has_the_first_letter():
    # Of means .3 .5 .4 .1, only neighbours within .15 are not told apart.
    asl = np.array([0.01, 0.5, 0.01, 0.5, 0.01, 0.01])
    differs = differing_pairs(asl, 4, 0.05)
    assert significance_groups(np.array([0.3, 0.5, 0.4, 0.1]), differs) == [("b",), ("a",), ("a", "b"), ("c",)]


@pytest.mark.parametrize("test", [RandomisedTukey(), BootstrapRange()], ids=["tukey", "range"])
@pytest.mark.parametrize("seed", range(4))
def test_they_are_all_maximal_sets_without_a_significant_difference(seed, test):
    scores = continuous(7, 15, seed) + np.linspace(0, 0.6, 7)[:, np.newaxis]
    asl = test.decide(scores, SignificanceSettings(resamples=500)).asl
    letters = significance_groups(scores.mean(axis=1), differing_pairs(asl, 7, 0.05))
    groups = {frozenset(run for run in range(7) if letter in letters[run]) for letter in set().union(*letters)}
    same = {pair for pair, level in zip(combinations(range(7), 2), asl, strict=True) if level >= 0.05}
    sets = [frozenset(chosen) for size in range(1, 8) for chosen in combinations(range(7), size)]
    alike = [chosen for chosen in sets if all(pair in same for pair in combinations(sorted(chosen), 2))]
    assert groups == {chosen for chosen in alike if not any(chosen < other for other in alike)}
    assert len(groups) > 1


def test_letters_go_on_after_z():
    means = -np.arange(28.0)
    assert significance_groups(means, ~np.eye(28, dtype=bool))[25:] == [("z",), ("aa",), ("ab",)]
