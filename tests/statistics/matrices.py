"""Score matrices [runs, topics] on which tests of significance go wrong, if they do."""

import numpy as np


def continuous(runs=5, topics=12, seed=0):
    return np.random.default_rng(seed).beta(1, 2, (runs, topics))


def tenths(runs=5, topics=12, seed=0):
    """As P@10 gives them: many differences are equal, and unequal in their last bits."""
    return np.random.default_rng(seed).integers(0, 4, (runs, topics)) / 10


def awkward():
    """Two runs that are one, one that is better by the same everywhere, one that differs in one topic only."""
    run = tenths(1, 9)[0]
    single = run + np.eye(9)[4] / 5
    return np.stack([run, run, run + 0.1, single, tenths(1, 9, seed=1)[0]])


EVERY_KIND = {"continuous": continuous(), "tenths": tenths(), "awkward": awkward()}
