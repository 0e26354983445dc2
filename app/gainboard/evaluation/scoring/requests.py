"""Requests for scores: who may ask what, and the answer, rounded as the policy of hidden judgments requires.

A sweep is a request for the mean scores over a whole grid of parameters, in one pass over the judged rankings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.evaluation.access.disclosure import Disclosure, charge, limit, list_presets
from gainboard.evaluation.access.principals import Principal, Sender, identify, is_use_noted
from gainboard.evaluation.access.visibility import View, look, open_collection
from gainboard.evaluation.collection_settings import Policy
from gainboard.evaluation.judgments.topic_groups import ChosenTopics, topics_of
from gainboard.evaluation.judgments.versions import JudgedVersion, open_for_reading, require, require_newest, select
from gainboard.evaluation.runs.join import JudgedTopics
from gainboard.evaluation.scoring.binding import (
    DEFAULT_METRICS,
    NO_CUSTOM,
    CustomMetric,
    CustomMetrics,
    bind_all,
    custom_metrics,
    customs_of,
    in_our_names,
    in_ours,
    is_custom,
    names_custom,
    refuse_custom,
    scale_of,
    undefined,
)
from gainboard.evaluation.scoring.scorer import READING_SECONDS, SCORE_SECONDS, judged_runs, kept_scores, mean_scores
from gainboard.evaluation.scoring.scores import Indices, ScoreArrays, ScoreTable, score_beside
from gainboard.evaluation.scoring.selection import systems_of, visible_runs
from gainboard.evaluation.workspace import Workspace, spend
from gainboard.metrics import BoundMetric, Names, expand, resolve
from gainboard.notation.queries import MOST_METRICS, MOST_POINTS
from gainboard.store.database import may_take_long
from gainboard.store.records import NEWEST, Collection, Qrels, Run, VersionName
from gainboard.store.snapshots import Standing
from gainboard.vocabulary import OFFICIAL, LateShown, Resample

MOST_QUICK = 2_500
"""The largest number of scores, or of means, in an answer that is made in the event loop: 43 metrics of 58 runs."""
MOST_QUICK_METRICS = 50
"""The largest number of metrics in such an answer: to put many together takes tens of milliseconds, the first time."""
MOST_SCORES = 20_000_000
"""The largest number of scores in one request: metrics x runs x topics.

All are in memory at once: 160 MB, for example 43 metrics of 66 runs on 6,980 topics.
"""
BESIDE_SECONDS = 3e-7
"""The approximate time for a document and a metric, if all documents of a run are scored as judged ones."""


@dataclass(frozen=True)
class Question:
    """A request for scores.

    `metrics` are expressions; if empty, those of the collection are used. `runs` are names; None means all runs.
    `defaults` are values for parameters of metrics, and `qrels` names the version.
    """

    metrics: Sequence[str] = ()
    runs: Sequence[str] | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    qrels: VersionName = NEWEST
    topics: str | None = None
    """The name of a topic group, for principals who may see scores under any parameters; None means all topics."""
    also: Sequence[str] = ()
    """More expressions, each of one metric, which are added to `metrics` or to the metrics used in their place."""
    per_topic: bool = False
    """True if the scores of single topics are requested as well as the means."""
    most: int = MOST_SCORES
    """The largest number of scores in the answer. Larger requests are refused before anything is computed."""
    one_run: bool = False
    """True if the format of the answer allows only one run."""
    admit: Callable[[View], object] = View.require_scores
    """A function that raises an error for a sender who may not ask this, once the collection is known."""
    as_many_as_may: bool = False
    """True to leave out the runs that exceed the team's budget. If false, the whole request is refused."""
    late: LateShown = "include"
    by_system: Resample | None = None
    """The clusters that intervals of systems draw, whose scores are means of replicates; None if each is a run."""
    names: Names = "gainboard"
    """The tool whose names `metrics` and `also` use."""
    bounds: bool = False
    """True to add the means if unjudged documents were relevant, and `cwl` the numbers of users: see `score_beside`."""
    cwl: bool = False
    repeats: Sequence[str] = ()  # more judgment sets of the same judge: scores of systems under each are replicates

    @property
    def names_metrics(self) -> bool:
        return bool(self.metrics or self.also or self.defaults)

    def require_rights(self, view: View) -> None:
        """Raise Refused for who may not ask this, before anything is said of metrics, versions or groups."""
        view.require_scores()
        if self.bounds or self.cwl:
            view.require_judgments()  # both tell more of them than scores do
        if self.topics is not None or self.repeats:
            view.require_free_scores()
        self.admit(view)

    def require_one_run(self, chosen: Sequence[Run], disclosure: Disclosure | None) -> None:
        """Raise InvalidRequest if the format allows one run, and not one is selected."""
        if self.one_run and len(chosen) != 1:
            withheld = "".join(f" {run}: {why}" for run, why in (disclosure.withheld if disclosure else {}).items())
            message = (
                f"The format of trec_eval is for exactly one run, but the request selects {len(chosen)}. "
                f"Name one run: `run=NAME`.{withheld}"
            )
            raise InvalidRequest.at("query.run", "one-run", message)


