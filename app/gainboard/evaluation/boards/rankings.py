"""Rankings by rank: the curves of one run over all topics, and the levels of one topic in all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import reading_judgments
from gainboard.evaluation.judgments.versions import JudgedVersion, select
from gainboard.evaluation.scoring.binding import scale_of
from gainboard.evaluation.scoring.scorer import judged_runs
from gainboard.evaluation.scoring.selection import visible_runs
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import CurvesOfRun, JudgedRuns, judged_share, query_parameters
from gainboard.store.records import NEWEST, Collection, Qrels, Run, VersionName
from gainboard.vocabulary import LateShown

Floats = NDArray[np.float64]
DEPTH: Final = 100
"""The deepest rank that is shown unless the request names another."""
MOST_RANKS: Final = 2_000_000
"""The most runs x ranks in one request: about 20 MB of JSON."""


@dataclass(frozen=True)
class RunProfile:
    """The curves of a run under one gain setting. All are means over topics, NaN if no topic counts.

    - `judged_share` float64 [depth]: the share of judged documents among the first r (see the function `judged_share`).
    - `gain` and `ideal_gain` float64 [depth]: the cumulated gain at rank r, and that of the ideal ranking.
    - `precision` float64 [11]: the interpolated precision at recall 0, 0.1, ..., 1.
    """

    collection: Collection
    qrels: Qrels
    run: Run
    gains: str
    rel: int
    topics_scored: int
    """The number of topics with a document of level `rel` or a higher one, which `precision` is about."""
    judged_share: Floats
    gain: Floats
    ideal_gain: Floats
    precision: Floats


def run_profile(
    workspace: Workspace,
    principal: Principal,
    name: str,
    run: str,
    *,
    gains: str | None = None,
    rel: str = "1",
    depth: int = DEPTH,
    qrels: VersionName = NEWEST,
) -> RunProfile:
    """Return the curves of a run; by default under the collection's gains.

    Raise JudgmentsHidden unless the judgments are shown, NotFound for an unknown run, and BadGains or BadExpression for
    a bad gain setting or threshold.
    """
    with reading_judgments(workspace, principal, name) as (tx, view):
        collection = view.collection
        scale, parameters = scale_of(collection), query_parameters()
        setting = parameters["gains"].read(gains or collection.gains, scale)
        lowest = parameters["rel"].read(rel, scale)
        version = JudgedVersion.of(workspace, tx, select(tx, view, qrels))
        (chosen,) = visible_runs(workspace, tx, view, [run])
    (judged,) = judged_runs(workspace, collection, version, [chosen], exact=False)
    judgments = version.topics.judgments
    curves = CurvesOfRun(JudgedRuns.of([judged], judgments), 0, lowest)
    return RunProfile(
        collection,
        version.qrels,
        chosen,
        setting.label,
        lowest,
        int(np.count_nonzero(judgments.level_counts[:, lowest:].any(axis=1))),
        judged_share(judged, depth),
        curves.gain(setting, 2.0, depth)["CG"],
        curves.ideal_gain(setting, depth),
        curves.precision_recall(),
    )


@dataclass(frozen=True)
class TopicRanking:
    """One run's ranking of the topic. `ranks` int64 and `levels` int8 are those of its judged documents.

    `retrieved` is the number of documents in the whole ranking. Documents at other ranks are not judged.
    """

    run: Run
    retrieved: int
    ranks: NDArray[np.int64]
    levels: NDArray[np.int8]


@dataclass(frozen=True)
class TopicRankings:
    """The rankings of one topic to some depth, and its judgments.

    `counts` int64 [h+1] is the number of documents judged at level 0, 1, ..., h, and `negative` the number below 0.
    `ideal` int8 has the levels of the ideal ranking by rank: all relevant documents, the highest level first.
    """

    collection: Collection
    qrels: Qrels
    topic: str
    depth: int
    counts: NDArray[np.int64]
    negative: int
    ideal: NDArray[np.int8]
    rankings: Sequence[TopicRanking]


def topic_rankings(
    workspace: Workspace,
    principal: Principal,
    name: str,
    topic: str,
    *,
    depth: int = DEPTH,
    qrels: VersionName = NEWEST,
    late: LateShown = "include",
) -> TopicRankings:
    """Return the rankings of a topic by all visible runs, in the order of the runs.

    Raise JudgmentsHidden unless the judgments are shown, and NotFound for a topic that the qrels do not have.
    """
    with reading_judgments(workspace, principal, name) as (tx, view):
        collection = view.collection
        version = JudgedVersion.of(workspace, tx, select(tx, view, qrels))
        chosen = visible_runs(workspace, tx, view, None, late)
    if topic not in version.topics.topics:
        message = f"The qrels of {name!r}, {version.qrels.named}, have no topic {topic!r}."
        raise NotFound(message)
    if (ranks := len(chosen) * depth) > MOST_RANKS:
        message = (
            f"{len(chosen):,} runs x {depth:,} ranks are {ranks:,}; at most {MOST_RANKS:,} in one request. "
            "Ask for a smaller depth."
        )
        raise InvalidRequest.at("query.depth", "too-many", message)
    number, judgments = version.topics.topics.index(topic), version.topics.judgments
    judged = judged_runs(workspace, collection, version, chosen, exact=False)
    return TopicRankings(
        collection,
        version.qrels,
        topic,
        depth,
        judgments.level_counts[number],
        int(judgments.negative_counts[number]),
        judgments.ideal_levels(number, depth),
        [
            TopicRanking(run, int(rankings.retrieved[number]), *rankings.levels_by_rank(number, depth))
            for run, rankings in zip(chosen, judged, strict=True)
        ],
    )
