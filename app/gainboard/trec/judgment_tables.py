"""The judged documents of a qrels version as text and arrays, which the compiled join can read.

The kernels and their caller share this layout. It is a separate module because the caller must not import the compiler.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.judgments import PackedTopic

SEED = np.uint64(secrets.randbits(64))
"""The random seed of all hashes of this process, so that nobody can choose ids whose hashes collide."""
EMPTY = (1 << 32) - 1
OFFSET_BITS = 24
_LINE_FEED = 10


class JudgedDocuments(NamedTuple):
    """The judged documents of every topic, each topic with a hash table of its own.

    `records` is text with one record for each document: its level byte (LEVEL_ZERO is level 0), its id and a line
    feed. The records of topic t begin at `bases[t]`. The hash table of topic t is `slots[starts[t]:starts[t + 1]]`,
    and its length is a power of two. A slot is EMPTY or holds two numbers: the record's offset from `bases[t]` in the
    low 24 bits, and eight bits of the id's hash above them. The tables are small because fetching them from main
    memory takes most of the time.
    """

    records: NDArray[np.uint8]
    starts: NDArray[np.int64]
    bases: NDArray[np.int64]
    slots: NDArray[np.uint32]

    @classmethod
    def of(cls, judgments: Sequence[PackedTopic], fill: Callable[..., None]) -> JudgedDocuments | None:
        """Return the tables of the judgments, one topic after the other. `fill` is the kernel.

        Return None if the records of a topic take 16 MiB or more, which is more than a slot can address.
        """
        counts = np.array([len(topic.levels) for topic in judgments], np.int64)
        documents = np.frombuffer(b"".join([topic.documents for topic in judgments]), np.uint8)
        levels = np.frombuffer(b"".join([topic.levels for topic in judgments]), np.uint8)
        lengths = np.diff(np.flatnonzero(documents == _LINE_FEED), prepend=-1)
        begins = _from_zero(lengths + 1)
        topics = _from_zero(counts)
        bases = begins[topics]
        if np.diff(bases).max(initial=0) >= (1 << OFFSET_BITS) - 1:
            return None
        # At least twice as many slots as documents, so that a search looks at one or two slots.
        starts = _from_zero(1 << np.ceil(np.log2(np.maximum(2 * counts, 2))).astype(np.int64))
        slots = np.full(int(starts[-1]), EMPTY, np.uint32)
        # The last byte is read for a topic without judgments, whose records would begin after the end.
        text = np.append(np.insert(documents, _from_zero(lengths)[:-1], levels), np.uint8(_LINE_FEED))
        fill(text, begins, topics, starts, bases, SEED, slots)
        return cls(text, starts, bases, slots)


def _from_zero(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