@dataclass(frozen=True)
class StoredScores(ScoreTable):
    """The answer to a request for scores of stored runs. Hidden scores are rounded as the policy requires."""

    collection: Collection
    qrels: Qrels
    runs: Sequence[Run]
    judged: JudgedTopics
    """The topics of the version, or those of the group."""
    disclosure: Disclosure | None = None
    """The limits on what is shown if the judgments are hidden, else None."""
    chosen: ChosenTopics | None = None
    """The topic group that the scores are about; None if they are about all topics."""
    custom: CustomMetrics = NO_CUSTOM
    """The score matrices that the request may name."""
    members: Sequence[Run] = ()
    """The runs, each replicate by itself: those of the rows of `arrays`, where `runs` are systems."""
    repeats: Sequence[Qrels] = ()  # the versions of the other judgment sets in the means
    beside: Sequence[Mapping[str, Mapping[str, float]]] = ()
    """The answer of `score_beside` for each run, if the request asks for anything of it."""

    @cached_property
    def runs_of(self) -> list[list[Run]]:
        """The runs of each system: one, or its replicates."""
        groups = range(len(self.runs)) if self.arrays.groups is None else self.arrays.groups.tolist()
        runs: list[list[Run]] = [[] for _ in self.runs]
        for system, run in zip(groups, self.members, strict=True):
            runs[system].append(run)
        return runs

    def replicates_of(self, system: int, metric: int) -> list[dict[str, Any]]:
        """Return what is said of the replicates of a system: none if its run is the only one, and is named like it.

        Topics are missing if others of its replicates have a score on them, under the metric with this number.
        """
        arrays = self.arrays
        if arrays.groups is None or arrays.row_means is None:
            return []
        rows, told = np.flatnonzero(arrays.groups == system).tolist(), []
        if [self.members[row].name for row in rows] == [self.names[system]]:
            return []
        for row in rows:
            run, means, lacking = self.members[row], arrays.row_means[:, row].tolist(), None
            if arrays.rows is not None:
                is_missing = np.isnan(arrays.rows[metric, row]) & ~np.isnan(self.by_topic[metric, system])
                lacking = int(np.count_nonzero(is_missing))
            shown = {label: None if mean != mean else mean for label, mean in zip(self.labels, means, strict=True)}
            told.append({"name": run.name, "replicate": run.replicate, "mean": shown, "topics_missing": lacking})
        return told

    def described_replicates(self) -> dict[str, Any]:
        """Return what an answer says of replicates as a whole: nothing if every run is a system of its own."""
        if self.arrays.groups is None:
            return {}
        repeats = {version.judgments: version.version for version in self.repeats}
        return {"repeats": repeats, "resample": "topics" if self.arrays.noise is None else "topics+replicates"}

    def with_numbers_beside(self, workspace: Workspace, question: Question) -> StoredScores:
        """Return the table with what is asked for beside scores. Uploaded ones, runs without a ranking and means of
        replicates have nothing.
        """
        rows = [row for row, metric in enumerate(self.metrics) if not isinstance(metric, CustomMetric)]
        metrics = [self.metrics[row] for row in rows]
        alone = [at for at, runs in enumerate(self.runs_of) if rows and len(runs) == 1 and runs[0].has_ranking]
        ranked = [self.runs[at] for at in alone]
        may_take_long()
        seconds = BESIDE_SECONDS * sum(run.retrieved for run in ranked) * question.bounds
        spend(len(rows) * (seconds + READING_SECONDS * len(ranked) * len(self.topics) * question.cwl))
        exact = any(metric.needs_retrieval_scores for metric in metrics)
        judged = judged_runs(workspace, self.collection, JudgedVersion(self.qrels, self.judged), ranked, exact)
        beside: list[Mapping[str, Mapping[str, float]]] = [{} for _ in self.runs]
        asked, judgments = {"bounds": question.bounds, "cwl": question.cwl}, self.judged.judgments
        for at, run in zip(alone, judged, strict=True):
            beside[at] = score_beside(metrics, run, judgments, self.by_topic[rows, at], **asked)
        return replace(self, beside=beside)

    @property
    def is_rationed(self) -> bool:
        return self.disclosure is not None

    @property
    def topics_missing(self) -> Sequence[int | None]:
        """The number of topics that each run lacks: of the declared ones if the judgments are hidden."""
        if self.disclosure is None:
            return list(self.arrays.topics_missing.tolist())
        lacked = self.disclosure.topics_missing
        sets = [[lacked[run.id] or set() for run in runs] for runs in self.runs_of]
        return [len(set.intersection(*of)) if self.collection.topics else None for of in sets]

    @property
    def versions(self) -> dict[str, int]:
        """The versions of all judgments in the means, by judgment set."""
        return {version.judgments: version.version for version in (self.qrels, *self.repeats)}

    @property
    def shown_version(self) -> int | None:
        """The number of the qrels version; None while it is hidden from whoever asks, and in a collection of scores."""
        return None if self.is_rationed or self.collection.has_scores_alone else self.qrels.version

    @property
    def decimals(self) -> int | None:
        """The decimal places that the policy shows; None for all."""
        return self.disclosure.decimals if self.disclosure else None

    @property
    def withheld(self) -> Mapping[str, str]:
        """The runs without scores because the judgments are hidden: the reason, by name of the run."""
        return self.disclosure.withheld if self.disclosure else {}


