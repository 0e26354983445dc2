"""Leave one team out: scores by judgments without the documents that only one team has contributed to the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import refuse, require_at_most
from gainboard.evaluation.custom_metrics import is_custom
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.evaluation.pooled_documents import NumberedDocuments, RetrievedDocuments
from gainboard.metrics import BoundMetric, JudgedRuns, mean_of, score_all
from gainboard.statistics.means import competition_ranks
from gainboard.statistics.runs import NOBODY, judged_depth, sole_owners
from gainboard.statistics.subsampling import taus_with
from gainboard.store.records import Run

MOST_OUTSIDE = 0.1
"""The largest share of judged documents in no pool of which a result does not warn."""
SECONDS_A_RUN, SECONDS_A_LINE = 0.01, 1e-6
MOST_SCORES = 200_000_000
"""The most teams x runs x topics x metrics that one job scores again: some minutes."""


@dataclass(frozen=True)
class Pools:
    """The pools of the teams: `owners` int64 [documents] are indexes of `teams`, or as `sole_owners` returns them."""

    teams: Sequence[str]
    owners: NDArray[np.int64]
    pooled: Sequence[int]


@dataclass(frozen=True)
class Comparison:
    """Means [runs] by all judgments and by those without a team's documents, on the topics that both define."""

    means: Floats
    without: Floats
    undefined: Sequence[str]


