"""Whether three tests of run pairs agree."""

import numpy as np
import pytest

from gainboard.statistics.agreement import list_agreement


def test_noise_in_the_last_digits_makes_no_order_and_tiny_levels_keep_theirs():
    assert list_agreement(np.array([0.1 + 0.2, 0.3, 0.9]), np.array([7, 7, 8])) == pytest.approx(1, abs=1e-12)
    assert list_agreement(np.array([2e-15, 3e-15, 4e-15]), np.array([0, 1, 2])) == pytest.approx(1, abs=1e-12)
