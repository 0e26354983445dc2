"""The effect of a correction of the judgments on all scores: two qrels versions compared, and news of it for a team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import organising
from gainboard.evaluation.boards.leaderboard import Board
from gainboard.evaluation.boards.setting_effects import Significance, changed_verdicts
from gainboard.evaluation.judgments.differences import Corrections, compare_levels
from gainboard.evaluation.judgments.versions import JudgedVersion, index_of, judged_topics, select
from gainboard.evaluation.scoring.binding import refuse_custom
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.evaluation.scoring.requests import Question, bind
from gainboard.evaluation.scoring.scorer import kept_scores
from gainboard.evaluation.scoring.selection import AllRuns, NamedRuns
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.queries import MOST_IMPACT_METRICS
from gainboard.statistics.correlation import kendall_matrix
from gainboard.statistics.means import competition_ranks, pair_count
from gainboard.store import qrels, runs
from gainboard.store.records import NEWEST, Collection, Qrels, Run, VersionName

MOST_SCORES = 10_000_000
"""The most metrics x runs x topics of one version in memory: 80 MB, and as much for the other version."""
MOST_PAIRS = 100_000
"""The most metrics x pairs of runs in one request, because the answer may name each of them."""
MOST_DIFFERENCES = 60_000_000
"""The most metrics x pairs of runs x topics in one request: about a second for the test, for both versions."""


@dataclass(frozen=True)
class MetricImpact:
    """The effect under one metric: `means` and `ranks` are [2, runs], before and after."""

    label: str
    means: Floats
    ranks: NDArray[np.int64]
    tau_b: float
    """Kendall's tau between the two rankings; NaN if either ties all runs."""
    become_defined: Sequence[str]
    become_undefined: Sequence[str]
    significance: Significance | None
    """The test of the differences. It is None for fewer than two runs or topics, and for a geometric mean, about which
    the test says nothing.
    """

    @property
    def largest_rank_change(self) -> int:
        """The most ranks that a run has gained or lost."""
        return int(np.abs(self.ranks[1] - self.ranks[0]).max(initial=0))


@dataclass(frozen=True)
class Impact:
    """The comparison of a `version` with another one, `before` it."""

    collection: Collection
    version: Qrels
    before: Qrels
    labels: Mapping[str, str]
    """The label of each expression of the request."""
    alpha: float
    runs: Sequence[Run]
    judgments: Corrections
    metrics: Sequence[MetricImpact]


def impact(
    workspace: Workspace,
    principal: Principal,
    name: str,
    named: VersionName,
    question: Question,
    *,
    against: VersionName = NEWEST,
    alpha: float = 0.05,
) -> Impact:
    """Compare a version with another one, by default with the published official one; for organisers.

    Raise NotFound, NoQrels if nothing was published, and BadInput if the question is invalid or too large.
    """
    with organising(workspace, principal, name) as (tx, view):
        collection = view.collection
        versions = [select(tx, view, version_name) for version_name in (against, named)]
        judged = [judged_topics(workspace, tx, version) for version in versions]
        selection = AllRuns() if question.runs is None else NamedRuns(tuple(question.runs))
        chosen = selection.candidates(runs.page(tx, collection.id), collection.name)
    refuse_custom(list(question.metrics), "query.metric", "Other judgments do not change uploaded scores.")
    bound, labels = bind(collection, question)
    _refuse_too_much(len(bound), len(chosen), max(len(topics.topics) for topics in judged))
    before, after = (
        Matrices(workspace, collection, version, topics, chosen, AllRuns())
        for version, topics in zip(versions, judged, strict=True)
    )
    effects = [_of_metric(before, after, metric.label, alpha) for metric in bound]
    old, new = (index_of(workspace, collection, version).levels for version in versions)
    return Impact(collection, versions[1], versions[0], labels, alpha, before.runs, compare_levels(old, new), effects)


def _refuse_too_much(metrics: int, run_count: int, topics: int) -> None:
    pairs = metrics * pair_count(run_count)
    for what, count, most in (
        ("metrics", metrics, MOST_IMPACT_METRICS),
        ("scores", metrics * run_count * topics, MOST_SCORES),
        ("pairs of runs over all metrics", pairs, MOST_PAIRS),
        ("differences of scores", pairs * topics, MOST_DIFFERENCES),
    ):
        if count > most:
            message = f"{count:,} {what}; one request may have at most {most:,}. Choose fewer with `metric=` or `run=`."
            raise InvalidRequest.at("query", "too-many", message)


def _of_metric(before: Matrices, after: Matrices, label: str, alpha: float) -> MetricImpact:
    means = np.stack([before.means(label), after.means(label)])
    was, now = _defined(before, label), _defined(after, label)
    common, verdicts = [topic for topic in was if topic in now], None
    has_mean = before.metric(label).parameters["mean"] == "arithmetic"
    if before.run_count > 1 and len(common) > 1 and has_mean:
        # Only topics with a score under both versions are compared: otherwise a verdict could change because of other
        # topics.
        old, new = (
            np.ascontiguousarray(matrices.scores(label)[:, [columns[topic] for topic in common]])
            for matrices, columns in ((before, was), (after, now))
        )
        verdicts = changed_verdicts([run.name for run in before.runs], old, new, alpha)
    return MetricImpact(
        label,
        means,
        np.stack([competition_ranks(row) for row in means]),
        # A run without a mean under one of the versions has no rank there.
        float("nan") if np.isnan(means).any() else float(kendall_matrix(means)[0, 1]),
        [topic for topic in now if topic not in was],
        [topic for topic in was if topic not in now],
        verdicts,
    )


def _defined(matrices: Matrices, label: str) -> Mapping[str, int]:
    """Return the topics for which the metric has a score, each with its column."""
    return {matrices.topics[column]: int(column) for column in np.flatnonzero(matrices.defined(label))}


def shown_scores_changed_at(workspace: Workspace, board: Board) -> datetime | None:
    """Return when new judgments last changed a score of this rationed board, as it is rounded.

    None if they did not, and if scores are not rationed: then everybody sees the versions. Only scores that the team
    sees anyway are compared, and both are of runs that were there before.
    """
    scores = board.scores
    disclosure, newest = scores.disclosure, scores.qrels
    if disclosure is None or newest.published_at is None:
        return None
    rows = [row for row, run in enumerate(scores.members) if run.created_at < newest.published_at]
    with workspace.database.reading() as tx:
        versions = qrels.page(tx, scores.collection.id, drafts=False, after=None, limit=10_000)
        published = sorted((version for version in versions if version.published_at), key=attrgetter("published_at"))
        if len(published) < 2 or not rows:
            return None
        older = JudgedVersion.of(workspace, tx, published[-2])
    groups = scores.arrays.groups
    # Topics that a replicate alone lacks are no zeros, before as now. A run that came later would be read again.
    runs = [scores.members[row] for row in rows] if groups is None else scores.members
    before = kept_scores(workspace, scores.collection, older, runs, scores.metrics, is_chosen=False)
    was = before.means if groups is None else before.collapsed(scores.metrics, groups).means_of_runs[:, rows]
    now = scores.arrays.means_of_runs[:, rows]
    # Rounded before they are compared: a change that nobody can see would still tell that there was one.
    return None if np.array_equal(disclosure.shown(was), now, equal_nan=True) else newest.published_at
