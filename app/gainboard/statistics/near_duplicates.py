"""Near-duplicates: runs that repeat another one except on a few topics.

Such a pair has differences of 0 on nearly all topics. It weakens every analysis that compares pairs of runs: it adds a
pair that no test can separate, ties in rankings, and groups that are one system twice.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Indices

Marks = NDArray[np.uint64]
TOPICS_PER_DIFFERENCE: Final = 10
"""A near-duplicate may differ on one topic in so many."""
NONE: Final = -1


def repeated_runs(marks: Marks) -> Indices:
    """Return the earlier run that each run nearly repeats, or `NONE`: intp [runs].

    `marks` is uint64 [runs, topics]: rankings of a topic are alike if their marks are equal, and empty if they are 0.
    Topics on which both runs are empty do not count. Of the others, two runs may differ on at most one in
    `TOPICS_PER_DIFFERENCE`, and there must be some. Of several such runs, the result has the one that differs on the
    fewest topics, and of these the first.
    """
    runs, topics = marks.shape
    # Two such runs agree on all topics of at least one part, if there are more parts than topics on which they differ.
    bounds = np.linspace(0, topics, topics // TOPICS_PER_DIFFERENCE + 1, endpoint=False).astype(np.intp)
    parts = np.add.reduceat(marks, bounds, axis=1) if topics else marks
    found = np.full(runs, NONE, dtype=np.intp)
    for run in range(1, runs):
        alike = np.flatnonzero((parts[:run] == parts[run]).any(axis=1))
        if not len(alike):
            continue
        differing = (marks[alike] != marks[run]).sum(axis=1)
        counted = ((marks[alike] != 0) | (marks[run] != 0)).sum(axis=1)
        is_near = (counted > 0) & (differing * TOPICS_PER_DIFFERENCE <= counted)
        if is_near.any():
            found[run] = alike[np.argmin(np.where(is_near, differing, topics + 1))]
    return found
