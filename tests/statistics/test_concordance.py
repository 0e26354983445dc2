"""Concordance: the classes of pairs of runs, counted one by one."""

from itertools import combinations, product

import numpy as np
import pytest

from gainboard.statistics.agreement import CLASSES, concordance_counts, consistency


def class_of(signs, verdicts):
    if 0 in signs:
        return "tie"
    return {2: "A", 1: "M", 0: "P"}[sum(verdicts)] + ("A" if signs[0] == signs[1] else "D")


@pytest.mark.parametrize("at_once", [1 << 15, 12])
def test_every_pair_is_in_one_class(monkeypatch, at_once):
    monkeypatch.setattr("gainboard.statistics.means._VALUES", at_once)
    drawn = np.random.default_rng(5)
    means = drawn.integers(0, 6, (4, 9)) / 10 + 1e-14 * drawn.random((4, 9))
    significant = drawn.random((4, 36)) < 0.4
    found = concordance_counts(means, significant)
    rounded = means.round(12)
    for one, other in product(range(4), repeat=2):
        expected = dict.fromkeys(CLASSES, 0)
        for number, (x, y) in enumerate(combinations(range(9), 2)):
            signs = tuple(np.sign(rounded[metric, x] - rounded[metric, y]) for metric in (one, other))
            expected[class_of(signs, (significant[one, number], significant[other, number]))] += 1
        assert dict(zip(CLASSES, found[one, other].tolist(), strict=True)) == expected
    assert (found.sum(axis=-1) == 36).all()
    assert (found > 0).any(axis=(0, 1)).all()


def test_a_metric_agrees_with_itself():
    means, significant = np.array([[0.1, 0.2, 0.3]]), np.array([[True, False, True]])
    assert concordance_counts(means, significant).tolist() == [[[2, 0, 1, 0, 0, 0, 0]]]


def test_consistency_leaves_out_passive_pairs_and_ties():
    counts = np.array([[6, 1, 50, 2, 3, 40, 30], [0, 0, 5, 0, 0, 5, 5]])
    assert consistency(counts).tolist() == pytest.approx([0.5, np.nan], nan_ok=True)
