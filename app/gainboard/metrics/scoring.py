"""Scores of many runs under many metrics in one call, and their means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.acceleration import OptionalKernel
from gainboard.metrics import plain
from gainboard.metrics.columns import values_by_ranking
from gainboard.metrics.expressions import BoundMetric
from gainboard.metrics.gains import LevelGains, TopicClasses
from gainboard.metrics.intent_views import IntentRankings
from gainboard.metrics.judgments import Judgments
from gainboard.metrics.parameters import CONDENSED, IA, REL
from gainboard.metrics.program import BoundSetting, Program, program_of
from gainboard.metrics.rankings import JudgedRun, JudgedRuns, assume_relevant
from gainboard.metrics.retrieval import Scores

if TYPE_CHECKING:
    from gainboard.metrics.instructions import Instructions

_FLOOR: Final = 1e-5
"""The lowest score in a geometric mean: lower scores are replaced by it, as in trec_eval's gm_map."""


def score_all(metrics: Sequence[BoundMetric], runs: JudgedRuns, chosen: Sequence[int] | None = None) -> Scores:
    """Return the scores of all runs, or of those at the positions `chosen`: float64 [metrics, runs, n].

    A score is 0 if the run lacks the topic, or `Metric.score_of_missing`. It is NaN if the metric is undefined for the
    topic: no document is relevant or, for graded metrics, the gain of the ideal ranking is 0. The bits of a score do
    not depend on the other runs and metrics in the call, nor on compilation.

    Raises ValueError if a metric needs retrieval scores that were not loaded, or judgments by intent, and
    BadExpression for annotations of documents that the judgments lack.
    """
    if any(metric.needs_intents or not metric.metric.has_formula for metric in metrics):
        return _score_without_formulas(metrics, runs, chosen)
    positions = None if chosen is None else np.array(chosen, np.intp)
    table = np.empty((len(metrics), len(runs if positions is None else positions), runs.judgments.topics))
    kernels = SCORING.get()
    # The kernels are compiled for ranks of two bytes. Runs with a rank above 65,535 have larger ranks.
    if kernels is None or runs.rank.dtype != np.uint16:
        _score_plainly(metrics, runs, positions, table)
        return table
    program, settings = _program_of(metrics)
    if program.operations <= kernels.operations:
        # The spans of all rankings are kept with the runs; those of a choice are made anew.
        are_all = positions is None or np.array_equal(positions, np.arange(len(runs)))
        _score_compiled(kernels, program, settings, runs, None if are_all else positions, table)
        return table
    # A metric without a compiled form must not slow the others down.
    is_compiled = [metric.formula.operations <= kernels.operations for metric in metrics]
    for way in (True, False):
        numbers = [number for number, is_its in enumerate(is_compiled) if is_its is way]
        part = [metrics[number] for number in numbers]
        if way:
            table[numbers] = score_all(part, runs, chosen)
        else:
            part_table = np.empty((len(part), *table.shape[1:]))
            _score_plainly(part, runs, positions, part_table)
            table[numbers] = part_table
    return table


_MOST_BY_INTENT: Final = 1 << 20
"""The most scores by intent in memory at once, unless one run has more."""


