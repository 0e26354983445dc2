"""Scores of stored runs: judged rankings in, one score a run, metric and topic out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.binding import DEFAULT_METRICS, bind_all, undefined
from gainboard.evaluation.disclosure import Disclosure, charge, limit, presets
from gainboard.evaluation.judging import JudgedTopics, judge, unpack_run
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.rereading import reread
from gainboard.evaluation.versions import index_of, judged_topics, select
from gainboard.evaluation.visibility import View, open_collection
from gainboard.evaluation.workspace import Cache, Workspace
from gainboard.metrics import BoundMetric, JudgedRankings, JudgedRun, Scale, expand, mean_all, score_all
from gainboard.store import runs
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels, Run

MOST_METRICS = 200
"""Expressions in one request."""
MOST_SCORES = 20_000_000
"""Metrics x runs x topics in one request, in memory at once: 160 MB, or 43 metrics of 66 runs on 6,980 topics."""


@dataclass(frozen=True)
class RunScores:
    """A run's scores under some metrics: float64 [metrics, topics], NaN where undefined, and their means [metrics]."""

    scores: NDArray[np.float64]
    means: NDArray[np.float64]
    topics_missing: int


_ENTRY_BYTES = 1 << 10
"""The cost of a small thing that is kept: its key, and the objects that it is made of."""
MOST_SCORED_BYTES = 64 << 20
SCORED_RUNS: Cache[tuple[int, int, bytes], RunScores] = Cache(
    MOST_SCORED_BYTES, lambda scored: scored.scores.nbytes + _ENTRY_BYTES
)
"""By the ids of the qrels version and the run, and the metrics (`under`): 43 metrics for some 3,700 runs of TREC's
size. A new run among many leaves the others' scores as they were.
"""
JUDGED_RUNS: Cache[tuple[int, int], JudgedRun] = Cache(256 << 20, lambda run: run.nbytes)
"""Ready for scoring, by the ids of the run and the qrels version: some 10,000 runs of TREC's size."""
UNDEFINED: Cache[tuple[int, bytes], NDArray[np.bool_]] = Cache(16 << 20, lambda found: found.nbytes + _ENTRY_BYTES)
"""[metrics, topics]: where no run has a score, by the id of the qrels version and the metrics. 200 metrics on 6,980
topics eleven times, or 43 on 50 some 5,000 times.
"""
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
    scored: Sequence[RunScores]
    """The numbers of each run, as precise as they are."""
    disclosure: Disclosure | None = None
    """How much of it is shown, where the judgments are hidden."""

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
        means = np.empty((len(self.metrics), len(self.scored)))
        for column, run in enumerate(self.scored):
            means[:, column] = run.means
        return self.disclosure.shown(means) if self.disclosure else means

    def by_topic(self) -> NDArray[np.float64]:
        """[metrics, runs, topics]: NaN where a topic has no defined score; as precise as they may be shown."""
        table = np.empty((len(self.metrics), len(self.scored), len(self.topics)))
        for column, run in enumerate(self.scored):
            table[:, column] = run.scores
        return self.disclosure.shown(table) if self.disclosure else table


def score(workspace: Workspace, principal: Principal, name: str, question: Question) -> ScoreTable:
    """Scores runs of a collection; raises what the principal may not see, and BadInput on what is asked."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_scores()
        bound, asked = bind(view.collection, question, presets(view))
        version = select(tx, view, question.qrels)
        chosen, disclosure = limit(tx, view, bound, choose(workspace, tx, view, question.runs), question.per_topic)
        topics = judged_topics(workspace, tx, version)
        refuse_more_than(question.most, len(bound), len(chosen), len(topics.topics))
        if question.one_run:
            _require_one(chosen, disclosure)
    if disclosure is not None:
        all_or_none = not question.as_many_as_may
        chosen, unpaid = charge(workspace, view, bound, version, chosen, all_or_none)
        disclosure = replace(disclosure, withheld={**disclosure.withheld, **unpaid})
    labels = [metric.label for metric in bound]
    scored = _scored_runs(
        workspace, version, chosen, labels, lambda runs: _score(workspace, view, version, runs, bound, topics)
    )
    return ScoreTable(
        collection=view.collection,
        qrels=version,
        metrics=bound,
        asked=asked,
        runs=chosen,
        topics=topics.topics,
        topics_missing=[disclosure.topics_missing[run.id] for run in chosen]
        if disclosure
        else [each.topics_missing for each in scored],
        undefined=UNDEFINED.of(workspace).get((version.id, under(labels)), lambda: undefined(bound, topics)),
        scored=scored,
        disclosure=disclosure,
    )


def under(labels: Sequence[str]) -> bytes:
    """Return the metrics of these labels as keys have them: of one length, for labels are the client's choice."""
    return sha256("\n".join(labels).encode()).digest()


def _scored_runs(
    workspace: Workspace,
    version: Qrels,
    chosen: Sequence[Run],
    labels: Sequence[str],
    make: Callable[[Sequence[Run]], Iterable[RunScores]],
) -> list[RunScores]:
    """Return the scores of the runs, in their order, under the metrics of these labels; those not in memory are made.

    Neither a run, nor a qrels version, nor what a label means for them ever changes.
    """
    kept, asked = SCORED_RUNS.of(workspace), under(labels)
    found = {run.id: kept.find((version.id, run.id, asked)) for run in chosen}
    missing = [run for run in chosen if found[run.id] is None]
    for run, scored in zip(missing, make(missing) if missing else (), strict=True):
        found[run.id] = kept.keep((version.id, run.id, asked), scored)
    return [scored for scored in found.values() if scored is not None]


def _score(
    workspace: Workspace,
    view: View,
    version: Qrels,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
    topics: JudgedTopics,
) -> Iterator[RunScores]:
    exact = any(metric.needs_retrieval_scores for metric in bound)
    for run in judged_runs(workspace, view.collection, version, chosen, exact):
        scores = score_all(bound, JudgedRankings(run, topics.judgments))
        yield RunScores(scores, mean_all(bound, scores), int(np.count_nonzero(run.retrieved == 0)))


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


def judged_runs(
    workspace: Workspace, collection: Collection, version: Qrels, chosen: Sequence[Run], exact: bool
) -> list[JudgedRun]:
    """The runs joined with the version, in the order given; `exact`: with their retrieval scores."""
    with workspace.database.reading() as tx:
        found = _stored(workspace, tx, [run.id for run in chosen], version.id, exact)
    # Runs that came after an older version was replaced were not judged by it until somebody asks.
    late = {run.id: _judge_late(workspace, collection, run, version) for run in chosen if run.id not in found}
    return [late[run.id] if run.id in late else found[run.id] for run in chosen]


def _stored(
    workspace: Workspace, tx: Transaction, run_ids: Sequence[int], qrels_id: int, exact: bool
) -> dict[int, JudgedRun]:
    if exact:
        packed, scores = runs.rankings(tx, run_ids, qrels_id), runs.retrieval_scores(tx, run_ids, qrels_id)
        return {run_id: unpack_run(packed[run_id], scores[run_id]) for run_id in packed}
    kept = JUDGED_RUNS.of(workspace)
    found = {run_id: run for run_id in run_ids if (run := kept.find((run_id, qrels_id)))}
    missing = [run_id for run_id in run_ids if run_id not in found]
    for run_id, packed_run in runs.rankings(tx, missing, qrels_id).items() if missing else ():
        found[run_id] = kept.keep((run_id, qrels_id), unpack_run(packed_run))
    return found


def _judge_late(workspace: Workspace, collection: Collection, run: Run, version: Qrels) -> JudgedRun:
    index = index_of(workspace, collection, version)

    def join() -> JudgedRun:
        return reread(workspace, collection, run, lambda rankings: judge(rankings, index)).run

    return JUDGED_RUNS.of(workspace).get((run.id, version.id), join)
