"""A campaign of TREC's size, made from a seed: qrels and as many runs as are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOPICS, JUDGED, RETRIEVED = 50, 1500, 1000
LEVELS = 3
_CANDIDATES = 4500
_COLLECTION = 528_155
_SHARES = (0.93, 0.04, 0.02, 0.01)
_PULLS = np.array([0.8, 1.6, 2.1, 2.5])
_FORMS = ("FBIS3-{0}", "FBIS4-{0}", "FT9{1:02d}-{0}", "LA{1:02d}2489-{0:04d}", "FR9405{1:02d}-0-{0:05d}")


@dataclass(frozen=True)
class _Topic:
    """`documents` might be retrieved; the first JUDGED of them are in the qrels, at `levels` (int64)."""

    name: str
    documents: list[str]
    levels: NDArray[np.int64]
    appeal: NDArray[np.float64]
    """How much each document attracts every system, float64 [documents]: runs of one campaign are alike."""


class Campaign:
    """50 topics with 1,500 documents judged at levels 0 to 3; runs of 1,000 documents a topic, about 2 MB each.

    The same seed makes the same bytes. Scores within a topic differ in single precision too, so that tools
    which compare them at either precision rank alike.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        random = np.random.default_rng(seed)
        self._topics = [_make_topic(random, str(301 + number)) for number in range(TOPICS)]

    def qrels(self) -> bytes:
        """A qrels file of TREC's four columns, documents in the order of their ids."""
        lines: list[str] = []
        for topic in self._topics:
            judged = sorted(zip(topic.documents[:JUDGED], topic.levels.tolist(), strict=True))
            lines += [f"{topic.name} 0 {document} {level}\n" for document, level in judged]
        return "".join(lines).encode()

    def run(self, number: int) -> bytes:
        """Run `number` >= 0 as a file of TREC's six columns; its tag, and so its name, is `system-NUMBER`."""
        random = np.random.default_rng([self._seed, number])
        skill = random.uniform(0.3, 1.1)
        return "".join(_ranked(random, topic, skill, number) for topic in self._topics).encode()


def _make_topic(random: np.random.Generator, name: str) -> _Topic:
    numbers = random.choice(_COLLECTION, _CANDIDATES, replace=False).tolist()
    documents = [_FORMS[number % len(_FORMS)].format(number, number % 31 + 1) for number in numbers]
    levels = random.choice(len(_SHARES), JUDGED, p=_SHARES)
    appeal = random.normal(size=_CANDIDATES)
    return _Topic(name, documents, levels, appeal)


def _ranked(random: np.random.Generator, topic: _Topic, skill: float, number: int) -> str:
    liking = 0.5 * topic.appeal + random.normal(size=_CANDIDATES)
    liking[:JUDGED] += skill * _PULLS[topic.levels]
    best = np.argsort(-liking)[:RETRIEVED].tolist()
    # In steps of at least 1e-4 below 32, where single precision still tells 2e-6 apart.
    steps = np.minimum(random.geometric(1 / 120, RETRIEVED), 290)
    scores = (np.cumsum(steps)[::-1] + 20_000) / 10_000
    return "".join(
        f"{topic.name} Q0 {topic.documents[place]} {rank} {score:.4f} system-{number:02d}\n"
        for rank, (place, score) in enumerate(zip(best, scores.tolist(), strict=True), start=1)
    )
