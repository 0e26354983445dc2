"""Corrections for many comparisons."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from gainboard.statistics.multiple_comparisons import benjamini_hochberg, holm, holm_thresholds, needed_resamples
from gainboard.statistics.significance import SignificanceSettings, every_test


@pytest.mark.parametrize("asl", [np.array([0.01, 0.04, 0.03, 0.005]), np.array([0.2, 0.2, 0.0, 1.0, 0.013, 0.2])])
def test_holm_follows_its_definition(asl):
    ordered, m = sorted(asl.tolist()), len(asl)
    adjusted = [max(min(1, (m - j) * ordered[j]) for j in range(k + 1)) for k in range(m)]
    assert np.sort(holm(asl)) == pytest.approx(adjusted)
    assert (np.diff(holm(asl)[np.argsort(asl)]) >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_benjamini_and_hochbergs_levels_are_those_of_statsmodels(seed):
    asl = np.round(np.random.default_rng(seed).beta(0.4, 1, 40), 2)  # some are equal, and some 0
    assert benjamini_hochberg(asl) == pytest.approx(multipletests(asl, method="fdr_bh")[1])
    assert (benjamini_hochberg(asl) <= holm(asl) + 1e-12).all()


def test_needed_resamples_are_more_than_pairs_over_alpha_less_one():
    sizes = [(105, 0.05), (990, 0.01), (666, 0.01), (1, 0.3), (1, 0.9)]
    assert [needed_resamples(*size) for size in sizes] == [2100, 99_000, 66_600, 3, 1]


@pytest.mark.parametrize("test", every_test(), ids=[test.name for test in every_test()])
def test_a_level_is_above_zero_before_it_is_corrected(test):
    # Each run is better than the one before it by the same on every topic, so no resample reaches any difference.
    scores = np.arange(12.0)[:, np.newaxis] / 12 + np.zeros(15)
    outcome = test.decide(scores, SignificanceSettings(resamples=99 if test.default_resamples else None))
    adjusted = test.corrected(outcome, "holm")
    if test.default_resamples:
        assert adjusted.min() >= 1 / 100
        note = test.holm_note(outcome.resamples, 66, 15, [0.05, 0.01])
        assert "1,320 at 0.05 and 6,600 at 0.01" in note
    elif test.name == "t-test":
        assert adjusted.max() == 0.0


def test_a_pair_without_a_level_is_no_comparison():
    assert holm(np.array([0.01, np.nan, 0.04])) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)


@pytest.mark.parametrize("levels", [[0.001], [0.001, 0.02, 0.03, 0.9], [0.03, 0.001, 0.001, 0.012, 0.2], [0.9, 0.06]])
def test_thresholds_tell_which_pairs_holms_method_calls_significant(levels):
    asl = np.array(levels)
    thresholds = holm_thresholds(asl, 0.05)
    assert ((asl < thresholds) == (holm(asl) < 0.05)).all()
