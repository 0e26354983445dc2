"""The catalogue of metrics. Decorating a function with `metric` adds it; there is no other list of metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Concatenate, Final, NamedTuple, TypeVar, get_args, get_type_hints

from gainboard.metrics.intent_views import (
    AnnotatedRankings,
    GradedAnnotatedRankings,
    GradedIntentRankings,
    IntentRankings,
)
from gainboard.metrics.judgments import Scale
from gainboard.metrics.parameters import CONDENSED, GAINS, IA, MEAN, REL, Parameter, either
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings, GradedRankings, ScoredRankings, WholeRankings

View = TypeVar("View", bound=BinaryRankings | IntentRankings | AnnotatedRankings)
NUMBERED: Final = "_l"
"""The end of an alias that contains the cut-off in place of l: `map_cut_l` stands for `map_cut_10` and so on."""
VALUED: Final = "_x"
"""The end of an alias that contains the value of the metric's first parameter in place of x: `Rprec_mult_0.50`."""


class Namesake(NamedTuple):
    """Another metric that other tools call by the name of ours: what ours is, and theirs, in words and in our terms."""

    ours: str
    theirs: str
    expression: str
    """Our expression for theirs, with `@l` or `_l` for a cut-off."""


class ScoreLimits(NamedTuple):
    """The highest gain, the last rank and the parameters, from which the range of a metric's scores follows."""

    highest_gain: float
    last_rank: int
    parameters: Mapping[str, Any]


def _one(limits: ScoreLimits) -> float:
    return 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Metric:
    """An effectiveness metric. Its parameters are read from the signature of its function, the kernel.

    `aliases` may contain a placeholder for the cut-off (`NUMBERED`) or a parameter (`VALUED`). `implied` are the values
    of parameters that an alias stands for, by alias. `reference` is the source of the definition. `bounded` tells that
    all scores are in [0, 1] under the default parameters, for all gains. `span` is the width of a range in which the
    score of a ranking is, whatever the judgments. `sorted_is_best` tells that of all orders of some documents,
    descending and ascending levels have the highest and the lowest score. `on_every_topic` tells that topics without
    relevant documents have a score, too. `score_of_missing` is the score of a topic that the run lacks. `namesake` is
    what other tools call by this name.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    reference: str
    bounded: bool
    sorted_is_best: bool
    kernel: Callable[..., Any]
    implied: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    span: Callable[[ScoreLimits], float] = _one
    on_every_topic: bool = False
    score_of_missing: int = 0
    namesake: Namesake | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # A kernel cannot be pickled, because its name in its module is that of the metric.
        return _find_metric, (self.name,)

    @property
    def definition(self) -> str:
        """The definition in prose, which is the kernel's docstring."""
        return inspect.getdoc(self.kernel) or ""

    @cached_property
    def reads(self) -> type[BinaryRankings | IntentRankings | AnnotatedRankings]:
        """The view of a run that the kernel takes."""
        view: type[BinaryRankings | IntentRankings | AnnotatedRankings] = self._hints[next(iter(self._signature))]
        return view

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The metric's own parameters, then those for reading a run, then the one for the mean."""
        of_kernel = [
            note if keyword.default is keyword.empty else replace(note, default=keyword.default)
            for name, keyword in self._signature.items()
            for note in getattr(self._hints[name], "__metadata__", ())
        ]
        reading = (REL, *(() if self.needs_annotations else (CONDENSED,)), MEAN, *((IA,) if self.has_formula else ()))
        return (*of_kernel, *((GAINS,) if self.graded else ()), *reading)

    @cached_property
    def parameters_by_name(self) -> tuple[Parameter, ...]:
        """The parameters in the order in which a label has them."""
        return tuple(sorted(self.parameters, key=lambda parameter: parameter.name))

    def defaults(self, scale: Scale) -> Mapping[str, Any]:
        """Return the typed default of each parameter, by name."""
        return _defaults(self, scale)

    @cached_property
    def takes_cutoff(self) -> bool:
        """True if an expression may have a cut-off `@l`."""
        return "cutoff" in self._signature

    @property
    def needs_cutoff(self) -> bool:
        """True if the metric always has a cut-off. Without `@l`, the cut-off is the depth of the collection."""
        return self.takes_cutoff and self._signature["cutoff"].default is inspect.Parameter.empty

    @property
    def takes_r(self) -> bool:
        """True if the cut-off may be R, the number of relevant documents of each topic."""
        return self.takes_cutoff and Value in get_args(self._hints["cutoff"])

    @property
    def graded(self) -> bool:
        """True if the metric depends on gains."""
        return issubclass(self.reads, (GradedRankings, GradedIntentRankings, GradedAnnotatedRankings))

    @cached_property
    def needs_intents(self) -> bool:
        """True if the metric needs judgments by intent."""
        return issubclass(self.reads, IntentRankings)

    @property
    def has_formula(self) -> bool:
        """True if the metric is a formula, and false if its function computes the scores."""
        return issubclass(self.reads, BinaryRankings)

    @cached_property
    def needs_annotations(self) -> bool:
        """True if the metric needs memberships of documents in groups, or the strata of a sampled pool."""
        return issubclass(self.reads, AnnotatedRankings)

    @property
    def needs_retrieval_scores(self) -> bool:
        """True if the metric needs all known documents of a run, which are loaded with its own scores."""
        return issubclass(self.reads, (ScoredRankings, WholeRankings, AnnotatedRankings))

    @cached_property
    def _signature(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.kernel).parameters

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.kernel, include_extras=True)


