import numpy as np
import pytest

from gainboard.statistics.gates import ALPHA, one_sided_tests
from tests.proofs.gate import POPULATIONS, SKEWED, rows, shares


@pytest.mark.proof
def test_the_gate_errs_in_no_more_than_its_share_where_differences_are_not_skewed():
    # With 2,000 changes, two standard errors are 1 %; the command has 10,000 and all numbers of topics.
    found = dict(rows(POPULATIONS, 2000, (20, 60)))
    assert {name: both for name, of_topics in found.items() for both in of_topics if max(both) > ALPHA + 0.015} == {}
    skewed = dict(rows(SKEWED, 2000, (20, 60)))
    # A bootstrap beside Student's t halves what skewed differences do to it.
    assert max(max(both) for _, both in skewed.values()) < 0.08 < max(max(both) for both, _ in skewed.values())


@pytest.mark.proof
def test_the_proof_leaves_out_only_what_cannot_be_significant_and_a_margin_is_a_shift():
    sample, topics, margin = SKEWED["exponential, fails on some"], 60, 0.03
    differences = sample(np.random.default_rng([0, topics]), (500, topics))
    every = one_sided_tests(differences, np.zeros(500))
    assert shares(sample, topics, 500) == [np.mean(levels < ALPHA) for levels in (every.worse, every.not_worse)]
    lost = one_sided_tests(differences - margin, np.full(500, margin))
    np.testing.assert_allclose(lost.not_worse, every.not_worse)
