"""The catalogue of metrics. A metric is a value, made by decorating its kernel; nothing else lists metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Concatenate, Final, TypeVar, get_type_hints

from gainboard.metrics.parameters import CONDENSED, GAINS, MEAN, REL, Parameter
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings, GradedRankings, ScoredRankings

View = TypeVar("View", bound=BinaryRankings)
NUMBERED: Final = "_l"
"""How an alias ends that has the cut-off in place of the l: `map_cut_l` stands for `map_cut_10` and so on."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Metric:
    """An effectiveness metric. What is not given here is read off the kernel.

    `aliases` may hold the cut-off's place (`NUMBERED`); `reference` is the source of the definition. `bounded`:
    all scores lie in [0, 1] under the default parameters, whatever the gains.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    reference: str
    bounded: bool
    kernel: Callable[..., Value]

    @property
    def definition(self) -> str:
        """What it measures, in prose: the kernel's docstring."""
        return inspect.getdoc(self.kernel) or ""

    @cached_property
    def reads(self) -> type[BinaryRankings]:
        """The view of a run that the kernel computes on."""
        view: type[BinaryRankings] = self._hints[next(iter(self._signature))]
        return view

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The metric's own parameters, then those of how a run is read, then that of the mean."""
        own = [
            note if keyword.default is keyword.empty else replace(note, default=keyword.default)
            for name, keyword in self._signature.items()
            for note in getattr(self._hints[name], "__metadata__", ())
        ]
        return (*own, *((GAINS,) if self.graded else ()), REL, CONDENSED, MEAN)

    @property
    def takes_cutoff(self) -> bool:
        """Whether `@l` may be given."""
        return "cutoff" in self._signature

    @property
    def needs_cutoff(self) -> bool:
        """Whether it is always cut: without `@l`, at the depth of the collection."""
        return self.takes_cutoff and self._signature["cutoff"].default is inspect.Parameter.empty

    @property
    def graded(self) -> bool:
        """Whether gains matter to it."""
        return issubclass(self.reads, GradedRankings)

    @property
    def needs_retrieval_scores(self) -> bool:
        """Whether the run's own scores matter to it."""
        return issubclass(self.reads, ScoredRankings)

    @cached_property
    def _signature(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.kernel).parameters

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.kernel, include_extras=True)


_METRICS: list[Metric] = []


def metric(
    name: str, *, aliases: Sequence[str] = (), title: str, reference: str, bounded: bool = True
) -> Callable[[Callable[Concatenate[View, ...], Value]], Metric]:
    """Enter a kernel into the catalogue.

    A kernel takes a view of a judged run and returns float64 [n], which is copied. It need not care for topics
    without relevant documents (whatever it computes there becomes NaN), nor for topics that the run lacks (0),
    nor for division by zero on either. Keywords annotated with the types of `parameters` become parameters;
    `cutoff: Cutoff = None` is a cut-off that may be given, `cutoff: int` one that there always is.
    """

    def enter(kernel: Callable[Concatenate[View, ...], Value]) -> Metric:
        entry = Metric(
            name=name, aliases=tuple(aliases), title=title, reference=reference, bounded=bounded, kernel=kernel
        )
        _METRICS.append(entry)
        return entry

    return enter


def every_metric() -> tuple[Metric, ...]:
    """All metrics, in the order in which they are defined."""
    return tuple(_METRICS)


def query_parameters() -> Mapping[str, Parameter]:
    """The parameters that may be given as defaults for a whole request: every one that some metric has."""
    return {parameter.name: parameter for metric in reversed(_METRICS) for parameter in metric.parameters}