def _score_without_formulas(metrics: Sequence[BoundMetric], runs: JudgedRuns, chosen: Sequence[int] | None) -> Scores:
    positions = np.arange(len(runs)) if chosen is None else np.array(chosen, np.intp)
    table = np.empty((len(metrics), len(positions), runs.judgments.topics))
    whole = [row for row, metric in enumerate(metrics) if metric.metric.has_formula and not metric.is_averaged]
    table[whole] = score_all([metrics[row] for row in whole], runs, chosen)
    intents = runs.judgments.intents
    at_once = max(1, _MOST_BY_INTENT // max(1, len(intents.probability))) if intents is not None else len(positions)
    for begin in range(0, len(positions), max(1, at_once)):
        some = slice(begin, begin + at_once)
        for row, metric in enumerate(metrics):
            if not metric.metric.has_formula:
                table[row, some] = metric.own_scores(runs, positions[some], score_all)
            elif metric.is_averaged:
                rel, condensed = metric.parameters[REL.name], metric.parameters[CONDENSED.name]
                rankings = IntentRankings(runs, positions[some], rel, condensed)
                scores = score_all([metric.of_one_intent], rankings.runs, positions[some].tolist())[0]
                table[row, some] = rankings.average(scores, equal=metric.parameters[IA.name] == "equal")
    return table


def mean_all(metrics: Sequence[BoundMetric], table: Scores) -> Scores:
    """Return the means over topics of each metric's scores: float64 [metrics, ...].

    `table` float64 [metrics, ..., n] are the scores. Topics for which the metric is undefined (NaN) are left out. The
    mean is NaN if no topic is left.
    """
    geometric = [row for row, metric in enumerate(metrics) if metric.is_geometric]
    if geometric:
        table = table.copy()
        # `maximum` passes NaN on, so that undefined scores are left out of these means, too.
        table[geometric] = np.log(np.maximum(table[geometric], _FLOOR))
    # NumPy's order of additions depends on the layout of the table. In a contiguous table, the mean of one run does not
    # depend on the other runs.
    table = np.ascontiguousarray(table)
    with np.errstate(invalid="ignore"):
        means = np.asarray(np.add.reduce(table, axis=-1) / table.shape[-1])
        if np.count_nonzero(some := np.isnan(means)):
            # Few means have an undefined score, and they alone are computed again.
            scores = table[some]
            undefined = np.isnan(scores)
            means[some] = np.where(undefined, 0.0, scores).sum(axis=-1) / (~undefined).sum(axis=-1)
    if geometric:
        means[geometric] = np.exp(means[geometric])
    return means


def mean_of(metric: BoundMetric, scores: Scores) -> Scores:
    """Return the means of one metric's scores as `mean_all` does: float64 [...], from `scores` float64 [..., n]."""
    return np.asarray(mean_all([metric], scores[np.newaxis])[0])


_MOST_ASSUMED: Final = 1 << 20
"""The most documents of a run that are scored at once as if they were relevant, unless one topic has more."""


def mean_if_relevant(metrics: Sequence[BoundMetric], run: JudgedRun, judgments: Judgments, scores: Scores) -> Scores:
    """Return the means as if each unjudged document retrieved were of the highest level: float64 [metrics].

    They are over the topics on which the run has a score: `scores` are float64 [metrics, n]. Metrics of memberships and
    sampled pools have none (NaN): nobody can say to which group or stratum an unjudged document belongs.
    """
    table = np.full(scores.shape, np.nan)
    rows = np.flatnonzero([not metric.metric.needs_annotations for metric in metrics])
    some = [metrics[row] for row in rows.tolist()]
    # Rows are now all documents retrieved, which may be a hundred times as many as the relevant ones.
    part_of_topic = np.cumsum(run.retrieved) // _MOST_ASSUMED
    for topics in np.split(np.arange(judgments.topics), np.flatnonzero(np.diff(part_of_topic)) + 1):
        assumed, extended = assume_relevant(run.only(topics), judgments.only(topics))
        table[np.ix_(rows, topics)] = score_all(some, JudgedRuns.of([assumed], extended))[:, 0]
    table[np.isnan(scores)] = np.nan
    return mean_all(metrics, table)


def _program_of(metrics: Sequence[BoundMetric]) -> tuple[Program, Sequence[BoundSetting]]:
    return program_of([metric.formula for metric in metrics], [metric.settings for metric in metrics])


def _score_plainly(
    metrics: Sequence[BoundMetric], runs: JudgedRuns, positions: NDArray[np.intp] | None, table: Scores
) -> None:
    plain.work_out(*_program_of(metrics), runs, np.arange(len(runs)) if positions is None else positions, table)


def _score_compiled(
    kernels: _Kernels,
    program: Program,
    settings: Sequence[BoundSetting],
    runs: JudgedRuns,
    positions: NDArray[np.intp] | None,
    table: Scores,
) -> None:
    """Fill the table with the scores of the runs at these positions, or of all runs if `positions` is None."""
    instructions, classes = kernels.written(program), runs.judgments.classes
    kernels.score(
        *(instructions.first, instructions.rest, instructions.registers),
        *runs.spans(positions),
        *(runs.rank, runs.level, classes.topic_class, classes.last, classes.best_level, classes.harmonic),
        *_arrays_of_settings(settings, classes, runs.deepest),
        *classes.starts_of(instructions.depths),
        instructions.recipes,
        *_arrays_by_ranking(instructions, settings, runs, positions),
        table.reshape(len(table), table.shape[1] * table.shape[2]),
    )


def _arrays_of_settings(
    settings: Sequence[BoundSetting], classes: TopicClasses, deepest: int
) -> tuple[NDArray[Any], ...]:
    """Return the settings as arrays, whose first index is the number of the setting."""
    count, shape = len(settings), classes.counts.shape
    numbers, by_level, rel = np.zeros(count), np.zeros((count, shape[1])), np.zeros(count, np.int64)
    # Not filled: no step reads the gains or weights of a setting of another kind.
    gain, step = np.empty((count, *shape)), np.empty((count, *shape))
    # Weights are needed for the ranks of the runs and for those of the ideal rankings.
    deepest = max(deepest, classes.deepest)
    weights, sums = np.empty((count, deepest + 1)), np.empty((count, classes.deepest + 1))
    for number, setting in enumerate(settings):
        kind, value = setting.kind, setting.value
        if kind == "number":
            numbers[number] = value
        elif kind == "levels":
            by_level[number, 1:] = value
        elif kind == "gains":
            gain[number], step[number], rel[number] = LevelGains.of(value, classes)
        elif kind == "discount":
            weights[number], sums[number] = value.weights(deepest), value.sums(classes.deepest)
    return numbers, gain, step, rel, by_level, weights, sums


def _arrays_by_ranking(
    instructions: Instructions, settings: Sequence[BoundSetting], runs: JudgedRuns, positions: NDArray[np.intp] | None
) -> tuple[Scores, Scores]:
    """Return the runs' own scores for each scale by row, and each operation of `by_ranking` by chosen ranking."""
    system, computed = _NONE, _NONE
    if len(instructions.scales) == 1:
        system = runs.system_columns(*instructions.scales[0]).system.reshape(1, -1)  # without a copy
    elif instructions.scales:
        system = np.array([runs.system_columns(*scale).system for scale in instructions.scales])
    if instructions.by_ranking:
        chosen = np.arange(len(runs)) if positions is None else positions
        computed = np.empty((len(instructions.by_ranking), len(chosen) * runs.judgments.topics))
        for row, (operation, fixed, numbers) in enumerate(instructions.by_ranking):
            values = [settings[number].value for number in numbers]
            computed[row] = values_by_ranking(operation, runs, chosen, fixed, values).ravel()
    return system, computed


# Of the type of the arrays that it stands for, or else the loop would be compiled again for it.
_NONE: Final = np.empty((0, 0))


class _Kernels(NamedTuple):
    """The compiled functions. `score` takes a program in the form that `written` returns.

    `operations` are the names of the operations with a compiled form.
    """

    score: Callable[..., None]
    written: Callable[[Program], Instructions]
    operations: frozenset[str]


def _load() -> _Kernels:
    from gainboard.metrics import instructions, kernels  # noqa: PLC0415 (they import the compiler)

    loaded = _Kernels(kernels.score, instructions.instructions_of, instructions.COMPILED)
    judgments = Judgments(np.ones((1, 2), np.int64), np.zeros(1, np.int64))
    run = JudgedRun(np.array([0, 1]), np.ones(1, np.uint16), np.ones(1, np.int8), np.ones(1, np.int64))
    # A program without steps is enough: the loop is compiled for the types of its arguments, whatever the steps.
    _score_compiled(loaded, *_program_of([]), JudgedRuns.of([run], judgments), None, np.empty((0, 1, 1)))
    return loaded


SCORING: Final = OptionalKernel("scoring", _load)
"""The compiled functions, if the `fast` extra is installed."""
