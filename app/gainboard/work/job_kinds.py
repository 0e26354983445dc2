"""Kinds of jobs. A kind is a value, made at the end of its one file in `work/jobs`; nothing else lists kinds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gainboard.evaluation.analyses import Analysis
from gainboard.evaluation.matrices import Matrices
from gainboard.exhibits import Figure, Table
from gainboard.metrics import SCORING_VERSION
from gainboard.work.catalogue import Catalogue
from gainboard.work.params import Params

P = TypeVar("P", bound=Params)
Result = Mapping[str, Any]
"""The JSON of a result, which alone must suffice for its tables and figures."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Kind(Generic[P]):
    """A kind of job: what may be asked of it, which analysis does it, and how its result is shown.

    `analysis` must raise BadInput, before anything is scored, for what cannot be done as asked. `changes` is counted
    on whenever a result of this kind may come out differently: what was computed before then no longer answers.
    """

    name: str
    changes: int = 0
    params: type[P]
    analysis: Callable[[Matrices, P], Analysis]
    tables: Callable[[Result], Sequence[Table]]
    figures: Callable[[Result], Sequence[Figure]]

    @property
    def definition(self) -> str:
        """What it computes, in prose: the docstring of its request model."""
        return inspect.getdoc(self.params) or ""

    @property
    def engine_version(self) -> int:
        """The version of all that computes a result of this kind, which is part of a job's id.

        It grows with every change of the scoring and of the kind: either of them makes new jobs of equal requests.
        """
        return SCORING_VERSION + self.changes

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the parameters, with descriptions, defaults and limits."""
        return self.params.model_json_schema()

    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind: the model's own example, else that of each required parameter."""
        described = self.schema()
        required = {name: described["properties"][name] for name in described.get("required", ())}
        own = described.get("examples") or [{name: field["examples"][0] for name, field in required.items()}]
        return {"kind": self.name, "params": own[0]}


CATALOGUE: Catalogue[Kind[Any]] = Catalogue("gainboard.work.jobs")


def enter(kind: Kind[P]) -> Kind[P]:
    """Put a kind into the catalogue."""
    CATALOGUE.enter(kind)
    return kind


def every_kind() -> tuple[Kind[Any], ...]:
    """Return all kinds of jobs, in the order of their names."""
    return CATALOGUE.every()


def find_kind(name: str) -> Kind[Any]:
    """Return the kind of this name; KeyError if there is none."""
    return CATALOGUE.find(name)
