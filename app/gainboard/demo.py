"""A generated campaign: 50 topics, three levels of relevance, 15 teams with three runs each.

Everything is computed from a seed with PCG64's raw numbers, sums and products. These are equal on every machine and in
every version of NumPy, and so are the scores that the README shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation import collections, qrels, runs
from gainboard.evaluation.intake import Body
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.runs import RunDetails
from gainboard.evaluation.workspace import Workspace

COLLECTION = "demo"
TEAMS = (
    "badger",
    "civet",
    "dingo",
    "egret",
    "finch",
    "gecko",
    "heron",
    "ibis",
    "jackal",
    "koala",
    "lemur",
    "marten",
    "newt",
    "otter",
    "puffin",
)
TOPICS = tuple(f"{number:03d}" for number in range(1, 51))
RUNS_PER_TEAM = 3
CANDIDATES, RETRIEVED = 1300, 1000
UNJUDGED_CODE = -1
LEVEL_NAMES = ("B", "A", "S")
PULL = np.array([0.0, 0.0, 0.45, 0.75, 1.0])
"""How strongly a good system prefers an unjudged, nonrelevant, B-, A- or S-relevant document."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Topic:
    """A topic's documents: their ids and levels, with UNJUDGED_CODE for unjudged documents."""

    name: str
    documents: list[str]
    levels: NDArray[np.int64]


@dataclass(frozen=True)
class Campaign:
    """A qrels file and run files by team and name. Runs are generated one by one, because they are large."""

    topics: list[Topic]
    seed: int

    def qrels(self) -> str:
        """Return the judgments in TREC's format."""
        return "".join(
            f"{topic.name} 0 {document} {level}\n"
            for topic in self.topics
            for document, level in zip(topic.documents, topic.levels.tolist(), strict=True)
            if level != UNJUDGED_CODE
        )

    def runs(self) -> Iterator[tuple[str, str, str]]:
        """Yield team, run name and run file. Teams differ in quality, and their runs a little."""
        for position, team in enumerate(TEAMS):
            for number in range(RUNS_PER_TEAM):
                bits = np.random.PCG64([self.seed, position, number])
                quality = 0.35 + 0.9 * position / (len(TEAMS) - 1) + 0.12 * number
                yield team, f"{team}-{number + 1}", self._run(f"{team}-{number + 1}", quality, bits)

    def _run(self, tag: str, quality: float, bits: np.random.PCG64) -> str:
        lines: list[str] = []
        for topic in self.topics:
            ease = 0.6 + 0.8 * _uniform(bits, 1)[0]
            scores = quality * ease * PULL[topic.levels + 1] + _noise(bits, CANDIDATES)
            # The weakest team finds no relevant document for some topics, and few for the others: topics with score 0
            # are usual in real campaigns.
            if tag == f"{TEAMS[0]}-1" and topic.name < "005":
                continue
            best = np.argsort(-scores, kind="stable")[: 100 if tag.startswith(TEAMS[0]) else RETRIEVED]
            lines += [
                f"{topic.name} Q0 {topic.documents[document]} {rank} {scores[document]:.6f} {tag}\n"
                for rank, document in enumerate(best.tolist(), start=1)
            ]
        return "".join(lines)


def campaign(seed: int = 2004) -> Campaign:
    """Return the campaign of a seed."""
    bits = np.random.PCG64([seed])
    return Campaign([_topic(name, bits) for name in TOPICS], seed)


def _topic(name: str, bits: np.random.PCG64) -> Topic:
    many = _uniform(bits, 4)
    counts = [120 + int(160 * many[0]), 5 + int(35 * many[1]), 2 + int(22 * many[2]), 1 + int(8 * many[3])]
    levels = np.full(CANDIDATES, UNJUDGED_CODE)
    levels[: sum(counts)] = np.repeat(np.arange(4), counts)
    numbers = np.argsort(_uniform(bits, 100_000), kind="stable")[:CANDIDATES]
    return Topic(name, [f"doc-{number:06d}" for number in numbers.tolist()], levels)


def _uniform(bits: np.random.PCG64, count: int) -> Floats:
    raw = np.asarray(bits.random_raw(count), np.uint64)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _noise(bits: np.random.PCG64, count: int) -> Floats:
    first, second, third = _uniform(bits, 3 * count).reshape(3, count)
    return first + second + third - 1.5


def load(workspace: Workspace, organiser: Principal) -> Iterator[str]:
    """Load the campaign, released and public. Yield a line of progress for each step."""
    made = campaign()
    settings = {
        "name": COLLECTION,
        "title": "A generated campaign",
        "level_names": list(LEVEL_NAMES),
        "highest_level": len(LEVEL_NAMES),
        "gains": "3:2:1",
        "depth": RETRIEVED,
        "order_by": "score",
        "topics": list(TOPICS),
        "metrics": ["Q", "nDCG@10", "AP"],
        "phase": "released",
        "public": True,
    }
    collections.create(workspace, organiser, settings)
    published = qrels.publish(workspace, organiser, COLLECTION, _body(made.qrels())).qrels
    yield f"qrels: {published.topics} topics, {published.judged} judged, {published.relevant} relevant"
    count = len(TEAMS) * RUNS_PER_TEAM
    for number, (team, name, text) in enumerate(made.runs(), start=1):
        runs.submit(workspace, organiser, COLLECTION, _body(text), RunDetails(team=team, name=name))
        yield f"run {number} of {count}: {name}"


def _body(text: str) -> Body:
    return Body(BytesIO(text.encode()))
