"""Metrics with a value for every parameter, ready to be computed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.catalogue import Metric, Namesake, ScoreLimits
from gainboard.metrics.gains import FLAT, Discount, GainSetting, Geometric, parse_gains
from gainboard.metrics.intent_views import IntentRankings
from gainboard.metrics.judgments import Scale
from gainboard.metrics.parameters import AT_R, CONDENSED, GAINS, IA, MEAN, REL
from gainboard.metrics.program import BoundSetting, Formula, bound_setting
from gainboard.metrics.rankings import JudgedRuns
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Setting, Space, Value, parameter, spread
from gainboard.metrics.views import BinaryRankings

_READING: Final = (GAINS.name, REL.name, CONDENSED.name, MEAN.name, IA.name)
"""Parameters that define how a run is read and how scores are averaged. They are not arguments of metric functions."""


ScoreAll = Callable[[Sequence["BoundMetric"], JudgedRuns, Sequence[int]], Scores]
"""Returns the scores of some runs, as `scoring.score_all` does."""


class BoundMetric:
    """A metric with its parameters (typed values by name) and its cut-off (None for the whole ranking, "R" for R).

    `label` is the canonical expression: equal labels on equal scales mean equal scores. `formula` defines the
    computation, and `settings` are the values for the open settings of the formula, in the same order. A metric whose
    function computes scores by intent has neither.

    `ignored` are sentences on defaults of a request that do not change the metric, because of its name.

    `is_averaged` tells that the score is the expected score over the intents of a topic. `needs_intents` tells that the
    metric needs judgments by intent: it is averaged over intents, or defined by intent.
    """

    formula: Formula
    settings: tuple[BoundSetting, ...]
    ignored: Sequence[str] = ()

    def __init__(self, metric: Metric, parameters: Mapping[str, Any], cutoff: int | str | None, scale: Scale) -> None:
        self.metric = metric
        self.parameters = MappingProxyType(dict(parameters))
        self.cutoff = cutoff
        self.scale = scale
        self.label = _label(metric, parameters, cutoff, scale)
        self.is_geometric = parameters[MEAN.name] == "geometric"
        self.is_averaged = parameters.get(IA.name, "false") != "false"
        is_by_intent = metric.needs_intents
        self.needs_intents = is_by_intent or self.is_averaged
        if is_by_intent:
            return
        fixed = tuple(
            (argument.name, parameters[argument.name])
            for argument in metric.parameters
            if argument.space is None and argument.name not in _READING
        )
        if metric.takes_cutoff:
            fixed = (*fixed, ("cutoff", cutoff))
        self.formula = _formula(metric, fixed, parameters[REL.name], parameters[CONDENSED.name])
        self.settings = tuple([_bind(setting, parameters, scale) for setting in self.formula.settings])

    # Equal values are one object in a process, and a pickled formula would bring others. So it is made again there.
    def __reduce__(self) -> tuple[Any, ...]:
        return BoundMetric, (self.metric, dict(self.parameters), self.cutoff, self.scale)

    def __repr__(self) -> str:
        return f"<BoundMetric {self.label}>"

    @property
    def is_reversed(self) -> bool:
        """True if lower scores are better."""
        return False

    def in_unit(self, scores: Scores) -> Scores:
        """Return scores of a bounded metric mapped to [0, 1], the best to 1."""
        return scores

    @property
    def needs_retrieval_scores(self) -> bool:
        """True if the metric needs the retrieval scores of `JudgedRun`."""
        return self.metric.needs_retrieval_scores

    @cached_property
    def of_one_intent(self) -> BoundMetric:
        """The same metric without the average over intents."""
        return BoundMetric(self.metric, {**self.parameters, IA.name: "false"}, self.cutoff, self.scale)

    def scores_by_intent(self, runs: JudgedRuns, positions: NDArray[np.intp], score_all: ScoreAll) -> Scores:
        """Return the scores of the runs at these positions: float64 [positions, n]. The metric is defined by intent.

        `score_all` computes other metrics, of which the metric may be made.
        """
        arguments = {
            name: value for name, value in self.parameters.items() if name not in _READING or name == GAINS.name
        }
        if self.metric.graded:
            del arguments[GAINS.name]
        gains, scale = self.parameters.get(GAINS.name, FLAT), self.scale
        reading = {name: self.parameters[name] for name in (REL.name, CONDENSED.name)}

        def score(metric: Metric, gains: GainSetting, cutoff: int) -> Scores:
            parameters = {**metric.defaults(scale), **reading, GAINS.name: gains}
            by_intent = BoundMetric(metric, parameters, cutoff, scale)
            return np.asarray(score_all([by_intent], rankings.runs, positions.tolist())[0])

        reads = cast(type[IntentRankings], self.metric.reads)
        rankings = reads(runs, positions, **reading, gains=gains, score=score)
        # As in the plain kernels, undefined scores may divide by zero, and are replaced below.
        with np.errstate(all="ignore"):
            cutoff = {"cutoff": self.cutoff} if self.metric.takes_cutoff else {}
            scores: Scores = self.metric.kernel(rankings, **arguments, **cutoff)
            scores[:, rankings.undefined] = np.nan
        return scores

    @property
    def is_bounded(self) -> bool:
        """True if all scores are in [0, 1]."""
        return self.span <= 1.0  # only raw scores of ADM may be negative, and their span has no end

    @property
    def span(self) -> float:
        """The width of a range in which the score of a ranking is, whatever the judgments."""
        gains: GainSetting = self.parameters.get(GAINS.name, FLAT)
        last = min(self.cutoff, self.scale.depth) if isinstance(self.cutoff, int) else self.scale.depth
        return self.metric.span(ScoreLimits(gains.highest, last, self.parameters))


# Equal arguments must give one object: programs are looked up by the identity of their formulas.
@lru_cache(maxsize=4096)
def _formula(metric: Metric, fixed: tuple[tuple[str, Any], ...], rel: int, condensed: bool) -> Formula:
    rankings = cast(type[BinaryRankings], metric.reads)(rel, condensed)
    open_parameters = {
        argument.name: parameter(argument.name, argument.space)
        for argument in metric.parameters
        if argument.space is not None
    }
    arguments = dict(fixed)
    if arguments.get("cutoff") == AT_R:
        # R differs from topic to topic, so this cut-off is a value of the formula, and no number of the expression.
        arguments["cutoff"] = rankings.relevant_count
    score: Value = metric.kernel(rankings, **arguments, **open_parameters)
    # A score that every topic has is defined where 1 is not 0.
    worth = spread(1.0, Space.TOPIC) if metric.on_every_topic else rankings.worth
    return Formula.of(spread(score, Space.RANKING), worth, metric.score_of_missing)


def _bind(setting: Setting, parameters: Mapping[str, Any], scale: Scale) -> BoundSetting:
    """Return an open setting of a formula with its value under these parameters."""
    name, *more = setting
    gains: GainSetting = parameters.get(GAINS.name, FLAT)
    if name == "constant":
        return bound_setting("number", more[0])
    if name == "gains":
        return bound_setting("gains", (gains, more[0]))
    if name == "stops":
        return bound_setting("gains", (parameters[name] or gains, more[0]))
    if name == "flat":
        return bound_setting("gains", (parse_gains("flat", scale.highest_level), more[0]))
    if name == "highest_gain":
        return bound_setting("number", gains.highest if more[0] is None else gains.at(more[0]))
    if name == "discount":
        base, shift = more
        return bound_setting("discount", Discount(_bind(base, parameters, scale).value, shift))
    if name == "geometric":
        return bound_setting("discount", Geometric(_bind(more[0], parameters, scale).value))
    value = parameters[name]
    # Parameters by level are written with the highest level first.
    return bound_setting("levels", value[::-1]) if isinstance(value, tuple) else bound_setting("number", value)


def _label(metric: Metric, parameters: Mapping[str, Any], cutoff: int | str | None, scale: Scale) -> str:
    defaults = metric.defaults(scale)
    shown = [
        f"{parameter.name}={parameter.write(parameters[parameter.name])}"
        for parameter in metric.parameters_by_name
        if (parameter.always_shown or parameters[parameter.name] != defaults[parameter.name])
        and (parameter.only_with is None or parameters[parameter.only_with[0]] == parameter.only_with[1])
    ]
    return metric.name + (f"({','.join(shown)})" if shown else "") + (f"@{cutoff}" if cutoff is not None else "")


_PARAMETERS = re.compile(r"\((.*)\)(@\d+)?$")
_BETWEEN = re.compile(r",(?![^(]*\))")


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return a short name of each label: without parameters, or with those alone that tell it from its namesakes.

    `nDCG(base=2,gains=3:2:1)@10` is `nDCG@10`; beside `nDCG(base=10,gains=3:2:1)@10` it is `nDCG(base=2)@10`.
    """
    bare = {label: _PARAMETERS.sub(r"\2", label) for label in labels}
    short = {}
    for label in labels:
        parameters, namesakes = _PARAMETERS.search(label), [other for other in labels if bare[other] == bare[label]]
        shared = set.intersection(*(set(_parts(other)) for other in namesakes))
        distinct = ",".join(part for part in _parts(label) if part not in shared)
        short[label] = (
            f"{label[: parameters.start()]}({distinct}){parameters[2] or ''}"
            if parameters and distinct
            else bare[label]
        )
    return short


