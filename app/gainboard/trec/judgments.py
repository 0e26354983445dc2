"""Judgments packed as text and bytes. A million judgments take 25 MB instead of 150 MB."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL_ZERO = 128
"""The byte of level 0. A level is stored as one byte, `LEVEL_ZERO + level`."""


class PackedTopic(NamedTuple):
    """The judgments of one topic: its document ids, each followed by a line feed, and one level byte for each id."""

    documents: bytes
    levels: bytes

    @classmethod
    def of(cls, judged: Mapping[bytes, int]) -> PackedTopic:
        """Pack a mapping of document id to level. Levels are -127..127."""
        return cls(b"".join(b"%b\n" % document for document in judged), bytes(map(level_byte, judged.values())))

    def unpacked(self) -> dict[bytes, int]:
        """Return the level of each document id."""
        return dict(zip(self.documents.split(b"\n")[:-1], self.as_levels().tolist(), strict=True))

    def as_levels(self) -> NDArray[np.int8]:
        """Return the level of each document, int8 [documents]."""
        # To flip the highest bit is to subtract 128, in eight bits: no wider array is made in between.
        return (np.frombuffer(self.levels, np.uint8) ^ LEVEL_ZERO).view(np.int8)


class PackedJudgments(Mapping[str, dict[bytes, int]]):
    """The judgments of a qrels file: topic -> document id -> level. Each access to a topic unpacks it again."""

    def __init__(self, topics: Mapping[str, PackedTopic]) -> None:
        self.packed = topics

    @classmethod
    def of(cls, judgments: Mapping[str, Mapping[bytes, int]]) -> PackedJudgments:
        """Pack a mapping of topic to document id to level."""
        return cls({topic: PackedTopic.of(judged) for topic, judged in judgments.items()})

    def __getitem__(self, topic: str) -> dict[bytes, int]:
        return self.packed[topic].unpacked()

    def __contains__(self, topic: object) -> bool:
        return topic in self.packed

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    def count_levels(self) -> Counter[int]:
        """Return the number of documents at each level that occurs."""
        counts = np.zeros(256, np.int64)
        for topic in self.packed.values():
            counts += np.bincount(np.frombuffer(topic.levels, np.uint8), minlength=256)
        return Counter({int(byte) - LEVEL_ZERO: int(counts[byte]) for byte in counts.nonzero()[0]})


def level_byte(level: int) -> int:
    """Return the byte that stores a level. Levels are -127..127."""
    return LEVEL_ZERO + level


SEED = np.uint64(int.from_bytes(os.urandom(8), "big"))
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
        # Less one, because the last offset with the highest hash bits would look like EMPTY.
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
