"""Campaigns made from a seed, of any size: qrels and as many runs as are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LEVELS = 3
_COLLECTION = 528_155
_SHARES = (0.93, 0.04, 0.02, 0.01)
_SPARSE_SHARES = (0.0, 0.4, 0.3, 0.3)
_PULLS = np.array([0.8, 1.6, 2.1, 2.5])
_FORMS = ("FBIS3-{0}", "FBIS4-{0}", "FT9{1:02d}-{0}", "LA{1:02d}2489-{0:04d}", "FR9405{1:02d}-0-{0:05d}")


@dataclass(frozen=True)
class Size:
    """The size of a campaign: topics, documents judged of each, documents retrieved for each by each of the runs."""

    topics: int
    judged: int
    retrieved: int
    runs: int
    sparse: bool = False
    """Only documents that are relevant at some level are judged."""

    @property
    def candidates(self) -> int:
        """The number of documents of a topic that some run may retrieve."""
        return self.judged + 3 * self.retrieved


TREC = Size(topics=50, judged=1500, retrieved=1000, runs=45)
SHORT_TREC = Size(topics=10, judged=300, retrieved=200, runs=3)
WIDE = Size(topics=250, judged=300, retrieved=100, runs=1000)
WHOLE_WIDE = Size(topics=250, judged=1500, retrieved=1000, runs=1000)
LARGE = Size(topics=100, judged=1500, retrieved=1000, runs=200)
MARCO = Size(topics=6980, judged=2, retrieved=1000, runs=1, sparse=True)


@dataclass(frozen=True)
class _Topic:
    """Documents `numbers` (int64) might be retrieved; the first of them are in the qrels, at `levels` (int64)."""

    name: str
    numbers: NDArray[np.int64]
    levels: NDArray[np.int64]
    appeal: NDArray[np.float64]
    """How much each document attracts every system, float64 [documents]: runs of one campaign are alike."""

    def documents(self, places: NDArray[np.intp] | slice) -> list[str]:
        """Return the ids of some of them."""
        return [
            _FORMS[number % len(_FORMS)].format(number, number % 31 + 1) for number in self.numbers[places].tolist()
        ]


class Campaign:
    """Topics with documents judged at levels 0 to 3, and any number of runs.

    The same seed and size make the same bytes. Scores within a topic differ in single precision too, so that tools
    which compare them at either precision rank alike.
    """

    def __init__(self, seed: int, size: Size = TREC) -> None:
        self._seed, self.size = seed, size
        random = np.random.default_rng(seed)
        self._topics = [_make_topic(random, str(301 + number), size) for number in range(size.topics)]

    def qrels(self) -> bytes:
        """Return a qrels file of TREC's four columns, documents in the order of their ids."""
        lines: list[str] = []
        for topic in self._topics:
            judged = sorted(zip(topic.documents(slice(self.size.judged)), topic.levels.tolist(), strict=True))
            lines += [f"{topic.name} 0 {document} {level}\n" for document, level in judged]
        return "".join(lines).encode()

    def run(self, number: int) -> bytes:
        """Return run `number` >= 0 as a file of TREC's six columns; its tag, and so its name, is `system-NUMBER`."""
        return b"".join(self.pieces(number))

    def pieces(self, number: int) -> Iterator[bytes]:
        """Return the same run, topic by topic."""
        random = np.random.default_rng([self._seed, number])
        skill = random.uniform(0.3, 1.1)
        return (_ranked(random, topic, self.size, skill, number).encode() for topic in self._topics)


class VariedRuns:
    """Any number of runs of a campaign, each made in a moment: of every topic it has the ranking of one of a few."""

    def __init__(self, campaign: Campaign, seed: int, variants: int = 16) -> None:
        pieces = [list(campaign.pieces(number)) for number in range(variants)]
        self._of_topics = list(zip(*pieces, strict=True))
        self._seed = seed

    def run(self, number: int) -> bytes:
        """Return run `number` >= 0 as a file; its tags are those of the runs that it is made of."""
        random = np.random.default_rng([self._seed, number])
        chosen = random.integers(len(self._of_topics[0]), size=len(self._of_topics)).tolist()
        return b"".join(pieces[variant] for pieces, variant in zip(self._of_topics, chosen, strict=True))


def _make_topic(random: np.random.Generator, name: str, size: Size) -> _Topic:
    numbers = random.choice(_COLLECTION, size.candidates, replace=False)
    levels = random.choice(len(_SHARES), size.judged, p=_SPARSE_SHARES if size.sparse else _SHARES)
    appeal = random.normal(size=size.candidates)
    return _Topic(name, numbers, levels, appeal)


def _ranked(random: np.random.Generator, topic: _Topic, size: Size, skill: float, number: int) -> str:
    liking = 0.5 * topic.appeal + random.normal(size=size.candidates)
    liking[: size.judged] += skill * _PULLS[topic.levels]
    best = np.argsort(-liking)[: size.retrieved]
    # In steps of at least 1e-4 below 32, where single precision still tells 2e-6 apart.
    steps = np.minimum(random.geometric(1 / 120, size.retrieved), 290)
    scores = (np.cumsum(steps)[::-1] + 20_000) / 10_000
    return "".join(
        f"{topic.name} Q0 {document} {rank} {score:.4f} system-{number:02d}\n"
        for rank, (document, score) in enumerate(zip(topic.documents(best), scores.tolist(), strict=True), start=1)
    )


def chunks(path: Path) -> Iterator[bytes]:
    """Return the file, by the mebibyte."""
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk
