"""Kinds of jobs, and the catalogues of kinds of jobs and of reports.

A kind of job is a class: an `Analysis` that its file in this folder enters into the catalogue. There is no other list.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, get_args

from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode

from gainboard.analyses.params import AnyParams
from gainboard.analyses.result_models import JobResult
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.metrics import SCORING_VERSION
from gainboard.store import jobs
from gainboard.store.damage import add_rule
from gainboard.store.database import Transaction
from gainboard.store.job_records import DERIVED_KINDS, StoredJob
from gainboard.store.records import Collection
from gainboard.vocabulary import JobState

Question = Literal["which-runs", "which-metric", "collection", "judges", "change"]
QUESTIONS: Mapping[Question, str] = {
    "which-runs": "Which runs differ?",
    "which-metric": "Which metric can be trusted?",
    "collection": "Is the collection good enough?",
    "judges": "Do the judges agree?",
    "change": "Change the collection",
}
"""The questions that kinds of jobs answer, as pages show them."""
RESULTS_VERSION = 1
"""The version of what all results have beside their own numbers. 1: near-duplicates at the first ten ranks."""
MOST_LOOKED_AT = 100
"""The newest jobs in which an equal change is searched for: organisers change a collection only a few times."""
Arrays = Mapping[str, NDArray[Any]]
"""The findings of a part: arrays by name."""


@cache
def schema_of(model: type[BaseModel], mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Return the JSON Schema of parameters or, as "serialization", of a result. It is made once."""
    return model.model_json_schema(mode=mode)


class AnyKind(Protocol):
    """A kind of job or of report. Requests name the kind and give its parameters."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def definition(self) -> str: ...
    @property
    def params_model(self) -> type[BaseModel]: ...
    @property
    def is_offered(self) -> bool: ...
    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind."""


K = TypeVar("K", bound=AnyKind)


class KindCatalogue(Generic[K]):
    """The kinds that the modules of one package add, by name.

    The modules are imported when a kind is first needed, because they import this catalogue in turn.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._kinds: dict[str, K] = {}
        self._is_complete = False

    def enter(self, kind: K) -> K:
        """Add a kind to the catalogue, and return it. Raise ValueError if another kind has its name."""
        if kind.name in self._kinds:
            raise ValueError(f"two kinds are called {kind.name}")
        self._kinds[kind.name] = kind
        return kind

    def every(self) -> tuple[K, ...]:
        """Return all kinds that lists offer, in the order of their names."""
        self._complete()
        return tuple(kind for _, kind in sorted(self._kinds.items()) if kind.is_offered)

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


P = TypeVar("P", bound=AnyParams)
R = TypeVar("R", bound=JobResult)


class Analysis(ABC, Generic[P, R]):
    """A kind of job: parts that can be computed anywhere and in any order, and a result made from their findings.

    `P` is the model of its parameters, whose docstring is the definition that users read, and `R` that of its result.
    An instance analyses one selection of runs, by settled parameters. The constructor raises BadInput, before anything
    is scored, if the analysis is impossible as asked.

    Three rules hold for every analysis. `parts` depends only on parameters and sizes, never on scores. `work` returns
    the same bytes for a part in every process, in any order, now or after a crash. `result` depends only on the
    findings of the parts. A job therefore has the same result for any number of processes.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """A few words, for people."""
    question: ClassVar[Question]
    """The question that the kind answers: pages group the kinds by it."""
    summary: ClassVar[str]
    """A sentence for people who choose a kind. It has no names of fields."""
    changes: ClassVar[int] = 0
    """It is increased whenever a result of this kind may differ. Results from before then are no longer used."""
    compares_pairs: ClassVar[bool] = False
    """True if runs are compared in pairs. Then the result names near-duplicates among them, which distort it."""
    about_runs_alone: ClassVar[bool] = False
    """True for a kind that needs no judgments: its matrices have a version without any. It shows what teams found, so
    only organisers may ask for the job, and only they see it.
    """
    needs_judgments: ClassVar[bool] = False
    """True for a kind that looks at judgments or rankings, so that a collection of scores has none of its jobs."""
    by_replicate: ClassVar[bool] = False
    """True for a kind that reads rankings: each replicate of a system is a run. To others a system is one run, with the
    means of its replicates (`Matrices.replicates` has the scores of each)."""
    is_change: ClassVar[bool] = False
    is_offered: ClassVar[bool] = True
    """False for a kind that is in no list, because it is asked for at an address of its own."""

    definition: ClassVar[str]
    params_model: ClassVar[type[AnyParams]]
    result_model: ClassVar[type[JobResult]]
    """The form of the result's JSON, which OpenAPI, docs/jobs.md and `/v1/job-kinds` show."""
    engine_version: ClassVar[int]
    """The version of everything that computes a result of this kind. It is part of a job's id.

    It increases with every change of the scoring and of the kind, so that equal requests then make new jobs.
    """
    is_for_organisers: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Read from the bases, so that a kind names its models once.
        params_model, result_model, *_ = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        if isinstance(params_model, TypeVar):
            return  # a base of several kinds
        cls.params_model, cls.result_model = params_model, result_model
        cls.definition = inspect.getdoc(params_model) or ""
        cls.engine_version = SCORING_VERSION + RESULTS_VERSION + cls.changes
        cls.is_for_organisers = cls.is_change or cls.about_runs_alone

    def __init__(self, matrices: Matrices, params: P) -> None:
        self.matrices, self.params = matrices, params

    @abstractmethod
    def parts(self) -> Sequence[float]:
        """Return the parts, each as a rough estimate of its cost in seconds of one core."""

    @abstractmethod
    def work(self, part: int) -> Arrays:
        """Return the findings of the part with this number: at least one array."""

    @abstractmethod
    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        """Return the fields of the kind's model of a result, from the findings of all parts, in their order.

        Undefined numbers are NaN. The fields of every result are not among them.
        """

    @classmethod
    def admit(cls, view: View) -> None:
        """Raise the error for a principal who may not ask for this kind."""
        if cls.is_for_organisers:
            view.require_organiser()
        else:
            view.require_free_scores()
        if cls.needs_judgments or cls.is_change:
            view.require_judged("this kind of job needs them")

    @classmethod
    def example(cls) -> dict[str, Any]:
        """Return a body that asks for this kind: the model's own example, or an example for each required parameter."""
        schema = schema_of(cls.params_model)
        required = {name: schema["properties"][name] for name in schema.get("required", ())}
        examples = schema.get("examples") or [{name: field["examples"][0] for name, field in required.items()}]
        return {"kind": cls.name, "params": examples[0]}


