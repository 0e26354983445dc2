"""The catalogue of metrics. A metric is a value, made by decorating its kernel; nothing else lists metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, Final, TypeVar, get_type_hints

from app.metrics.discounts import Scores
from app.metrics.parameters import CONDENSED, GAINS, MEAN, REL, Parameter
from app.metrics.views import BinaryRankings, GradedRankings, ScoredRankings

View = TypeVar("View", bound=BinaryRankings)
NUMBERED: Final = "_l"
"""How an alias ends that has the cut-off in place of the l: `map_cut_l` stands for `map_cut_10` and so on."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Metric:
    """An effectiveness metric: one score in, float64, for each topic.

    `definition` is the kernel's docstring and `reference` its source. `reads` is the view of a run that the
    kernel computes on. `bounded`: all scores lie in [0, 1] under the default parameters, whatever the gains.
    `takes_cutoff`: `@l` may be given; `needs_cutoff`: without it, l is the depth.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    definition: str
    reference: str
    parameters: tuple[Parameter, ...]
    bounded: bool
    takes_cutoff: bool
    needs_cutoff: bool
    reads: type[BinaryRankings]
    kernel: Callable[..., Scores]

    @property
    def graded(self) -> bool:
        """Whether gains matter to it."""
        return issubclass(self.reads, GradedRankings)

    @property
    def needs_retrieval_scores(self) -> bool:
        """Whether the run's own scores matter to it."""
        return issubclass(self.reads, ScoredRankings)


_METRICS: list[Metric] = []


def metric(
    name: str, *, aliases: Sequence[str] = (), title: str, reference: str, bounded: bool = True
) -> Callable[[Callable[Concatenate[View, ...], Scores]], Metric]:
    """Enter a kernel into the catalogue.

    A kernel takes a view of a judged run and returns a new float64 array [n]. It need not care for topics
    without relevant documents (whatever it computes there becomes NaN), nor for topics that the run lacks (0),
    nor for division by zero on either. Keywords annotated with the types of `parameters` become parameters.
    """

    def enter(kernel: Callable[Concatenate[View, ...], Scores]) -> Metric:
        signature = inspect.signature(kernel)
        hints = get_type_hints(kernel, include_extras=True)
        reads = hints[next(iter(signature.parameters))]
        cutoff = signature.parameters.get("cutoff")
        entry = Metric(
            name=name,
            aliases=tuple(aliases),
            title=title,
            definition=inspect.cleandoc(kernel.__doc__ or ""),
            reference=reference,
            parameters=tuple(_parameters(reads, signature, hints)),
            bounded=bounded,
            takes_cutoff=cutoff is not None,
            needs_cutoff=cutoff is not None and cutoff.default is inspect.Parameter.empty,
            reads=reads,
            kernel=kernel,
        )
        _METRICS.append(entry)
        return entry

    return enter


def _parameters(
    reads: type[BinaryRankings], signature: inspect.Signature, hints: Mapping[str, Any]
) -> Iterator[Parameter]:
    """The metric's own parameters, then those of the view, then that of the mean."""
    for name, keyword in signature.parameters.items():
        for note in getattr(hints[name], "__metadata__", ()):
            given = {} if keyword.default is inspect.Parameter.empty else {"default": keyword.default}
            yield replace(note, **given)
    yield from (GAINS,) if issubclass(reads, GradedRankings) else ()
    yield from (REL, CONDENSED, MEAN)


def every_metric() -> tuple[Metric, ...]:
    """All metrics, in the order in which they are defined."""
    return tuple(_METRICS)


def query_parameters() -> Mapping[str, Parameter]:
    """The parameters that may be given as defaults for a whole request: every one that some metric has."""
    return {parameter.name: parameter for metric in reversed(_METRICS) for parameter in metric.parameters}
