"""What the tests of rank correlation, stability and swap rates share: worked examples, and discrete scores."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from gainboard.statistics.draws import Floats, Indices

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "statistics-examples.json").read_text())
HALVES: Indices = np.array(list(combinations(range(6), 3)))
"""All twenty choices of three of six topics; the last is the rest of the first, and so on inwards."""


def example(name: str) -> Floats:
    return np.array(GOLDEN[name]["T"])


def discrete_scores(seed: int = 21, runs: int = 9, topics: int = 12) -> Floats:
    """Scores in tenths, two runs alike and one always 0: zero differences and differences on the edge of a bin."""
    scores = np.random.default_rng(seed).integers(0, 11, (runs, topics)) / 10
    scores[1], scores[2] = scores[0], 0
    return scores
