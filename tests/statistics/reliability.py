"""What the tests of rank correlation, stability and swap rates share: worked examples, and discrete scores."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "statistics-examples.json").read_text())
HALVES = np.array(list(combinations(range(6), 3)))
"""All twenty choices of three of six topics; the last is the rest of the first, and so on inwards."""


def example(name):
    return np.array(GOLDEN[name]["T"])


def discrete_scores(seed=21, runs=9, topics=12):
    """Scores in tenths, two runs alike and one always 0: zero differences and differences on the edge of a bin."""
    scores = np.random.default_rng(seed).integers(0, 11, (runs, topics)) / 10
    scores[1], scores[2] = scores[0], 0
    return scores
