"""Pairs of runs: all of them, and blocks of them."""

from itertools import combinations

import numpy as np
import pytest

from gainboard.statistics.pairs import pair_count, pair_differences, pair_indices, pieces


@pytest.mark.parametrize("runs", [0, 1, 2, 3, 17, 46])
def test_pairs_are_the_first_run_with_each_later_one_then_the_second(runs):
    assert list(zip(*(side.tolist() for side in pair_indices(runs)), strict=True)) == list(combinations(range(runs), 2))


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_blocks_one_after_the_other_are_all_pairs(most):
    blocks = [pair_indices(17, block) for block in pieces(slice(0, pair_count(17)), most)]
    assert np.concatenate(blocks, axis=1).tolist() == np.stack(pair_indices(17)).tolist()


def test_differences_of_a_block_are_those_of_its_pairs():
    scores = np.random.default_rng(0).random((6, 3, 2))
    own = [(scores[x] - scores[y]).tolist() for x, y in combinations(range(6), 2)]
    assert pair_differences(scores, slice(4, 9)).tolist() == own[4:9]