def score(workspace: Workspace, sender: Sender, name: str, question: Question) -> StoredScores:
    """Score runs of a collection.

    Raises Refused if the sender may not see the scores, and BadInput if the request is invalid.
    """
    with open_for_reading(workspace, sender, name, question.qrels) as (tx, view, stored):
        question.require_rights(view)
        # Official metrics of answers are left out for whoever may not see the judgments, and are no error.
        official = official_metrics(view.collection) if view.sees_judgments else ()
        custom = custom_metrics(tx, view, [*question.metrics, *question.also, *official])
        bound, label_by_expression = bind(view.collection, question, list_presets(view), custom)
        if question.qrels != NEWEST:
            require_newest(tx, view, stored)
        qrels = require(view, stored, question.qrels)
        chosen = visible_runs(workspace, tx, view, question.runs, question.late)
        chosen, disclosure = limit(tx, view, bound, chosen, question.per_topic)
        group, topics = topics_of(workspace, tx, view, qrels, question.topics)
        sets = [select(tx, view, VersionName(other)) for other in sorted(set(question.repeats) - {qrels.judgments})]
        repeats = [JudgedVersion(each, topics_of(workspace, tx, view, each, question.topics)[1]) for each in sets]
        refuse_more_than(question.most, len(bound), len(chosen) * (1 + len(repeats)), len(topics.topics))
        question.require_one_run(chosen, disclosure)
    # A charge writes, which may wait for other writers, and a reading transaction cannot write.
    if disclosure or len(bound) * len(chosen) * (len(topics.topics) if question.per_topic else 1) > MOST_QUICK:
        may_take_long()
    if disclosure is not None:
        chosen, unpaid = charge(workspace, view, bound, qrels, chosen, not question.as_many_as_may)
        disclosure = replace(disclosure, withheld={**disclosure.withheld, **unpaid})
    versions, is_chosen = [JudgedVersion(qrels, topics), *repeats], question.names_metrics
    under = [kept_scores(workspace, view.collection, each, chosen, bound, is_chosen=is_chosen) for each in versions]
    systems, groups = systems_of(chosen) if question.by_system else (chosen, None)
    arrays = under[0]
    if repeats:
        arrays, groups, chosen = _repeat(versions, under, chosen, groups)
    arrays = arrays.collapsed(bound, groups, redraws=question.by_system == "topics+replicates")
    if disclosure is not None:
        # From here on, nothing of the answer has more decimals than may be shown.
        arrays = arrays.rounded(disclosure.shown)
    table = StoredScores(
        metrics=bound,
        label_by_expression=label_by_expression,
        names=[run.name for run in systems],
        topics=topics.topics,
        arrays=arrays,
        collection=view.collection,
        qrels=qrels,
        runs=systems,
        judged=topics,
        disclosure=disclosure,
        chosen=group,
        custom=custom,
        members=chosen,
        repeats=[each.qrels for each in repeats],
    )
    is_asked = (question.bounds or question.cwl) and not repeats
    return table.with_numbers_beside(workspace, question) if is_asked else table


