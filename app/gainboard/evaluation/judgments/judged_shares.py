"""The judged part of what runs found: its share by rank and in whole runs, and the judged documents of each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import NoQrels
from gainboard.evaluation.access.principals import Principal, Sender
from gainboard.evaluation.access.visibility import View, reading_judgments
from gainboard.evaluation.judgments.versions import JudgedVersion, index_of, select
from gainboard.evaluation.runs.join import narrow
from gainboard.evaluation.runs.stored_files import reread
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.evaluation.scoring.requests import Question, StoredScores, score
from gainboard.evaluation.scoring.scorer import judged_runs
from gainboard.evaluation.scoring.selection import visible_runs
from gainboard.evaluation.workspace import Workspace, spend
from gainboard.metrics import JudgedRun, Judgments, judged_share
from gainboard.store import runs
from gainboard.store.records import NEWEST, Qrels, Run, VersionName
from gainboard.trec import PackedJudgments, Ranking

DEPTH: Final = 100
MOST_RUNS: Final = 500
"""The most runs in one request, the first by name: each takes about a millisecond on 50 topics."""
SHARE_SECONDS: Final = 2e-5
"""The approximate time for the shares of a run on one topic."""


@dataclass(frozen=True)
class JudgedShares:
    """`shares` float64 [runs, depth]: the share of judged documents among the first r (see `judged_share`)."""

    qrels: Qrels
    runs: Sequence[Run]
    shares: NDArray[np.float64]
    run_count: int
    """The number of runs of the collection, of which the first are here."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean over the runs that have shares: float64 [depth], NaN if none has."""
        counted = np.count_nonzero(~np.isnan(self.shares), axis=0)
        # Divided by NaN where no run counts: NumPy warns of a division by 0, and of the mean of nothing.
        mean: NDArray[np.float64] = np.nansum(self.shares, axis=0) / np.where(counted, counted, np.nan)
        return mean


def judged_shares(workspace: Workspace, principal: Principal, name: str, named: VersionName = NEWEST) -> JudgedShares:
    """Return the shares of the runs: for organisers, and for all who see the judgments.

    Raise JudgmentsHidden for others, and NoQrels without judgments.
    """
    with reading_judgments(workspace, principal, name) as (tx, view):
        version = JudgedVersion.of(workspace, tx, select(tx, view, named))
        every = visible_runs(workspace, tx, view, None)
    if not every:
        raise NoQrels(f"{name!r} has no runs yet, so nothing of them is judged.")
    chosen, depth = every[:MOST_RUNS], min(DEPTH, view.collection.depth)
    spend(len(chosen) * len(version.topics.topics) * SHARE_SECONDS, is_chosen=False)
    judged = judged_runs(workspace, view.collection, version, chosen, exact=False)
    return JudgedShares(version.qrels, chosen, np.stack([judged_share(run, depth) for run in judged]), len(every))


def shares_beside(
    workspace: Workspace, sender: Sender, view: View, table: StoredScores, question: Question, cutoff: int | None
) -> dict[str, float]:
    """Return the share of judged documents of each run of a score table, by the run's name.

    It is that of the first `cutoff` documents of each topic; without one, that of whole runs. The table answers the
    question. For those who do not see the judgments, there is no share.
    """
    if not view.sees_judgments:
        return {}
    if cutoff is not None:
        # Scores are kept in memory, so that a board has them as quickly as its means.
        judged = replace(question, metrics=[f"Judged@{cutoff}"], also=(), defaults={}, qrels=table.qrels.named)
        judged = replace(judged, names="gainboard", by_system="topics")
        shares = score(workspace, sender, view.collection.name, judged)
        # The means count topics that a run lacks, on which nothing is judged because nothing is there.
        counts = len(shares.topics) - shares.arrays.topics_missing
        means = shares.means[0] * len(shares.topics) / np.where(counts, counts, np.nan)
        return {name: mean for name, mean in zip(shares.names, means.tolist(), strict=True) if mean == mean}
    with workspace.database.reading() as tx:
        # Stored with the join at upload, so that no ranking is read.
        judgings = runs.find_judgings(tx, [run.id for run in table.members], table.qrels.id)
    unjudged = {run_id: judging.unjudged_share for run_id, judging in judgings.items()}
    shares_of = [[1 - share for run in of if (share := unjudged.get(run.id)) is not None] for of in table.runs_of]
    return {name: fmean(of) for name, of in zip(table.names, shares_of, strict=True) if of}


