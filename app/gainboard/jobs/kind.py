"""The catalogue of job kinds. A kind is a value, made where its request model stands; nothing else lists kinds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gainboard.evaluation.analyses import Analysis
from gainboard.evaluation.matrices import Matrices
from gainboard.exhibits import Figure, Table
from gainboard.jobs.params import Params

P = TypeVar("P", bound=Params)
Result = Mapping[str, Any]
"""The JSON of a result, which alone must suffice for its tables and figures."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Kind(Generic[P]):
    """A kind of job: what may be asked of it, which analysis does it, and how its result is shown.

    `analysis` must raise BadInput, before anything is scored, for what cannot be done as asked.
    """

    name: str
    params: type[P]
    analysis: Callable[[Matrices, P], Analysis]
    tables: Callable[[Result], Sequence[Table]]
    figures: Callable[[Result], Sequence[Figure]]

    @property
    def definition(self) -> str:
        """What it computes, in prose: the docstring of its request model."""
        return inspect.getdoc(self.params) or ""


_KINDS: dict[str, Kind[Any]] = {}


def enter(kind: Kind[P]) -> Kind[P]:
    """Puts a kind into the catalogue."""
    _KINDS[kind.name] = kind
    return kind


def every_kind() -> tuple[Kind[Any], ...]:
    """All kinds, in the order in which they are defined."""
    return tuple(_KINDS.values())


def find_kind(name: str) -> Kind[Any]:
    """The kind of this name; KeyError if there is none, which requests rule out by their form."""
    return _KINDS[name]
