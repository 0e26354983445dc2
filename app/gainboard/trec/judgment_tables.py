"""The judged documents of a qrels version, laid out for the compiled join: text and arrays in place of dicts.

The kernels and their caller share this layout, and the caller must do without the compiler, so it is a module of its
own.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.judgments import PackedTopic

SEED = np.uint64(secrets.randbits(64))
"""The seed of all hashes of this process, so that nobody can choose ids that collide."""
EMPTY = (1 << 32) - 1
OFFSET_BITS = 24
_LINE_FEED = 10


class JudgedDocuments(NamedTuple):
    """The judged documents of every topic, each topic with a hash table of its own.

    A document is a record in the text `records`: its level as a byte, from LEVEL_ZERO up and down, its id, a line
    feed. The records of topic t begin at `bases[t]`, and its table, a power of two long, is
    `slots[starts[t]:starts[t + 1]]`: EMPTY, or a record's place from there on below eight bits of the id's hash.
    So little is looked at for a document because most of the time goes into fetching it from main memory.
    """

    records: NDArray[np.uint8]
    starts: NDArray[np.int64]
    bases: NDArray[np.int64]
    slots: NDArray[np.uint32]

    @classmethod
    def of(cls, judgments: Sequence[PackedTopic], fill: Callable[..., None]) -> JudgedDocuments | None:
        """Lay out the judgments of each topic; None for millions in a topic. `fill` is the kernel."""
        counts = np.array([len(topic.levels) for topic in judgments], np.int64)
        documents = np.frombuffer(b"".join([topic.documents for topic in judgments]), np.uint8)
        levels = np.frombuffer(b"".join([topic.levels for topic in judgments]), np.uint8)
        lengths = np.diff(np.flatnonzero(documents == _LINE_FEED), prepend=-1)
        begins = _from_zero(lengths + 1)
        topics = _from_zero(counts)
        bases = begins[topics]
        if np.diff(bases).max(initial=0) >= (1 << OFFSET_BITS) - 1:
            return None
        # At least twice as many slots as documents, so that a search ends after one or two.
        starts = _from_zero(1 << np.ceil(np.log2(np.maximum(2 * counts, 2))).astype(np.int64))
        slots = np.full(int(starts[-1]), EMPTY, np.uint32)
        # The last byte is there for a look at a topic without judgments.
        text = np.append(np.insert(documents, _from_zero(lengths)[:-1], levels), np.uint8(_LINE_FEED))
        fill(text, begins, topics, starts, bases, SEED, slots)
        return cls(text, starts, bases, slots)


def _from_zero(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