UNJUDGED = -1
Numbers = NDArray[np.int64]


class RetrievedDocuments(NamedTuple):
    """The judged documents that a run retrieves, by topic, then rank, as in `JudgedRun`, with their numbers."""

    starts: Numbers
    rank: Numbers
    document: Numbers
    retrieved: Numbers


class NumberedDocuments:
    """The judged documents of the version of some matrices, numbered from 0: topic by topic."""

    def __init__(self, matrices: Matrices) -> None:
        self._matrices = matrices
        self._topics = matrices.topics

    @cached_property
    def levels(self) -> NDArray[np.int8]:
        """The level of each document: int8 [documents]."""
        return np.concatenate([self._judgments.packed[topic].as_levels() for topic in self._topics])

    @cached_property
    def topic(self) -> Numbers:
        """The topic of each document: int64 [documents]."""
        counts = [len(self._judgments.packed[topic].levels) for topic in self._topics]
        return np.repeat(np.arange(len(counts)), counts)

    def read(self, run: Run) -> RetrievedDocuments:
        """Read the file of a run again, in the order of the version."""
        by_topic: dict[str, tuple[Numbers, int]] = {}

        def collect(rankings: Iterable[Ranking]) -> None:
            for ranking in rankings:
                if (numbers := self._numbers.get(ranking.topic)) is not None:
                    count = len(ranking.documents)
                    judged = np.fromiter(map(numbers.get, ranking.documents, repeat(UNJUDGED)), np.int64, count)
                    by_topic[ranking.topic] = (judged, count)

        reread(self._matrices.workspace, self._matrices.collection, run, self._matrices.qrels.order, collect)
        nothing = (np.zeros(0, np.int64), 0)
        rows = [by_topic.get(topic, nothing) for topic in self._topics]
        positions = [np.flatnonzero(judged != UNJUDGED) for judged, _ in rows]
        return RetrievedDocuments(
            np.cumsum([0, *map(len, positions)]),
            np.concatenate([position + 1 for position in positions]),
            np.concatenate([judged[position] for (judged, _), position in zip(rows, positions, strict=True)]),
            np.array([count for _, count in rows]),
        )

    def without(self, run: RetrievedDocuments, removed: NDArray[np.bool_]) -> JudgedRun:
        """Return the run joined with the judgments without the removed documents: bool [documents]."""
        kept = ~removed[run.document]
        # The number of documents that are kept before each one, which is where a topic starts now.
        before = np.concatenate(([0], np.cumsum(kept)))
        level = self.levels[run.document[kept]]
        return JudgedRun(before[run.starts], narrow(run.rank[kept]), level, run.retrieved)

    def judgments_without(self, removed: NDArray[np.bool_]) -> Judgments:
        """Return the numbers of judged documents without the removed ones."""
        topics, levels = self._matrices.judgments.level_counts.shape
        topic, level = self.topic[~removed], self.levels[~removed]
        is_level = level >= 0
        counts = np.bincount(topic[is_level] * levels + level[is_level], minlength=topics * levels).reshape(
            topics, levels
        )
        return Judgments(counts, np.bincount(topic[~is_level], minlength=topics))

    @cached_property
    def _judgments(self) -> PackedJudgments:
        return index_of(self._matrices.workspace, self._matrices.collection, self._matrices.qrels).judgments

    @cached_property
    def _numbers(self) -> dict[str, dict[bytes, int]]:
        numbers, start = {}, 0
        for topic in self._topics:
            documents = self._judgments.packed[topic].documents.split(b"\n")[:-1]
            numbers[topic] = {document: start + number for number, document in enumerate(documents)}
            start += len(documents)
        return numbers
