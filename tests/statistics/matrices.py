"""Score matrices [runs, topics] on which tests of significance go wrong, if they do."""

from __future__ import annotations

import numpy as np

from gainboard.statistics.draws import Floats


def continuous(runs: int = 5, topics: int = 12, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).beta(1, 2, (runs, topics))


def tenths(runs: int = 5, topics: int = 12, seed: int = 0) -> Floats:
    """As P@10 gives them: many differences are equal, and unequal in their last bits."""
    return np.random.default_rng(seed).integers(0, 4, (runs, topics)) / 10


def awkward() -> Floats:
    """Two runs that are one, one that is better by the same everywhere, one that differs in one topic only."""
    run = tenths(1, 9)[0]
    single = run + np.eye(9)[4] / 5
    return np.stack([run, run, run + 0.1, single, tenths(1, 9, seed=1)[0]])


EVERY_KIND = {"continuous": continuous(), "tenths": tenths(), "awkward": awkward()}