def _repeat(
    versions: Sequence[JudgedVersion], under: Sequence[ScoreArrays], chosen: Sequence[Run], groups: Indices | None
) -> tuple[ScoreArrays, Indices, list[Run]]:
    """Return the scores of runs under several judgment sets as those of replicates, with the system and run of each."""
    sets = [(version.topics.topics, arrays) for version, arrays in zip(versions, under, strict=True)]
    systems = np.tile(np.arange(len(chosen)) if groups is None else groups, len(versions))
    names = [version.qrels.judgments for version in versions]
    rows = [replace(run, replicate=" ".join(filter(None, (run.replicate, of)))) for of in names for run in chosen]
    return under[0].repeated(sets[0][0], sets[1:]), systems, rows


def refuse_more_than(most: int, metrics: int, runs: int, topics: int) -> None:
    """Raise InvalidRequest if the number of scores is larger than `most`."""
    if (count := metrics * runs * topics) > most:
        raise InvalidRequest.at(
            "query",
            "too-many",
            f"{metrics} metrics x {runs} runs x {topics} topics are {count:,} scores; at most {most:,} in one request. "
            "Ask for fewer metrics, or for some runs: `run=NAME`.",
        )


def official_metrics(collection: Collection) -> Sequence[str]:
    """Return the metrics that organisers have chosen, the official one first: those of the collection, else of the
    policy. None are chosen if there are none.
    """
    return collection.metrics or Policy.of(collection).presets