class LeaveOneTeamOut(Analysis):
    """Each team's scores and ranks under each metric, with and without the judgments that only this team brought."""

    compares_pairs = True

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        contributors: Sequence[str] | None = None,
        pool_depth: int | None = None,
    ) -> None:
        super().__init__(matrices)
        self.metrics = metrics
        self.contributors = self._contributing(contributors)
        self.teams = sorted({run.team for run in self.contributors})
        self._refuse_what_cannot_be()
        self.is_estimated = pool_depth is None
        self.pool_depth = pool_depth or self._estimate()

    def _contributing(self, named: Sequence[str] | None) -> list[Run]:
        runs = self.matrices.runs
        if named is None:
            return [run for run in runs if run.pooled]
        known = {run.name for run in runs}
        if missing := [name for name in named if name not in known]:
            collection = self.matrices.collection.name
            raise refuse("contributors", "unknown-run", f"{collection!r} has no run {missing[0]!r}. Check its name.")
        return [run for run in runs if run.name in set(named)]

    def _refuse_what_cannot_be(self) -> None:
        if len(self.teams) < 2:
            message = (
                f"The contributors are of {len(self.teams)} team. To leave one out, runs of at least 2 teams must have "
                "gone into the pool."
            )
            raise refuse("contributors", "too-few-teams", message)
        for label in self.metrics:
            if is_custom(label):
                message = f"{label} was uploaded, so its scores without a team's documents are unknown. Leave it out."
                raise refuse("metrics", "uploaded-scores", message)
            if self.matrices.metric(label).needs_retrieval_scores:
                message = (
                    f"{label} needs more than the ranks of relevant documents, which this analysis has. Leave it out."
                )
                raise refuse("metrics", "needs-retrieval-scores", message)
            if self.matrices.metric(label).needs_intents:
                message = f"{label} needs judgments by intent, but this analysis has levels. Leave it out."
                raise refuse("metrics", "needs-intents", message)
        scores = len(self.teams) * self.matrices.run_count * len(self.matrices.topics) * len(self.metrics)
        require_at_most(MOST_SCORES, scores, "scores over all teams", "metrics")

    def _estimate(self) -> int:
        """Return the largest depth to which every contributing run is judged on every topic. This reads no files."""
        names = {run.name for run in self.contributors}
        depths = {
            run.name: depth
            for run, judged in zip(self.matrices.runs, self.matrices.judged_runs(), strict=True)
            if run.name in names and (depth := judged_depth(judged.starts, judged.rank, judged.retrieved)) is not None
        }
        estimated = min(depths.values(), default=self.matrices.collection.depth)
        if estimated == 0:
            unjudged = sorted(name for name, depth in depths.items() if depth == 0)
            message = (
                f"The depth of the pool cannot be estimated: {len(unjudged)} runs, such as {unjudged[0]}, have an "
                "unjudged document at rank 1. Give `pool_depth`, or name the `contributors` to the pool."
            )
            raise refuse("pool_depth", "not-estimated", message)
        return estimated

    @cached_property
    def _documents(self) -> NumberedDocuments:
        return NumberedDocuments(self.matrices)

    def parts(self) -> list[float]:
        return [SECONDS_A_RUN + SECONDS_A_LINE * run.retrieved for run in self.matrices.runs]

    def work(self, part: int) -> Arrays:
        return self._documents.read(self.matrices.runs[part])._asdict()

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        read = [RetrievedDocuments(**arrays) for arrays in found]
        pools = self._pools(read)
        without = [self._compared(read, pools.owners == team) for team in range(len(self.teams))]
        return {
            "topics": len(self.matrices.topics),
            "pool_depth": self.pool_depth,
            "estimated": self.is_estimated,
            "contributors": [run.name for run in self.contributors],
            "judged": len(pools.owners),
            "in_no_pool": (outside := int(np.count_nonzero(pools.owners == NOBODY))),
            "in_no_pool_share": outside / len(pools.owners),
            "note": _note(outside, len(pools.owners)),
            "teams": [self._team(pools, number) for number in range(len(self.teams))],
            "metrics": [
                self._metric(label, [comparisons[row] for comparisons in without])
                for row, label in enumerate(self.metrics)
            ],
        }

    def _pools(self, read: Sequence[RetrievedDocuments]) -> Pools:
        names = {run.name: self.teams.index(run.team) for run in self.contributors}
        tops = [
            (names[run.name], each.document[each.rank <= self.pool_depth])
            for run, each in zip(self.matrices.runs, read, strict=True)
            if run.name in names
        ]
        document = np.concatenate([documents for _, documents in tops])
        team = np.concatenate([np.full(len(documents), number) for number, documents in tops])
        sizes = [len(np.unique(document[team == number])) for number in range(len(self.teams))]
        return Pools(self.teams, sole_owners(document, team, len(self._documents.levels)), sizes)

    def _team(self, pools: Pools, number: int) -> dict[str, Any]:
        levels = self._documents.levels[pools.owners == number]
        return {
            "team": self.teams[number],
            "runs": [run.name for run in self.contributors if run.team == self.teams[number]],
            "pooled": pools.pooled[number],
            "unique": len(levels),
            "unique_relevant": int(np.count_nonzero(levels > 0)),
        }

    def _compared(self, read: Sequence[RetrievedDocuments], removed: NDArray[np.bool_]) -> list[Comparison]:
        """Return for each metric the means of all runs with all judgments, and without the removed documents."""
        bound = [self.matrices.metric(label) for label in self.metrics]
        runs = [self._documents.without(each, removed) for each in read]
        scores = score_all(bound, JudgedRuns.of(runs, self._documents.judgments_without(removed)))
        compared = []
        for metric, table in zip(bound, scores, strict=True):
            whole = self.matrices.scores(metric.label)
            before, after = (~np.isnan(each[0]) for each in (whole, table))
            # A topic without a relevant document left would otherwise change means that no judgment has changed.
            both = before & after
            lost = [self.matrices.topics[topic] for topic in np.flatnonzero(before & ~after)]
            old, new = (_means(metric, np.ascontiguousarray(each[:, both])) for each in (whole, table))
            compared.append(Comparison(old, new, lost))
        return compared

    def _metric(self, label: str, by_team: Sequence[Comparison]) -> dict[str, Any]:
        teams = [self._left_out(team, found) for team, found in zip(self.teams, by_team, strict=True)]
        changes = [abs(run["change"]) for team in teams for run in team["runs"] if not np.isnan(run["change"])]
        ranks = [abs(run["rank_without"] - run["rank"]) for team in teams for run in team["runs"]]
        missing = np.flatnonzero(~self.matrices.defined(label))
        return {
            "metric": label,
            "topics_left_out": [self.matrices.topics[topic] for topic in missing],
            "teams": teams,
            "mean_change": float(np.mean(changes)) if changes else np.nan,
            "largest_change": max(changes, default=np.nan),
            "largest_rank_change": max(ranks),
        }

    def _left_out(self, team: str, found: Comparison) -> dict[str, Any]:
        ranks, ranks_without = competition_ranks(found.means), competition_ranks(found.without)
        return {
            "team": team,
            "topics_undefined": list(found.undefined),
            "tau": float(taus_with(found.means, found.without[np.newaxis])[0]),
            "runs": [
                {
                    "run": run.name,
                    "mean": float(found.means[row]),
                    "mean_without": float(found.without[row]),
                    "change": float(found.without[row] - found.means[row]),
                    "rank": int(ranks[row]),
                    "rank_without": int(ranks_without[row]),
                }
                for row, run in enumerate(self.matrices.runs)
                if run.team == team
            ],
        }


def _note(outside: int, judged: int) -> str | None:
    """Return a sentence for readers if so many judged documents are in no pool that any pool looks fair."""
    if outside <= MOST_OUTSIDE * judged:
        return None
    return (
        f"{outside:,} of {judged:,} judged documents ({outside / judged:.0%}) are in no pool. They stay judged "
        "whichever team is left out, so the changes are smaller than those of a new team: choose a deeper pool, or "
        "name all contributors."
    )


def _means(metric: BoundMetric, scores: Floats) -> Floats:
    """Return the means of the runs; NaN if no topic is left."""
    return mean_of(metric, scores) if scores.shape[1] else np.full(len(scores), np.nan)
