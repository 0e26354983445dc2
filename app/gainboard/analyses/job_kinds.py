"""Kinds of jobs, and the catalogues of kinds of jobs and of reports.

A kind is a value, made at the end of its file in the folder of its catalogue; there is no other list of kinds.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from gainboard.analyses import Analysis
from gainboard.analyses.params import AnyParams
from gainboard.analyses.result_models import JobResult
from gainboard.evaluation.access.visibility import View
from gainboard.exhibits import LongTable, Table
from gainboard.exhibits.figures import Figure
from gainboard.metrics import SCORING_VERSION
from gainboard.store.damage import add_rule
from gainboard.store.database import Transaction
from gainboard.store.job_records import DERIVED_KINDS, StoredJob
from gainboard.store.records import Collection

M = TypeVar("M", bound=BaseModel)
Question = Literal["which-runs", "which-metric", "collection", "judges", "change"]
QUESTIONS: Mapping[Question, str] = {
    "which-runs": "Which runs differ?",
    "which-metric": "Which metric can be trusted?",
    "collection": "Is the collection good enough?",
    "judges": "Do the judges agree?",
    "change": "Change the collection",
}
"""The questions that kinds of jobs answer, as pages show them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyKind(ABC, Generic[M]):
    """A kind of job or of report. Requests name the kind and give its parameters."""

    name: str
    params: type[M]

    @property
    @abstractmethod
    def shown_title(self) -> str:
        """A title for people."""

    @property
    def definition(self) -> str:
        """The description of what the kind computes: the docstring of its request model."""
        return inspect.getdoc(self.params) or ""

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters, with descriptions, defaults and limits. It is made once."""
        return self.params.model_json_schema()

    @abstractmethod
    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind."""


K = TypeVar("K", bound=AnyKind[Any])


class KindCatalogue(Generic[K]):
    """The kinds that the modules of one package add, by name.

    The modules are imported when a kind is first needed, because they import this catalogue in turn.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._kinds: dict[str, K] = {}
        self._not_offered: set[str] = set()
        self._is_complete = False

    def enter(self, kind: K, *, is_offered: bool = True) -> K:
        """Add a kind to the catalogue, and return it. Raise ValueError if another kind has its name.

        A kind that is not offered has an address of its own at which it is asked for, and is in no list.
        """
        if kind.name in self._kinds:
            raise ValueError(f"two kinds are called {kind.name}")
        self._kinds[kind.name] = kind
        if not is_offered:
            self._not_offered.add(kind.name)
        return kind

    def every(self) -> tuple[K, ...]:
        """Return all kinds that are offered, in the order of their names."""
        self._complete()
        return tuple(self._kinds[name] for name in sorted(self._kinds.keys() - self._not_offered))

    def find(self, name: str) -> K:
        """Return the kind with this name.

        Raise KeyError if there is none; models of requests allow only known names.
        """
        self._complete()
        return self._kinds[name]

    def has(self, name: str) -> bool:
        """Return whether there is a kind with this name."""
        self._complete()
        return name in self._kinds

    def _complete(self) -> None:
        # No lock: whatever threads come here together, Python runs each module once.
        if not self._is_complete:
            for module in iter_modules(import_module(self._package).__path__, f"{self._package}."):
                import_module(module.name)
            self._is_complete = True


RESULTS_VERSION = 1
"""The version of what all results have beside their own numbers. 1: near-duplicates at the first ten ranks."""
P = TypeVar("P", bound=AnyParams)
R = TypeVar("R", bound=JobResult)


@dataclass(frozen=True, eq=False, kw_only=True)
class JobKind(AnyKind[P], Generic[P, R]):
    """A kind of job: its parameters, its analysis, and how its result is shown.

    `changes` is increased whenever a result of this kind may differ. Results from before then are no longer used.
    """

    title: str
    """A few words, for people."""
    question: Question
    """The question that the kind answers: pages group the kinds by it."""
    summary: str
    """A sentence for people who choose a kind. It has no names of fields."""
    changes: int = 0
    result: type[R]
    """The form of the result's JSON, which OpenAPI, docs/jobs.md and `/v1/job-kinds` show. Tables and figures are made
    from it alone.
    """
    analysis: type[Analysis[P]]
    tables: Callable[[R], Sequence[Table | LongTable]]
    figures: Callable[[R], Sequence[Figure]]
    about_runs_alone: bool = False
    """True for a kind that needs no judgments: its matrices have a version without any. It shows what teams found, so
    only organisers may ask for the job, and only they see it.
    """
    find_same: Callable[[Transaction, Collection, P], StoredJob | None] | None = None
    """A function if the kind changes its collection, else None. With it, `analysis` makes a `Change`, and only
    organisers may ask for the job. It returns the job, under whatever id, that makes this very change,
    or has made the last one. It raises Conflict if there is nothing to change.
    """

    @property
    def shown_title(self) -> str:
        """The title."""
        return self.title

    @property
    def is_change(self) -> bool:
        """Return whether jobs of this kind change their collection."""
        return self.find_same is not None

    @property
    def is_for_organisers(self) -> bool:
        """Return whether only organisers may ask for jobs of this kind."""
        return self.is_change or self.about_runs_alone

    def admit(self, view: View) -> None:
        """Raise the error for a principal who may not ask for this kind."""
        if self.is_for_organisers:
            view.require_organiser()
        else:
            view.require_free_scores()

    @property
    def engine_version(self) -> int:
        """The version of everything that computes a result of this kind. It is part of a job's id.

        It increases with every change of the scoring and of the kind, so that equal requests then make new jobs.
        """
        return SCORING_VERSION + RESULTS_VERSION + self.changes

    @cached_property
    def result_schema(self) -> dict[str, Any]:
        """The JSON Schema of the result, with descriptions. It is made once, too."""
        return self.result.model_json_schema(mode="serialization")

    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind: the model's own example, or an example for each required parameter."""
        described = self.schema
        required = {name: described["properties"][name] for name in described.get("required", ())}
        own = described.get("examples") or [{name: field["examples"][0] for name, field in required.items()}]
        return {"kind": self.name, "params": own[0]}


CATALOGUE: KindCatalogue[JobKind[Any, Any]] = KindCatalogue("gainboard.analyses")
add_rule(StoredJob, "kind", lambda kind: kind in DERIVED_KINDS or CATALOGUE.has(kind))
enter, every_kind, find_kind = CATALOGUE.enter, CATALOGUE.every, CATALOGUE.find
