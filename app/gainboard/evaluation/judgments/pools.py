"""Pools made of runs: the documents to judge of each topic, in the order of judging, and the files for assessors."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.runs.run_files import TopDocuments
from gainboard.exhibits import csv_line
from gainboard.statistics.draws import Draws
from gainboard.statistics.judging import PoolOrder, TeamRanks, count_documents, order_documents, take_turns

Numbers = NDArray[np.int64]
PoolFormat = Literal["trec", "ntcir", "csv", "json", "strata"]
_STRATUM: Final = re.compile(r"([1-9][0-9]{0,5}):(1|0?\.(?!0+$)[0-9]{1,6})")
COST_DEPTHS: Final = (10, 20, 50, 100)
"""The depths at which a pool is counted by default, so that a depth or a budget can be chosen."""


@dataclass(frozen=True)
class PoolForm:
    """The form of a pool: its depth, its order, and its budget, which is for each topic, or for all topics together."""

    depth: int
    order: PoolOrder = "ntcir"
    budget: int | None = None
    is_budget_in_all: bool = False
    seed: int = 0
    depths: Sequence[int] = ()
    """Further depths at which documents are counted."""
    strata: Sequence[tuple[int, float]] = ()
    """The last rank of each stratum, and the share of its documents that is sampled; empty to judge all."""

    @property
    def read_depth(self) -> int:
        """The number of ranks that are read of each run."""
        return max(self.depth, *self.depths, 1)


@dataclass(frozen=True)
class PooledTopic:
    """The pool of a topic: the ids of its documents in order, and of each the runs, the teams and the best rank."""

    topic: str
    documents: list[str]
    runs: list[int]
    teams: list[int]
    best_ranks: list[int]
    strata: list[int] = field(default_factory=list)
    """The stratum of each document, from 1, by its best rank; empty without strata."""
    unsampled: dict[str, int] = field(default_factory=dict)
    """The strata of the documents of the pool that were not sampled."""


@dataclass(frozen=True)
class PoolCost:
    """The cost of a pool of this depth without a budget: `documents` int64 [topics] to judge in each topic.

    `contributed` and `unique` int64 [teams] count those that each team has, and those that no other team has.
    """

    depth: int
    documents: Numbers
    contributed: Numbers
    unique: Numbers

    @classmethod
    def of(cls, by_topic: Sequence[tuple[int, Numbers, Numbers]], depth: int, teams: int) -> PoolCost:
        """Add up the costs of topics."""
        documents = np.array([count for count, _, _ in by_topic], np.int64)
        contributed, unique = np.zeros(teams, np.int64), np.zeros(teams, np.int64)
        for _, of_teams, alone in by_topic:
            contributed += of_teams
            unique += alone
        return cls(depth, documents, contributed, unique)


@dataclass(frozen=True)
class Pool:
    """A pool, with counts int64 [topics] or [topics, teams].

    `found` and `left_out` count the documents within the depth, and those of them that were left out as judged.
    `contributed` and `unique` count the pooled documents of each team, and those that no other team has.
    """

    topics: list[PooledTopic]
    found: Numbers
    left_out: Numbers
    contributed: Numbers
    unique: Numbers
    costs: list[PoolCost]


@dataclass
class _FoundInTopic:
    """The documents of a topic, by number in byte order, at each rank of each run."""

    run: list[int] = field(default_factory=list)
    documents: list[list[bytes]] = field(default_factory=list)

    def numbered(self) -> tuple[list[bytes], Numbers, Numbers, Numbers]:
        """Return the ids, and int64 [found] each: the number of the document, its run, and its rank in the run."""
        every = list(chain.from_iterable(self.documents))
        # In an order of their own, so that the pool does not depend on the order of the runs.
        ids = sorted(set(every))
        numbers = {document: number for number, document in enumerate(ids)}
        counts = [len(ranking) for ranking in self.documents]
        document = np.fromiter(map(numbers.__getitem__, every), np.int64, len(every))
        rank = np.concatenate([np.arange(1, count + 1) for count in counts])
        return ids, document, np.repeat(self.run, counts), rank


def read_strata(text: str | None) -> Sequence[tuple[int, float]]:
    """Return the strata of a text such as `10:1,100:0.2`. Raise ValueError unless each is deeper than the last."""
    found = [_STRATUM.fullmatch(part) for part in text.split(",")] if text else []
    strata = [(int(match[1]), float(match[2])) for match in found if match]
    if len(strata) < len(found) or any(after[0] <= before[0] for before, after in pairwise(strata)):
        message = "strata are the last rank of each and the share that is judged, from 0.000001 to 1, such as"
        raise ValueError(f"{message} 10:1,100:0.2. Each is deeper than the one before")
    return strata


def make_pool(
    tops: Iterable[TopDocuments],
    teams: Sequence[int],
    form: PoolForm,
    topics: Sequence[str] | None = None,
    judged: Sequence[Mapping[str, Mapping[bytes, int]]] = (),
) -> Pool:
    """Make a pool of the first documents of runs, `teams` numbers their teams from 0.

    `topics` are the only ones, in any order; by default those of the runs. Documents that one of the `judged` contains
    are left out before the budget is applied.
    """
    by_topic: dict[str, _FoundInTopic] = {} if topics is None else {topic: _FoundInTopic() for topic in topics}
    for run, top in enumerate(tops):
        ends = np.cumsum(top.counts).tolist()
        for topic, count, end in zip(top.topics, top.counts, ends, strict=True):
            if count and (topics is None or topic in by_topic):
                of_topic = by_topic.setdefault(topic, _FoundInTopic())
                of_topic.run.append(run)
                of_topic.documents.append(top.documents[end - count : end])
    makers = [_TopicMaker(name, by_topic[name], teams, form, judged) for name in sorted(by_topic, key=str.encode)]
    sizes = np.array([len(maker.order) for maker in makers], np.int64)
    budget = form.budget
    if budget is not None:
        sizes = take_turns(sizes, budget) if form.is_budget_in_all else np.minimum(sizes, budget)
    count = max(teams, default=-1) + 1
    chosen = [(maker, maker.order[:size]) for maker, size in zip(makers, sizes.tolist(), strict=True)]
    contributions = np.array([maker.count_contributions(order, count) for maker, order in chosen], np.int64).reshape(
        -1, 2, count
    )
    return Pool(
        [maker.pooled(order) for maker, order in chosen],
        np.array([maker.found for maker in makers], np.int64),
        np.array([maker.left_out for maker in makers], np.int64),
        contributions[:, 0],
        contributions[:, 1],
        [PoolCost.of([maker.cost(depth, count) for maker in makers], depth, count) for depth in form.depths],
    )


class _TopicMaker:
    def __init__(
        self,
        topic: str,
        rankings: _FoundInTopic,
        teams: Sequence[int],
        form: PoolForm,
        judged: Sequence[Mapping[str, Mapping[bytes, int]]],
    ) -> None:
        self._topic = topic
        self._ids, document, run, rank = rankings.numbered() if rankings.run else ([], *(np.zeros(0, np.int64),) * 3)
        judged_ids = set[bytes]().union(*(levels.get(topic, ()) for levels in judged))
        count = len(self._ids)
        self._is_new = ~np.fromiter(map(judged_ids.__contains__, self._ids), np.bool_, count)
        self._teams = TeamRanks.of(document, np.array(teams, np.int64)[run], rank)
        within = rank <= form.depth
        # Numbers of the pool alone: documents below its depth, which are read to be counted, change no permutation.
        self._numbers, numbers = np.unique(document[within], return_inverse=True)
        self._counted = count_documents(numbers.reshape(-1), rank[within], len(self._numbers))
        self._team_counts = self._teams.within(form.depth, np.ones(count, np.bool_)).teams(count)
        # Any 32 bits of a topic's own give it a stream of its own, so that no choice of topics changes another topic.
        block = int.from_bytes(hashlib.sha256(topic.encode()).digest()[:4], "big")
        order = order_documents(self._counted, form.order, Draws(form.seed, "pool", block))
        self.order = order[self._is_new[self._numbers[order]]]
        self.found, self.left_out = len(order), len(order) - len(self.order)
        self._depth = form.depth
        self._is_stratified = bool(form.strata)
        self._stratum = 1 + np.searchsorted([depth for depth, _ in form.strata], self._counted.best_rank)
        draws, is_left = Draws(form.seed, "strata", block), np.zeros(len(self._numbers), np.bool_)
        for stratum, (_, share) in enumerate(form.strata, start=1):
            if len(members := np.flatnonzero(self._stratum == stratum)):
                # At least one of each stratum is judged: nothing could be estimated from none.
                sampled = max(1, round(share * len(members)))
                is_left[members[draws.permutations(1, 1, len(members))[0, 0, sampled:]]] = True
        self._unsampled, self.order = np.flatnonzero(is_left), self.order[~is_left[self.order]]

    def pooled(self, chosen: NDArray[np.intp]) -> PooledTopic:
        numbers = self._numbers[chosen]
        return PooledTopic(
            self._topic,
            [self._ids[number].decode() for number in numbers.tolist()],
            self._counted.runs[chosen].tolist(),
            self._team_counts[numbers].tolist(),
            self._counted.best_rank[chosen].tolist(),
            self._stratum[chosen].tolist() if self._is_stratified else [],
            {self._ids[self._numbers[at]].decode(): int(self._stratum[at]) for at in self._unsampled.tolist()},
        )

    def count_contributions(self, chosen: NDArray[np.intp], teams: int) -> tuple[Numbers, Numbers]:
        """Return what each team gives to the chosen documents, and gives alone: int64 [teams] each."""
        is_chosen = np.zeros(len(self._ids), np.bool_)
        is_chosen[self._numbers[chosen]] = True
        return self._teams.within(self._depth, is_chosen).contributed(teams)

    def cost(self, depth: int, teams: int) -> tuple[int, Numbers, Numbers]:
        """Return the number of documents to judge at a depth, and what each team gives: int64 [teams] each."""
        within = self._teams.within(depth, self._is_new)
        return int(np.count_nonzero(within.teams(len(self._ids)))), *within.contributed(teams)


class TopicOfPool(Protocol):
    """The pool of a topic, made here or read from the result of a job."""

    @property
    def topic(self) -> str: ...
    @property
    def documents(self) -> Sequence[str]: ...
    @property
    def runs(self) -> Sequence[int]: ...
    @property
    def teams(self) -> Sequence[int]: ...
    @property
    def best_ranks(self) -> Sequence[int]: ...
    @property
    def strata(self) -> Sequence[int]: ...
    @property
    def unsampled(self) -> Mapping[str, int]: ...


def pool_sha256(pool: Iterable[TopicOfPool]) -> str:
    """Return the SHA-256 of a pool: that of its file in TREC's format."""
    digest = hashlib.sha256()
    for piece in pool_pieces(pool, "trec"):
        digest.update(piece.encode())
    return digest.hexdigest()


