"""Intervals of a judge's favour have the true one as often as they say; `python -m tests.proofs.validity` is longer."""

import pytest

from tests.proofs.validity import coverage

pytestmark = [pytest.mark.outer, pytest.mark.proof]


def test_the_interval_of_a_known_favour_has_it_in_95_of_100_trials():
    covered, told = coverage(25, 0.1, trials=600, seed=1)
    # 95 % of 600 trials, with a chance of a thousandth to be further away.
    assert 0.92 < covered < 0.98
    assert told > 0.95
