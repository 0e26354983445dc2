"""Standardised scores, against their definitions."""

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.means import STANDARDISATIONS, standardise_scores

SCORES = np.random.default_rng(6).random((7, 5))
EVERY, SOME = np.arange(7), np.array([1, 4, 6])


@pytest.mark.parametrize("reference", [EVERY, SOME])
def test_each_form_is_as_it_is_defined(reference):
    own = SCORES[reference]
    z = (SCORES - own.mean(axis=0)) / own.std(axis=0, ddof=1)
    shares = [[np.mean(own[:, topic] <= SCORES[run, topic]) for topic in range(5)] for run in range(7)]
    expected = {"normal": stats.norm.cdf(z), "linear": np.clip(0.15 * z + 0.5, 0, 1), "empirical": shares}
    for form in STANDARDISATIONS:
        np.testing.assert_allclose(standardise_scores(SCORES, reference, form), expected[form], atol=1e-12)


def test_harder_topics_count_as_much_as_easy_ones():
    harder = SCORES * np.array([1, 0.5, 0.1, 0.01, 1e-3]) + np.array([0, 0.4, 0, 0, 0.9])
    for form in STANDARDISATIONS:
        np.testing.assert_allclose(
            standardise_scores(harder, EVERY, form), standardise_scores(SCORES, EVERY, form), atol=1e-9
        )


@pytest.mark.parametrize("form", STANDARDISATIONS)
def test_a_topic_on_which_the_reference_runs_score_alike_has_no_scores(form):
    scores = SCORES.copy()
    scores[SOME, 2] = [0.1 + 0.2, 0.3, 0.3]
    found = standardise_scores(scores, SOME, form)
    assert np.isnan(found).all(axis=0).tolist() == [False, False, True, False, False]
    np.testing.assert_array_equal(
        np.delete(found, 2, axis=1), np.delete(standardise_scores(SCORES, SOME, form), 2, axis=1)
    )
