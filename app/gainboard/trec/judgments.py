"""Judgments packed as text and bytes, so that a million of them take 25 MB and not 150."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL_ZERO = 128
"""A level is stored as one byte: this one stands for level 0, larger ones for levels above it."""


class PackedTopic(NamedTuple):
    """The judgments of one topic: its document ids, each with a line feed behind it, and as many level bytes."""

    documents: bytes
    levels: bytes

    @classmethod
    def of(cls, judged: Mapping[bytes, int]) -> PackedTopic:
        """Pack the levels of these document ids, -127..127."""
        return cls(b"".join(b"%b\n" % document for document in judged), bytes(map(level_byte, judged.values())))

    def unpacked(self) -> dict[bytes, int]:
        """Return document id -> level."""
        return dict(zip(self.documents.split(b"\n")[:-1], self.as_levels().tolist(), strict=True))

    def as_levels(self) -> NDArray[np.int8]:
        """Return the level of each document, int8 [documents]."""
        return (np.frombuffer(self.levels, np.uint8) ^ LEVEL_ZERO).view(np.int8)


class PackedJudgments(Mapping[str, dict[bytes, int]]):
    """The judgments of a qrels file: topic -> document id -> level. A topic is unpacked each time it is asked for."""

    def __init__(self, topics: Mapping[str, PackedTopic]) -> None:
        self.packed = topics

    @classmethod
    def of(cls, judgments: Mapping[str, Mapping[bytes, int]]) -> PackedJudgments:
        """Pack these judgments."""
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
        """Return how many documents are judged at each level that there is."""
        counts = np.zeros(256, np.int64)
        for topic in self.packed.values():
            counts += np.bincount(np.frombuffer(topic.levels, np.uint8), minlength=256)
        return Counter({int(byte) - LEVEL_ZERO: int(counts[byte]) for byte in counts.nonzero()[0]})


def level_byte(level: int) -> int:
    """Return the byte that stores a level, -127..127."""
    return LEVEL_ZERO + level
