"""Judgments packed as text and bytes. A million judgments take 25 MB instead of 150 MB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
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
