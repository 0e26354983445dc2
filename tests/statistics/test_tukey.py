"""The randomised Tukey HSD test."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from gainboard.statistics.classical import RandomisedTukey, largest_differences, tukey_levels
from gainboard.statistics.draws import Draws
from gainboard.statistics.significance import SignificanceSettings

from .matrices import EVERY_KIND, continuous


def permuted(scores, permutations):
    """Return the largest differences after permutations, which say whose score each run gets, topic by topic."""
    runs, topics = scores.shape
    return largest_differences(scores, permutations + runs * np.arange(topics)[:, np.newaxis])


@pytest.mark.parametrize("scores", EVERY_KIND.values(), ids=EVERY_KIND)
def test_permutations_topic_by_topic_give_the_same(scores):
    runs, topics = scores.shape
    drawn = Draws(1, "test").permutations(120, topics, runs)
    largest = []
    for permutation in drawn:
        means = [sum(scores[permutation[topic, run], topic] for topic in range(topics)) / topics for run in range(runs)]
        largest.append(max(means) - min(means))
    levels = [
        sum(each >= abs(x.mean() - y.mean()) - 1e-9 for each in largest) / 120 for x, y in combinations(scores, 2)
    ]
    assert permuted(scores, drawn) == pytest.approx(largest, abs=1e-12)
    assert tukey_levels(scores, permuted(scores, drawn)).tolist() == levels


def test_draws_approach_what_all_permutations_give():
    scores = continuous(3, 4)
    every = np.array(list(product(permutations(range(3)), repeat=4)))
    exact = tukey_levels(scores, permuted(scores, every))
    drawn = RandomisedTukey().decide(scores, SignificanceSettings(seed=5, resamples=20_000))
    assert drawn.asl == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 20_000))