def bind(
    collection: Collection, question: Question, presets: Sequence[str] = (), custom: CustomMetrics = NO_CUSTOM
) -> tuple[list[BoundMetric], dict[str, str]]:
    """Return the distinct metrics of the request, in its order, and the label of each expression.

    If the request names no metrics, the first of these that exist are used: the presets, the metrics of the collection,
    the presets of its policy, the default metrics. So the first metric, the official one, stays the same at release.
    """
    if custom.are_all:
        named = question.metrics or custom.defaults(official_metrics(collection))
        expressions = {expression: expression for expression in (*named, *question.also)}
    else:
        named = question.metrics or presets or custom.available(official_metrics(collection)) or DEFAULT_METRICS
        names = question.names if question.metrics else "gainboard"
        expressions = in_our_names(named, names, collection.highest_level)
        expressions |= {expression: in_ours(expression, question.names) for expression in question.also}
    if len(expressions) > MOST_QUICK_METRICS:
        may_take_long()
    if len(expressions) > MOST_METRICS:
        count = f"{len(expressions)} metrics in one request; at most {MOST_METRICS} are allowed"
        raise InvalidRequest.at("query.metric", "too-many", f"{count}. Send several requests.")
    return bind_all(expressions, scale_of(collection), question.defaults, collection.gains, custom)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an answer with scores: its bytes depend only on this and on the request."""

    collection: Collection


def origin_of(scores: StoredScores) -> Origin | None:
    """Return the origin of an answer that is the same for everyone who sees every score; None for other answers.

    While judgments are hidden, scores count against a budget, so each one must pass the code that counts. Only
    organisers see drafts, and discarding a draft does not change the revision. Not everyone sees other judgment sets,
    and uploaded scores ask for more than to see every score: so do official metrics of answers.
    """
    if scores.disclosure is not None or scores.qrels.published_at is None:
        return None
    official = list(official_metrics(scores.collection))
    if scores.qrels.judgments != OFFICIAL or customs_of(scores.metrics) or names_custom(official):
        return None
    if scores.beside or scores.repeats:
        return None  # not everyone who sees scores sees what is beside them
    return Origin(scores.collection)


def is_current(workspace: Workspace, origin: Origin, sender: Sender, now: Standing | None) -> bool:
    """Return whether this sender may have the answer, and nothing that it was made of has changed by `now`.

    Also return False if only the normal way can decide, or must do something else: note that a token was used.
    """
    collection = origin.collection
    if now is None or (now.collection_id, now.revision) != (collection.id, collection.revision):
        return False
    principal = identify(workspace, sender, now.token)
    # Only the normal way notes the use of a token, so it must be taken from time to time.
    if principal.token is not None and not is_use_noted(workspace, principal.token):
        return False
    view = look(principal, collection, workspace.now())
    return view is not None and view.sees_free_scores


MOST_SWEPT = 200_000_000
"""The most points x runs x topics behind the means: some seconds of work."""


@dataclass(frozen=True)
class Grid:
    """The grid: metrics, and the values of parameters by name. All values are combined."""

    metrics: Sequence[str]
    values: Mapping[str, Sequence[str]]
    runs: Sequence[str] | None = None
    qrels: VersionName = NEWEST
    late: LateShown = "include"
    topics: str | None = None
    """The name of a topic group; None means all topics."""


@dataclass(frozen=True)
class Point:
    """A metric of the grid: the expression that gave it, and its values from the grid, as its label writes them."""

    asked: str
    metric: BoundMetric
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class SweptScores:
    """The answer: `means` is float64 [points, runs], NaN if a run has none."""

    collection: Collection
    qrels: Qrels
    points: Sequence[Point]
    runs: Sequence[Run]
    topics_scored: Sequence[int]
    """The number of topics in the means of each point."""
    means: NDArray[np.float64]
    chosen: ChosenTopics | None = None
    """The topic group that the means are about; None if they are about all topics."""


def sweep(workspace: Workspace, principal: Principal, name: str, grid: Grid) -> SweptScores:
    """Score runs at every point of the grid, for principals who may see scores under any parameters."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_free_scores()
        view.require_judged("a sweep varies parameters of metrics that are computed from them")
        refuse_custom(list(grid.metrics), "query.metric", "A sweep varies parameters, and uploaded scores have none.")
        points = _points(view.collection, grid)
        version = select(tx, view, grid.qrels)
        chosen = visible_runs(workspace, tx, view, grid.runs, grid.late)
        group, topics = topics_of(workspace, tx, view, version, grid.topics)
    metrics = [point.metric for point in points]
    count = len(metrics) * len(chosen) * len(topics.topics)
    if count > MOST_SWEPT:
        message = (
            f"These are means of {count:,} scores (points x runs x topics), but one sweep may have at most "
            f"{MOST_SWEPT:,}. Give fewer values, or select runs: `run=NAME`."
        )
        raise InvalidRequest.at("query", "too-many", message)
    # After the transaction, because `spend` may wait for a turn, and a transaction that is open holds a connection.
    spend(count * SCORE_SECONDS)
    means = mean_scores(workspace, view.collection, JudgedVersion(version, topics), chosen, metrics)
    scored = len(topics.topics) - undefined(metrics, topics).sum(axis=1)
    return SweptScores(view.collection, version, points, chosen, scored.tolist(), means, group)


def _points(collection: Collection, grid: Grid) -> list[Point]:
    """Return the distinct metrics in the order of the request, then of the values, the last parameter fastest."""
    official = [expression for expression in collection.metrics or () if not is_custom(expression)]
    expressions = expand(grid.metrics or official or DEFAULT_METRICS, collection.highest_level)
    if (count := len(expressions) * prod(map(len, grid.values.values()))) > MOST_POINTS:
        message = (
            f"{len(expressions)} metrics under all combinations are {count:,} points, but one sweep may have at most "
            f"{MOST_POINTS:,}. Give fewer metrics or values."
        )
        raise InvalidRequest.at("query", "too-many", message)
    scale, defaults = scale_of(collection), {"gains": collection.gains}
    points: dict[str, Point] = {}
    for expression in expressions:
        for combination in product(*grid.values.values()):
            values = dict(zip(grid.values, combination, strict=True))
            metric = resolve(expression, scale, defaults={**defaults, **values})
            of_grid = [parameter for parameter in metric.metric.parameters if parameter.name in values]
            written = {parameter.name: parameter.write(metric.parameters[parameter.name]) for parameter in of_grid}
            points.setdefault(metric.label, Point(expression, metric, written))
    return list(points.values())
