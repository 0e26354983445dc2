"""What the tests of rank correlation, stability and swap rates share: worked examples."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "statistics-examples.json").read_text())
HALVES = np.array(list(combinations(range(6), 3)))
"""All twenty choices of three of six topics; the last is the rest of the first, and so on inwards."""


def example(name):
    return np.array(GOLDEN[name]["T"])
