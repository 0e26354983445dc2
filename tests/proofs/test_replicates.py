import numpy as np
import pytest

from gainboard.statistics.means import collapse
from tests.proofs.gate import POPULATIONS
from tests.proofs.replicates import ONE_SYSTEM, component_coverage, coverage, letters, noise


@pytest.mark.proof
def test_intervals_over_topics_hold_and_those_that_forget_replicates_do_not():
    found = {name: coverage(sample, 5, 2000) for name, sample in (POPULATIONS | ONE_SYSTEM).items()}
    # With 2,000 samples, two standard errors are 1 %; the command has 10,000, and 2, 5 and 10 replicates.
    assert {name: share for name, (share, _) in found.items() if not 0.93 <= share <= 0.97} == {}
    assert max(forgetful for _, forgetful in found.values()) < 0.94
    assert np.median([forgetful for _, forgetful in found.values()]) < 0.8


@pytest.mark.proof
def test_letters_keep_their_level_over_topics_alone():
    over_topics, forgetful = letters(5, 5, 300)
    assert over_topics <= 0.075 < 0.2 < forgetful


@pytest.mark.proof
def test_intervals_of_variances_hold_normal_ones():
    assert (component_coverage(lambda drawn, size: drawn.normal(0, 1, size), 3, 200) > 0.88).all()


def test_missing_replicates_are_on_half_of_the_topics_and_never_all_of_a_topic():
    scores = noise(np.random.default_rng(0), np.zeros((20, 50)), 4)
    assert np.isnan(scores[..., ::2]).any()
    assert not np.isnan(scores[..., 1::2]).any()
    assert not np.isnan(collapse(scores, np.zeros(4, np.intp))).any()
