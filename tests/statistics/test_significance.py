"""What is true of every test, and asked of a new one without its being named here."""

from fractions import Fraction

import numpy as np
import pytest

# Importing a family enters its tests into the catalogue.
from gainboard.statistics import bootstrap, bootstrap_range, classical  # noqa: F401
from gainboard.statistics.means import pair_count
from gainboard.statistics.significance import SignificanceSettings, every_test, uncertain_pairs

from .matrices import EVERY_KIND, continuous, tenths

RESAMPLES = 300
SETTINGS = SignificanceSettings(seed=11, resamples=RESAMPLES, alphas=(0.05,), largest=True)
each_test = pytest.mark.parametrize("test", every_test(), ids=[test.name for test in every_test()])


def drawing_error(test):
    """What may lie between levels from two sets of resamples."""
    return 4.5 * np.sqrt(2 * 0.25 / RESAMPLES) if test.default_resamples else 1e-12


@each_test
@pytest.mark.parametrize("scores", EVERY_KIND.values(), ids=EVERY_KIND)
def test_levels_are_shares(test, scores):
    asl = test.decide(scores, SETTINGS).asl
    assert asl.shape == (pair_count(len(scores)),)
    assert asl.dtype == np.float64
    assert ((asl >= 0) & (asl <= 1)).all()
    assert asl[0] == 1.0 or scores is not EVERY_KIND["awkward"]  # whose first two runs do the same


@each_test
@pytest.mark.parametrize("matrix", [continuous, tenths])
def test_no_order_of_runs_or_topics_and_no_shift_of_all_scores_changes_a_level(test, matrix):
    scores = matrix(4, 25)
    there, shifted = test.decide(scores, SETTINGS).asl, test.decide(scores + 0.7, SETTINGS).asl
    assert there == pytest.approx(shifted, abs=1e-9)
    for back in (test.decide(scores[:, ::-1], SETTINGS).asl, test.decide(scores[::-1], SETTINGS).asl[::-1]):
        # The pairs of the runs turned round are those of the runs, but for their order.
        assert sorted(there) == pytest.approx(sorted(back), abs=drawing_error(test))


@each_test
def test_blocks_may_be_worked_in_any_order_and_beside_each_other(test):
    scores, other = continuous(30, 600), tenths(30, 600)
    settings = SignificanceSettings(seed=1, resamples=max(RESAMPLES, 700), alphas=(0.05,), largest=True)
    blocks = test.blocks(30, 600, settings.resamples)
    found = {}
    for block in reversed(range(blocks)):
        test.work(other, block, settings)
        found[block] = test.work(scores, block, settings)
    split = test.outcome(scores, [found[block] for block in range(blocks)], settings)
    assert as_bytes(split) == as_bytes(test.decide(scores, settings))


@each_test
@pytest.mark.parametrize("matrix", [continuous, tenths])
def test_a_true_hypothesis_is_rejected_as_often_as_the_level_says(test, matrix):
    # Of 30 signs, levels of nearly 0.1 are possible: the sign test's are few and far between.
    trials, alpha = 400, 0.1
    pairs = (matrix(2, 30, seed) for seed in range(trials))
    rejected = sum(test.decide(scores, SignificanceSettings(resamples=199)).asl[0] < alpha for scores in pairs)
    assert 0.05 * trials < rejected < 0.16 * trials


def as_bytes(outcome):
    compared = (outcome.observed, outcome.largest, outcome.infinite_counts, outcome.infinite_resamples)
    arrays = (outcome.asl, outcome.estimated_differences, *compared)
    return [b"" if array is None else array.tobytes() for array in arrays]


@pytest.mark.parametrize("resamples", [7, 100, 1000, 12345])
def test_uncertain_levels_are_those_of_exact_fractions(resamples):
    for alpha in (Fraction(1, 20), Fraction(1, 100), Fraction(1, 5)):
        bound = 4 * alpha * (1 - alpha) / resamples
        expected = [(Fraction(count, resamples) - alpha) ** 2 <= bound for count in range(resamples + 1)]
        asl = np.arange(resamples + 1) / resamples
        assert uncertain_pairs(asl, float(alpha), resamples).tolist() == expected


@each_test
@pytest.mark.parametrize("topics", [13, 14])
def test_exact_levels_are_the_same_under_every_seed(test, topics):
    scores = continuous(5, topics)
    one, other = (test.decide(scores, SignificanceSettings(seed=seed, resamples=200)).asl for seed in (1, 2))
    depends = bool(test.default_resamples) and not test.is_exact(topics)
    assert np.array_equal(one, other) != depends
    assert test.is_exact(topics) == (test.name == "randomisation" and topics == 13)
