"""Scores of stored runs: judged rankings in, one score a run, metric and topic out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.binding import DEFAULT_METRICS, bind_all, undefined
from gainboard.evaluation.disclosure import Disclosure, charge, limit, presets
from gainboard.evaluation.judged_runs import judged_slices
from gainboard.evaluation.principals import Sender
from gainboard.evaluation.versions import JudgedVersion, judged_topics, opened, require
from gainboard.evaluation.visibility import View
from gainboard.evaluation.workspace import Cache, Workspace
from gainboard.metrics import BoundMetric, Scale, expand, mean_all, score_all
from gainboard.statistics import mean_intervals
from gainboard.store import runs
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels, Run

Floats = NDArray[np.float64]
MOST_METRICS = 200
"""Expressions in one request."""
MOST_SCORES = 20_000_000
"""Metrics x runs x topics in one request, in memory at once: 160 MB, or 43 metrics of 66 runs on 6,980 topics."""


@dataclass(frozen=True)
class ScoredRuns:
    """Runs under some metrics: `scores` float64 [metrics, runs, topics], NaN where a metric is undefined, their
    `means` float64 [metrics, runs], and how many topics each run lacks, int64 [runs]."""

    scores: Floats
    means: Floats
    topics_missing: NDArray[np.int64]

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """The lower and upper ends of the intervals of the means, float64 [metrics, runs] both."""
        return mean_intervals(self.scores)


MOST_SCORED_BYTES = 32 << 20
SCORED_RUNS: Cache[tuple[int, bytes], ScoredRuns] = Cache(
    MOST_SCORED_BYTES, lambda scored: scored.scores.nbytes + (1 << 10)
)
"""By the id of the qrels version, and the runs and metrics asked for (`_key`): 43 metrics of 45 runs on 50 topics some
40 times."""
STORED_RUNS: Cache[tuple[int, int], Sequence[Run]] = Cache(50_000, lambda runs: len(runs) + 1)
"""All runs of a collection, by its id and its revision: some kilobytes a run, warnings included."""


@dataclass(frozen=True)
class Question:
    """What is asked: expressions (the collection's, if none), runs (all, if None), defaults for parameters."""

    metrics: Sequence[str] = ()
    runs: Sequence[str] | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    qrels: int | None = None
    also: Sequence[str] = ()
    """Further expressions, each of one metric, after those asked for or standing in for them."""
    per_topic: bool = False
    """Whether scores of single topics are wanted, beside their means."""
    most: int = MOST_SCORES
    """Scores in the answer; more are refused before any is counted."""
    one_run: bool = False
    """Whether the answer has a form for one run only."""
    as_many_as_may: bool = False
    """Whether runs for which the team's budget is too small are left out, rather than all refused."""


@dataclass(frozen=True)
class ScoreTable:
    """The answer, as precise as it may be shown in `means` and `by_topic`."""

    collection: Collection
    qrels: Qrels
    metrics: Sequence[BoundMetric]
    asked: Mapping[str, str]
    runs: Sequence[Run]
    topics: Sequence[str]
    topics_missing: Sequence[int | None]
    undefined: NDArray[np.bool_]
    """[metrics, topics]: where no run has a score, for the topic has nothing to find."""
    scored: ScoredRuns
    """The numbers, as precise as they are."""
    disclosure: Disclosure | None = None
    """How much of it is shown, where the judgments are hidden."""

    @property
    def shown_version(self) -> int | None:
        """The number of the qrels version; None while the judgments are hidden from whoever asks."""
        return self.qrels.version if self.disclosure is None else None

    def labels(self) -> list[str]:
        """The metrics, each with all its parameters."""
        return [metric.label for metric in self.metrics]

    def topics_undefined(self) -> dict[str, list[str]] | None:
        """By label: the topics left out of the mean; None where the judgments, of which this is one, are hidden."""
        if self.disclosure is not None:
            return None
        rows = zip(self.labels(), self.undefined, strict=True)
        return {label: [self.topics[topic] for topic in row.nonzero()[0]] for label, row in rows}

    def topics_scored(self) -> dict[str, int] | None:
        """By label: how many topics the mean is taken over; None where the judgments are hidden."""
        if self.disclosure is not None:
            return None
        return dict(zip(self.labels(), np.count_nonzero(~self.undefined, axis=1).tolist(), strict=True))

    @property
    def withheld(self) -> Mapping[str, str]:
        """By name of a run: why it has no score while the judgments are hidden."""
        return self.disclosure.withheld if self.disclosure else {}

    def means(self) -> NDArray[np.float64]:
        """[metrics, runs]: over the defined topics, NaN where there are none; as precise as they may be shown."""
        return self.disclosure.shown(self.scored.means) if self.disclosure else self.scored.means

    def by_topic(self) -> NDArray[np.float64]:
        """[metrics, runs, topics]: NaN where a topic has no defined score; as precise as they may be shown."""
        return self.disclosure.shown(self.scored.scores) if self.disclosure else self.scored.scores


def score(workspace: Workspace, sender: Sender, name: str, question: Question) -> ScoreTable:
    """Scores runs of a collection; raises what the sender may not see, and BadInput on what is asked."""
    with opened(workspace, sender, name, question.qrels) as (tx, view, found):
        view.require_scores()
        bound, asked = bind(view.collection, question, presets(view))
        version = require(view, found, question.qrels)
        chosen, disclosure = limit(tx, view, bound, choose(workspace, tx, view, question.runs), question.per_topic)
        topics = judged_topics(workspace, tx, version)
        refuse_more_than(question.most, len(bound), len(chosen), len(topics.topics))
        if question.one_run:
            _require_one(chosen, disclosure)
    if disclosure is not None:
        all_or_none = not question.as_many_as_may
        chosen, unpaid = charge(workspace, view, bound, version, chosen, all_or_none)
        disclosure = replace(disclosure, withheld={**disclosure.withheld, **unpaid})
    judged = JudgedVersion(version, topics)
    scored = score_stored(workspace, view.collection, judged, chosen, bound)
    # Where one run has no score, no run has: the topic has nothing to find.
    nowhere = np.isnan(scored.scores[:, 0]) if chosen else undefined(bound, topics)
    return ScoreTable(
        collection=view.collection,
        qrels=version,
        metrics=bound,
        asked=asked,
        runs=chosen,
        topics=topics.topics,
        topics_missing=[disclosure.topics_missing[run.id] for run in chosen]
        if disclosure
        else scored.topics_missing.tolist(),
        undefined=nowhere,
        scored=scored,
        disclosure=disclosure,
    )


def score_stored(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
) -> ScoredRuns:
    """Return the scores of the runs, from memory where the same were asked for lately.

    Neither a run, nor a qrels version, nor what a label means for them ever changes.
    """
    kept, key = SCORED_RUNS.of(workspace), (version.qrels.id, _key(chosen, bound))
    if (found := kept.find(key)) is None:
        found = _score(workspace, collection, version, chosen, bound)
        if found.scores.nbytes <= MOST_SCORED_BYTES:
            kept.keep(key, found)
    return found


def _key(chosen: Sequence[Run], bound: Sequence[BoundMetric]) -> bytes:
    """Return the runs and metrics as keys have them: of one length, for labels are the client's choice."""
    ids = np.array([run.id for run in chosen], np.int64)
    return sha256(ids.tobytes() + "\n".join(metric.label for metric in bound).encode()).digest()


def _score(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
) -> ScoredRuns:
    exact = any(metric.needs_retrieval_scores for metric in bound)
    scores = np.empty((len(bound), len(chosen), len(version.topics.topics)))
    missing = np.empty(len(chosen), np.int64)
    for part in judged_slices(workspace, collection, version, chosen, exact):
        scores[:, part.positions] = score_all(bound, part.runs, part.places)
        missing[part.positions] = part.runs.missing[part.places].sum(axis=1)
    return ScoredRuns(scores, mean_all(bound, scores), missing)


def _require_one(chosen: Sequence[Run], disclosure: Disclosure | None) -> None:
    if len(chosen) != 1:
        withheld = "".join(f" {name}: {why}" for name, why in (disclosure.withheld if disclosure else {}).items())
        message = f"trec_eval's text is of exactly one run; this would be {len(chosen)}: `run=NAME`.{withheld}"
        raise InvalidRequest.at("query.run", "one-run", message)


def refuse_more_than(most: int, metrics: int, runs: int, topics: int) -> None:
    """Raises InvalidRequest where so many scores would be more than `most`."""
    if (asked := metrics * runs * topics) > most:
        raise InvalidRequest.at(
            "query",
            "too-many",
            f"{metrics} metrics x {runs} runs x {topics} topics are {asked:,} scores; at most {most:,} in one request. "
            "Ask for fewer metrics, or for some runs: `run=NAME`.",
        )


def bind(
    collection: Collection, question: Question, presets: Sequence[str] = ()
) -> tuple[list[BoundMetric], dict[str, str]]:
    """The distinct metrics asked for, in the order asked for, and the label that each expression became.

    Where none are named: the presets, if there are any, or the collection's, or the usual ones.
    """
    named = question.metrics or presets or collection.metrics or DEFAULT_METRICS
    expressions = [*expand(named, collection.highest_level), *question.also]
    if len(expressions) > MOST_METRICS:
        raise InvalidRequest.at(
            "query.metric", "too-many", f"{len(expressions)} metrics in one request; at most {MOST_METRICS}."
        )
    scale = Scale(collection.highest_level, collection.depth)
    return bind_all(expressions, scale, question.defaults, collection.gains)


def choose(workspace: Workspace, tx: Transaction, view: View, names: Sequence[str] | None) -> list[Run]:
    """The runs of these names, or all that are seen; raises NotFound where there is none of a name."""
    here = view.collection
    of_all = STORED_RUNS.of(workspace).get((here.id, here.revision), lambda: runs.page(tx, here.id))
    stored = [run for run in of_all if view.sees_run(run)]
    if names is None:
        return stored
    by_name = {run.name: run for run in stored}
    if absent := [name for name in names if name not in by_name]:
        raise NotFound(f"There is no run {absent[0]!r} in {view.collection.name!r} here.")
    return [by_name[name] for name in dict.fromkeys(names)]
