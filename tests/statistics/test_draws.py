"""Draws: the same on every machine and version, and as uniform as they claim to be."""

import numpy as np
import pytest

from gainboard.statistics.draws import Draws, successive_seeds

FROZEN_RESAMPLES = [[2, 1, 3, 4, 3, 1], [4, 3, 3, 4, 0, 5]]
FROZEN_SUBSETS = [[1, 5, 0, 4], [1, 8, 5, 4]]
FROZEN_PERMUTATIONS = [[[1, 0, 4, 2, 3], [0, 3, 2, 4, 1]]]
FROZEN_SIGNS = [[-1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0]]


def draws(block=0):
    return Draws(20060806, "test", block)


def test_a_seed_draws_the_same_on_every_machine_and_version():
    assert draws().resamples(2, 6).tolist() == FROZEN_RESAMPLES
    assert draws().subsets(2, 9, 4).tolist() == FROZEN_SUBSETS
    assert draws().permutations(1, 2, 5).tolist() == FROZEN_PERMUTATIONS
    assert draws().signs(1, 8).tolist() == FROZEN_SIGNS


@pytest.mark.parametrize(
    "other", [Draws(20060807, "test"), Draws(20060806, "tests"), draws(1), Draws(20060806 + 2**63, "test")]
)
def test_seeds_purposes_and_blocks_have_streams_of_their_own(other):
    assert (draws().resamples(4, 50) == other.resamples(4, 50)).mean() < 0.1


def test_subsets_hold_no_topic_twice_and_each_topic_as_often_in_either_half():
    drawn = draws().subsets(2000, 11, 6)
    assert all(len(set(row)) == 6 for row in drawn.tolist())
    for half in (drawn[:, :3], drawn[:, 3:]):
        assert chi_square(np.bincount(half.ravel(), minlength=11)) < 10 + 4 * np.sqrt(2 * 10)


def test_signs_are_fair_in_every_place():
    drawn = draws().signs(4000, 70)
    assert set(np.unique(drawn)) == {-1.0, 1.0}
    assert np.abs(drawn.mean(axis=0)).max() < 4.5 / np.sqrt(4000)
    assert np.abs(np.corrcoef(drawn, rowvar=False) - np.eye(70)).max() < 5 / np.sqrt(4000)


def chi_square(found):
    expected = found.mean()
    return float(((found - expected) ** 2 / expected).sum())


def test_seeds_follow_each_other_and_begin_again_after_the_largest():
    assert successive_seeds(5, 3) == [5, 6, 7]
    assert successive_seeds(2**64 - 2, 4) == [2**64 - 2, 2**64 - 1, 0, 1]