def pool_pieces(pool: Iterable[TopicOfPool], form: PoolFormat, *, details: bool = False) -> Iterator[str]:
    """Yield the file of a pool in pieces: topics in byte order, documents in the order of judging.

    `trec` has the columns topic and document, `ntcir` also the place in the order, from 1. `csv` and `json` can have
    `details`: how many runs and teams have each document, and its best rank. An assessor should not see them.
    `strata` has qrels of five columns: level -1 for documents that were not sampled, and ? in place of other levels.
    """
    if form == "json":
        topics = [
            {"topic": topic.topic, "documents": list(topic.documents)}
            | (
                {"runs": list(topic.runs), "teams": list(topic.teams), "best_ranks": list(topic.best_ranks)}
                if details
                else {}
            )
            for topic in pool
        ]
        yield json.dumps({"topics": topics}, ensure_ascii=False, indent=1) + "\n"
        return
    if form == "csv":
        yield csv_line(["topic", "document", "place", *(DETAILS if details else ())])
    for topic in pool:
        if form == "trec":
            yield "".join(f"{topic.topic} {document}\n" for document in topic.documents)
        elif form == "strata":
            of_each = zip(topic.documents, topic.strata, strict=True)
            yield "".join(f"{topic.topic} 0 {document} {stratum} ?\n" for document, stratum in of_each)
            yield "".join(f"{topic.topic} 0 {document} {stratum} -1\n" for document, stratum in topic.unsampled.items())
        elif form == "ntcir":
            yield "".join(f"{topic.topic} {document} {at}\n" for at, document in enumerate(topic.documents, start=1))
        else:
            yield "".join(csv_line(row) for row in pool_rows(topic, details=details))


DETAILS = ("runs", "teams", "best rank")


def pool_rows(topic: TopicOfPool, *, details: bool) -> Iterator[list[str | int]]:
    """Yield topic, document and place of each document, and with `details` its runs, teams and best rank."""
    counts = zip(topic.runs, topic.teams, topic.best_ranks, strict=True)
    for position, (document, details_of_document) in enumerate(zip(topic.documents, counts, strict=True), start=1):
        yield [topic.topic, document, position, *(details_of_document if details else ())]
