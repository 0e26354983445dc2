"""Pairs kept small: levels as counts of resamples, and pairs by their numbers."""

from itertools import combinations

import numpy as np
import pytest

from gainboard.analyses.pair_tests import ComparedPairs, as_counts, as_levels
from gainboard.statistics import every_test
from gainboard.statistics.means import pair_indices, pair_number


@pytest.mark.parametrize(("resamples", "dtype"), [(200, "uint8"), (1000, "uint16"), (100_000, "uint32")])
def test_levels_are_kept_in_few_bytes_and_come_back_the_same(resamples, dtype):
    levels = np.arange(resamples + 1) / resamples
    counts = as_counts(levels, resamples)
    assert counts.dtype == dtype
    assert as_levels(counts, resamples).tobytes() == levels.tobytes()


def test_levels_that_are_no_shares_are_kept_as_they_are():
    for levels, resamples in ((np.array([0.1234, 0.5]), 1000), (np.array([0.5, 1.0]), None)):
        assert as_levels(as_counts(levels, resamples), resamples).tolist() == levels.tolist()


def test_the_number_of_a_pair_is_its_place_among_all():
    first, second = pair_indices(9)
    assert pair_number(9, first, second).tolist() == list(range(36))
    few = np.array([0, 7, 8, 35])
    assert [side.tolist() for side in pair_indices(9, few)] == [first[few].tolist(), second[few].tolist()]


@pytest.mark.parametrize("test", every_test(), ids=lambda test: test.name)
def test_some_pairs_are_what_they_are_among_all(test):
    scores = np.random.default_rng(1).random((12, 15))
    levels = np.random.default_rng(2).integers(0, 101, 66) / 100
    names = [f"run-{number}" for number in range(12)]
    pairs = ComparedPairs("AP", test.name, 100, names, scores, as_counts(levels, 100), None)
    every = list(pairs)
    assert [pair.runs for pair in every] == list(combinations(names, 2))
    assert pairs.at(np.array([5, 60])) == [every[5], every[60]]
    own = pairs.select("run-4", 0.5)
    assert [every[number] for number in own.tolist()] == [
        pair for pair, level in zip(every, levels, strict=True) if "run-4" in pair.runs and level < 0.5
    ]
