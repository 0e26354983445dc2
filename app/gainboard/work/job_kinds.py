"""Kinds of jobs. A kind is a value, made at the end of its one file in `work/jobs`; nothing else lists kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gainboard.evaluation.analyses import Analysis
from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.visibility import View
from gainboard.exhibits import Figure, LongTable, Table
from gainboard.metrics import SCORING_VERSION
from gainboard.store.database import Transaction
from gainboard.store.job_records import StoredJob
from gainboard.store.records import Collection
from gainboard.work.catalogue import AnyKind, KindCatalogue
from gainboard.work.params import AnyParams

P = TypeVar("P", bound=AnyParams)
Result = Mapping[str, Any]
"""The JSON of a result, which alone must suffice for its tables and figures."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JobKind(AnyKind[P]):
    """A kind of job: what may be asked of it, which analysis does it, and how its result is shown.

    `analysis` must raise BadInput, before anything is scored, for what cannot be done as asked. `changes` is counted
    on whenever a result of this kind may come out differently: what was computed before then no longer answers.
    """

    changes: int = 0
    analysis: Callable[[Matrices, P], Analysis]
    tables: Callable[[Result], Sequence[Table | LongTable]]
    figures: Callable[[Result], Sequence[Figure]]
    find_same: Callable[[Transaction, Collection, P], StoredJob | None] | None = None
    """None but for a kind that changes its collection: `analysis` makes a `Change` then, and organisers alone ask for
    it. Returns the job, under whatever id, that makes the very change, or has made the last one. Raises Conflict where
    nothing is to be changed.
    """

    @property
    def is_change(self) -> bool:
        """Tell whether it changes its collection."""
        return self.find_same is not None

    def admit(self, view: View) -> None:
        """Raise what the principal is to be told who may not ask for it."""
        if self.is_change:
            view.require_organiser()
        else:
            view.require_free_scores()

    @property
    def engine_version(self) -> int:
        """The version of all that computes a result of this kind, which is part of a job's id.

        It grows with every change of the scoring and of the kind: either of them makes new jobs of equal requests.
        """
        return SCORING_VERSION + self.changes

    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind: the model's own example, else that of each required parameter."""
        described = self.schema()
        required = {name: described["properties"][name] for name in described.get("required", ())}
        own = described.get("examples") or [{name: field["examples"][0] for name, field in required.items()}]
        return {"kind": self.name, "params": own[0]}


CATALOGUE: KindCatalogue[JobKind[Any]] = KindCatalogue("gainboard.work.jobs")
enter, every_kind, find_kind = CATALOGUE.enter, CATALOGUE.every, CATALOGUE.find
