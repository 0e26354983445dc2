"""Kinds of reports. A kind is a value, made at the end of its one file in `work/reports`; nothing else lists kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gainboard.work.catalogue import AnyKind, KindCatalogue
from gainboard.work.layout.laid import Laid, LeftOut
from gainboard.work.params import Seed

Version = Annotated[int, Field(strict=True, ge=1, lt=2**31)]


class ReportParams(BaseModel):
    """Parameters of every report."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    qrels: dict[str, Version] = Field(
        {}, description="The qrels version of a collection, by its name; the newest if none", max_length=100
    )
    drop_identical: bool = Field(False, description="Whether a team's second identical run is left out")
    seed: Seed = 0


P = TypeVar("P", bound=ReportParams)
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a report is about, in each of its collections: all that its plan may depend on."""

    collection: str
    highest_level: int
    depth: int
    qrels_version: int
    versions: tuple[int, ...]
    """Qrels versions that are published, the first of them first."""
    topics: int
    runs: int
    teams: int


@dataclass(frozen=True, slots=True)
class Needed:
    """A job that a report needs: its kind, and its parameters as a client would send them.

    `qrels`, `seed` and `drop_identical` are the report's where the parameters do not say otherwise. `shows` names the
    tables and figures that are not there without it, for where it cannot be had.
    """

    key: str
    kind: str
    params: Mapping[str, Any]
    shows: str


@dataclass(frozen=True)
class JobResults(Mapping[str, Result]):
    """The results of the jobs of one collection, by the keys under which they were needed."""

    about: About
    results: Mapping[str, Result] = field(repr=False)

    def __getitem__(self, key: str) -> Result:
        return self.results[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportKind(AnyKind[P]):
    """A kind of report: what may be asked of it, the jobs of one collection, and how their results are laid out.

    `plan` follows from the facts about one collection alone, and `lay_out` from the results of the jobs planned that
    could be had: both are the same at any time. `lay_out` goes in the order of the paper.
    """

    title: str
    reference: str
    plan: Callable[[About, P], Iterable[Needed | LeftOut]]
    lay_out: Callable[[JobResults, P], Iterable[Laid]]

    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind."""
        return {"name": self.name, "collections": ["demo"]}


CATALOGUE: KindCatalogue[ReportKind[Any]] = KindCatalogue("gainboard.work.reports")
enter, every_report_kind, find_report_kind = CATALOGUE.enter, CATALOGUE.every, CATALOGUE.find