def notes_on_names(metrics: Sequence[BoundMetric]) -> list[str]:
    """Return a sentence for each metric whose name other tools have for something else, the first of each name.

    It says what the metric is, and how to ask for the other one. Sentences on defaults that a name ignores follow.
    """
    first = {
        metric.metric.name: (metric, metric.metric.namesake) for metric in reversed(metrics) if metric.metric.namesake
    }
    notes = [note for metric, other in reversed(first.values()) if (note := _note(metric, other))]
    return [*notes, *dict.fromkeys(note for metric in metrics for note in metric.ignored)]


def _note(metric: BoundMetric, other: Namesake) -> str | None:
    if isinstance(metric.cutoff, str):
        return None  # no other tool cuts at R
    end = "" if metric.cutoff is None else str(metric.cutoff)
    theirs = re.sub("([@_])l$", rf"\g<1>{end}" if end else "", other.expression)
    parts = set(_parts(theirs))
    if parts and parts <= set(_parts(metric.label)):
        return None  # it is theirs
    return f"{metric.metric.name}{end and f'@{end}'} is {other.ours}; {other.theirs} is {theirs}."


def _parts(label: str) -> list[str]:
    parameters = _PARAMETERS.search(label)
    return _BETWEEN.split(parameters[1]) if parameters else []
