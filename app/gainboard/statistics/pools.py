"""Pools of judged documents: how deep the pool was, and which documents one team alone contributed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NOBODY, SEVERAL = -1, -2
"""The owner of a document that no team has pooled, and of one that several teams have."""
Numbers = NDArray[np.int64]


def judged_depth(starts: Numbers, rank: NDArray[np.integer], retrieved: Numbers) -> int | None:
    """Return the largest depth to which all documents of a run are judged, on every topic; None for any depth.

    The arrays are those of a judged run: topic t has the ranks of its judged documents, ascending, from starts[t] to
    starts[t + 1], and `retrieved` [topics] documents in all. A topic whose documents are all judged sets no bound.
    """
    topic = np.repeat(np.arange(len(retrieved)), np.diff(starts))
    place = np.arange(len(rank)) - starts[topic] + 1
    # The k-th judged document is at rank k as long as none before it is unjudged.
    leading = np.bincount(topic[rank == place], minlength=len(retrieved))
    bounded = leading[leading < retrieved]
    return int(bounded.min()) if len(bounded) else None


def sole_owners(document: Numbers, team: Numbers, documents: int) -> Numbers:
    """Return the only team that has pooled each document, NOBODY or SEVERAL: int64 [documents].

    `document` and `team` are int64 [pooled]: which document is in whose pool, with any repetitions.
    """
    pairs = np.unique(np.stack((document, team)), axis=1)
    counts = np.bincount(pairs[0], minlength=documents)
    owners = np.full(documents, NOBODY, np.int64)
    owners[pairs[0]] = pairs[1]
    owners[counts > 1] = SEVERAL
    return owners
