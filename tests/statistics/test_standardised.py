"""Standardised scores, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.standardised import STANDARDISATIONS, standardised

SCORES = np.random.default_rng(6).random((7, 5))
EVERY, SOME = np.arange(7), np.array([1, 4, 6])


@pytest.mark.parametrize("reference", [EVERY, SOME])
def test_each_form_is_as_it_is_defined(reference: np.ndarray) -> None:
    own = SCORES[reference]
    z = (SCORES - own.mean(axis=0)) / own.std(axis=0, ddof=1)
    shares = [[np.mean(own[:, topic] <= SCORES[run, topic]) for topic in range(5)] for run in range(7)]
    expected = {"normal": stats.norm.cdf(z), "linear": np.clip(0.15 * z + 0.5, 0, 1), "empirical": shares}
    for form in STANDARDISATIONS:
        np.testing.assert_allclose(standardised(SCORES, reference, form), expected[form], atol=1e-12)


def test_harder_topics_count_as_much_as_easy_ones() -> None:
    harder = SCORES * np.array([1, 0.5, 0.1, 0.01, 1e-3]) + np.array([0, 0.4, 0, 0, 0.9])
    for form in STANDARDISATIONS:
        np.testing.assert_allclose(standardised(harder, EVERY, form), standardised(SCORES, EVERY, form), atol=1e-9)


def test_a_topic_without_spread_has_no_z_but_shares() -> None:
    scores = SCORES.copy()
    scores[:, 2] = 0.3
    for form in STANDARDISATIONS:
        column = standardised(scores, SOME, form)[:, 2]
        assert (column == 1).all() if form == "empirical" else np.isnan(column).all()


def test_rounding_errors_are_no_difference() -> None:
    scores = np.array([[0.1 + 0.2], [0.3], [0.7]])
    assert standardised(scores, np.arange(3), "empirical").ravel().tolist() == pytest.approx([2 / 3, 2 / 3, 1])


def test_the_linear_form_is_cut() -> None:
    found = standardised(np.array([[0.0], [0.01], [1.0], [-1.0]]), np.array([0, 1]), "linear")
    assert found.ravel().tolist()[2:] == [1, 0]
