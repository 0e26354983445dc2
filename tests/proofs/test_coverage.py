"""The short form of the proof of coverage, on a field that is generated."""

import numpy as np
import pytest

from gainboard.statistics.corrected_means import LEAST_TRUSTED
from tests.proofs.coverage import JUDGES, tried


@pytest.fixture(scope="module")
def field():
    """Twelve runs on 50 topics, of which some are hard for all."""
    drawn = np.random.default_rng(5)
    ease, quality = drawn.beta(2, 3, 50), np.linspace(0.7, 1.3, 12)[:, np.newaxis]
    return np.asarray(np.clip(quality * ease + drawn.normal(0, 0.08, (12, 50)), 0, 1))


@pytest.mark.parametrize("judge", JUDGES)
def test_intervals_hold_the_truth_whatever_the_judge_is(field, judge):
    found = tried(field, judge, LEAST_TRUSTED, 100, 150)
    assert min(found.coverage, found.differences) > 0.9
    assert found.worth > LEAST_TRUSTED * 0.95


@pytest.mark.parametrize("judge", ["lenient", "partial", "flat"])
def test_those_of_a_biased_judge_alone_do_not(field, judge):
    assert tried(field, judge, LEAST_TRUSTED, 100, 20).judge_alone < 0.8
