"""The randomisation test."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import permutation_test

from gainboard.statistics.classical import Randomisation, as_large, every_sign
from gainboard.statistics.draws import Draws
from gainboard.statistics.means import pair_differences
from gainboard.statistics.significance import SignificanceSettings

from .matrices import EVERY_KIND, continuous, tenths
from .test_bootstrap import GOLDEN


@pytest.mark.parametrize("scores", EVERY_KIND.values(), ids=EVERY_KIND)
def test_flips_one_by_one_give_the_same(scores):
    signs = Draws(1, "test").signs(100, scores.shape[1])
    z = pair_differences(scores)
    counts = [sum(abs((row * flips).mean()) >= abs(row.mean()) - 1e-9 for flips in signs) for row in z]
    assert as_large(z, signs).tolist() == counts


def test_few_topics_are_enumerated():
    case = GOLDEN["tests_n5"]
    outcome = Randomisation().decide(np.array([case["x"], case["y"]]), SignificanceSettings(resamples=10))
    assert outcome.asl.tolist() == [case["randomisation_exact_p"]]
    assert outcome.resamples == 32


def test_every_way_of_flipping_is_there_once():
    assert sorted(map(tuple, every_sign(4).tolist())) == sorted(product((-1.0, 1.0), repeat=4))


def test_the_exact_level_is_scipys():
    scores = continuous(3, 8)
    theirs = [
        permutation_test(
            (z,), lambda z, axis: np.mean(z, axis=axis), permutation_type="samples", n_resamples=256
        ).pvalue
        for z in pair_differences(scores)
    ]
    assert Randomisation().decide(scores, SignificanceSettings()).asl == pytest.approx(theirs, abs=1e-12)


def test_drawn_levels_are_never_0():
    scores = np.stack([np.zeros(40), np.full(40, 0.5)]) + tenths(1, 40)
    assert Randomisation().decide(scores, SignificanceSettings(resamples=99)).asl.tolist() == [0.01]
