"""Corrections for many comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from gainboard.statistics.bootstrap import PairedBootstrap
from gainboard.statistics.draws import Floats
from gainboard.statistics.multiple_comparisons import holm, max_t, needed_resamples
from gainboard.statistics.significance import Outcome, SignificanceSettings


@pytest.mark.parametrize("asl", [np.array([0.01, 0.04, 0.03, 0.005]), np.array([0.2, 0.2, 0.0, 1.0, 0.013, 0.2])])
def test_holm_follows_its_definition(asl: Floats) -> None:
    ordered, m = sorted(asl.tolist()), len(asl)
    adjusted = [max(min(1, (m - j) * ordered[j]) for j in range(k + 1)) for k in range(m)]
    assert np.sort(holm(asl)) == pytest.approx(adjusted)
    assert (np.diff(holm(asl)[np.argsort(asl)]) >= 0).all()


def test_holms_own_order_is_that_of_the_pairs() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_max_t_is_the_share_of_resamples_whose_largest_is_as_large() -> None:
    largest, none = np.array([1.0, 4.0, 2.0, 3.0]), np.zeros(0, np.int32)
    observed = np.array([0.0, 2.0, 3.5, 4.0 + 1e-12, 5.0])
    assert max_t(observed, largest, np.zeros(5, np.int32), none).tolist() == [1.0, 0.75, 0.25, 0.25, 0.0]


def test_an_infinite_t_counts_for_its_own_pair_only() -> None:
    largest = np.array([1.0, 4.0, 2.0, 3.0])
    counts, resamples = np.array([0, 2, 1], np.int32), np.array([0, 1, 2], np.int32)
    assert max_t(np.array([3.5, 3.5, 1.5]), largest, counts, resamples).tolist() == [0.25, 0.5, 0.75]


def test_a_run_that_differs_from_another_on_one_topic_leaves_other_pairs_significant() -> None:
    drawn = np.random.default_rng(6)
    scores = drawn.normal(0.4, 0.1, (5, 40)) + np.array([0.0, 0.0, 0.05, 0.1, 0.15])[:, np.newaxis]
    near_duplicate = scores[0].copy()
    near_duplicate[7] += 0.02
    settings = SignificanceSettings(resamples=1000, largest=True)
    alone = _max_t_levels(PairedBootstrap().decide(scores, settings))
    beside = _max_t_levels(PairedBootstrap().decide(np.vstack((scores, near_duplicate)), settings))
    # Pairs 0-4 and 0-5 in the order of `pairs`: the best against the worst, and the run against its near-duplicate.
    assert alone[3] < 0.01
    assert beside[3] < 0.01
    assert beside[4] > 0.3


def _max_t_levels(outcome: Outcome) -> Floats:
    assert outcome.observed is not None
    assert outcome.largest is not None
    assert outcome.infinite_counts is not None
    assert outcome.infinite_resamples is not None
    return max_t(outcome.observed, outcome.largest, outcome.infinite_counts, outcome.infinite_resamples)


def test_needed_resamples_are_pairs_over_alpha() -> None:
    assert [needed_resamples(105, 0.05), needed_resamples(990, 0.01), needed_resamples(1, 0.3)] == [2100, 99_000, 4]


def test_fewer_resamples_than_needed_cannot_be_significant_after_holm() -> None:
    asl = np.full(10, 1.0)
    asl[0] = 1 / 199
    assert holm(asl)[0] > 0.05
    asl[0] = 1 / needed_resamples(10, 0.05)
    assert holm(asl)[0] <= 0.05