class Change(Analysis[P, R]):
    """An analysis whose result is a change of the collection, made in the transaction that ends the job.

    Either the change is made and the job has succeeded, or neither. `result` describes the change. It may also do what
    the parts could not, because it sees what has been stored in the meantime. Only organisers may ask for it.
    """

    is_change = by_replicate = True

    @classmethod
    @abstractmethod
    def find_same(cls, tx: Transaction, collection: Collection, params: P) -> StoredJob | None:
        """Return the job, under whatever id, that makes this very change, or has made the last one.

        Raise Conflict if there is nothing to change.
        """

    @classmethod
    def newest_job(cls, tx: Transaction, collection: Collection, params: P, *states: JobState) -> StoredJob | None:
        """Return the newest job that makes, or has made, this change: in the first of these states that has one."""
        for state in states:
            stored = jobs.page(
                tx, before=None, limit=MOST_LOOKED_AT, collection_id=collection.id, kind=cls.name, state=state
            )
            for job in stored:
                # By the parameters, not by the id: the id of a change depends on the version that it was made from.
                if job.params == params.shown():
                    return job
        return None

    @abstractmethod
    def lock(self, tx: Transaction, principal: Principal) -> None:
        """Lock the collection. Raise Forbidden or NotFound if the principal who asked may no longer change it."""

    @abstractmethod
    def apply(self, tx: Transaction, principal: Principal) -> bool:
        """Make the change that the last `result` has described, in a transaction that has locked the collection.

        Return False, and change nothing, if that is out of date. Then `result` must be called again.
        """


Kind = type[Analysis[Any, Any]]
CATALOGUE: KindCatalogue[Kind] = KindCatalogue("gainboard.analyses")
add_rule(StoredJob, "kind", lambda kind: kind in DERIVED_KINDS or CATALOGUE.has(kind))
every_kind, find_kind = CATALOGUE.every, CATALOGUE.find
A = TypeVar("A", bound=Kind)


def enter(kind: A) -> A:
    """Add a class to the catalogue of kinds of jobs, and return it: a decorator."""
    CATALOGUE.enter(kind)
    return kind
