"""Intervals of a judge's favour have the true one as often as they say; `python -m tests.proofs.validity` is longer."""

import pytest
from scipy.stats import binom

from tests.proofs.validity import coverage

pytestmark = [pytest.mark.outer, pytest.mark.proof]
TRIALS = 1500


@pytest.mark.parametrize("topics", [10, 25])
def test_the_interval_of_a_known_favour_has_it_in_94_to_96_of_100_trials(topics):
    covered, told = coverage(topics, 0.1, TRIALS, seed=1)
    # A coverage within these limits is further away in one of a thousand such tests.
    assert binom.ppf(0.001, TRIALS, 0.94) <= covered * TRIALS <= binom.ppf(0.999, TRIALS, 0.96)
    assert told > 0.95