@lru_cache(maxsize=1024)  # each request binds the same metrics, with few values of its own
def _defaults(metric: Metric, scale: Scale) -> Mapping[str, Any]:
    return MappingProxyType({parameter.name: parameter.default_value(scale) for parameter in metric.parameters})


_METRICS: list[Metric] = []


def metric(
    name: str,
    *,
    aliases: Sequence[str] = (),
    title: str,
    reference: str,
    span: Callable[[ScoreLimits], float] | None = None,
    bounded: bool | None = None,
    sorted_is_best: bool = True,
    on_every_topic: bool = False,
    score_of_missing: int = 0,
    namesake: Namesake | None = None,
) -> Callable[[Callable[Concatenate[View, ...], Value | Scores]], Metric]:
    """Add a kernel to the catalogue.

    A kernel takes a view of a judged run and returns the formula of its score, one number for each ranking. It may
    ignore topics without relevant documents (their score becomes NaN, unless `on_every_topic`) and topics that the run
    lacks (their score becomes `score_of_missing`). It may divide by zero on both. A kernel whose view is
    `IntentRankings` or `AnnotatedRankings` returns the scores themselves, float64 [runs, n], and takes values of
    parameters.

    An alias may imply values of parameters: `gm_map(mean=geometric)` is `gm_map`.

    Give `span` if scores may exceed 1: the largest difference between two scores of a ranking. Such a metric is not
    bounded, unless `bounded` says so for its default parameters.

    Keywords annotated with a type of `parameters` become parameters. `cutoff: Cutoff = None` is an optional cut-off.
    `cutoff: Rank` is a cut-off that the metric always has, `cutoff: int` one that cannot be R.
    """

    def enter(kernel: Callable[Concatenate[View, ...], Value | Scores]) -> Metric:
        implied: dict[str, Mapping[str, str]] = {}
        for written in aliases:
            alias, _, values = written.partition("(")
            pairs = (pair.partition("=") for pair in values.rstrip(")").split(",") if pair)
            implied[alias] = {key: value for key, _, value in pairs}
        entry = Metric(
            name=name,
            aliases=tuple(implied),
            implied=implied,
            title=title,
            reference=reference,
            bounded=span is None if bounded is None else bounded,
            span=span or _one,
            sorted_is_best=sorted_is_best,
            on_every_topic=on_every_topic,
            score_of_missing=score_of_missing,
            namesake=namesake,
            kernel=kernel,
        )
        _METRICS.append(entry)
        return entry

    return enter


def _find_metric(name: str) -> Metric:
    return next(metric for metric in _METRICS if metric.name == name)


def every_metric() -> tuple[Metric, ...]:
    """Return all metrics, in the order of their definitions."""
    return tuple(_METRICS)


def every_parameter() -> list[Parameter]:
    """Return the parameters of all metrics, those of one name and meaning once."""
    # Reversed, because the last of equal keys stays in a dictionary, and the first definition should.
    last_first = (parameter for metric in reversed(_METRICS) for parameter in metric.parameters)
    return list({(parameter.name, parameter.description): parameter for parameter in last_first}.values())


def query_parameters() -> Mapping[str, Parameter]:
    """Return the parameters for which a request may give defaults, for all its metrics, by name."""
    return _query_parameters(len(_METRICS))


@lru_cache(maxsize=1)  # each request asks for them, and a metric that is entered later changes the number
def _query_parameters(metrics: int) -> Mapping[str, Parameter]:
    by_name: dict[str, Parameter] = {}
    for parameter in every_parameter():
        if not parameter.only_in_expressions:
            other = by_name.get(parameter.name)
            by_name[parameter.name] = either(parameter, other) if other else parameter
    return by_name
