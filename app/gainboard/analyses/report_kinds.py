"""Kinds of reports.

A kind is a value, made at the end of its file in `analyses/reports`; there is no other list of kinds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from pydantic import ConfigDict, Field, StringConstraints

from gainboard.analyses.job_kinds import KindCatalogue
from gainboard.analyses.params import MOST_RUNS, Judgments, RunType, Seed, Version
from gainboard.analyses.report_items import LeftOut, ReportItem
from gainboard.analyses.result_models import JobResult
from gainboard.metrics import linear_ratio, parse_gains
from gainboard.notation.types import JsonBody
from gainboard.store.damage import add_rule
from gainboard.store.job_records import StoredReport
from gainboard.vocabulary import OFFICIAL

T = TypeVar("T")
PerCollection: TypeAlias = T | dict[str, T]
"""One value for all collections of a report, or values by collection."""
TopRuns = Annotated[int, Field(ge=2, le=MOST_RUNS)]
Cutoffs = Annotated[list[Annotated[int, Field(ge=1, le=100_000)]], Field(min_length=1, max_length=5)]
SubsetSize = Annotated[int, Field(ge=1)]


class ReportParams(JsonBody):
    """The parameters of every report. Their validators are built on first use."""

    model_config = ConfigDict(defer_build=True)

    qrels: dict[str, Version] = Field(
        {}, description="The qrels version of each collection, by its name; the newest by default", max_length=100
    )
    judgments: dict[str, Judgments] = Field(
        {}, description="The judgment set of each collection, by its name; the official one by default", max_length=100
    )
    drop_identical: bool = Field(False, description="Whether to leave out a team's second identical run")
    condensed: bool = Field(
        False, description="Whether all metrics leave unjudged documents out of rankings (Sakai 2007)"
    )
    topics: Annotated[str, StringConstraints(min_length=1, max_length=128)] = Field(
        "all", description="`all`, or the name of a topic group, which each of the collections has", examples=["hard"]
    )
    type: RunType | None = Field(None, description="Only runs of this type; all by default", examples=["automatic"])
    seed: Seed = 0

    def of(self, name: str, about: About) -> Any:
        """Return the value of a parameter for one collection. A dictionary has values by collection."""
        value = getattr(self, name)
        if not isinstance(value, dict):
            return value
        return value.get(about.collection, type(self).model_fields[name].get_default(call_default_factory=True))


P = TypeVar("P", bound=ReportParams)
R = TypeVar("R", bound=JobResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The facts about a collection of a report. Its plan may depend on nothing else."""

    collection: str
    highest_level: int
    depth: int
    qrels_version: int
    versions: tuple[int, ...]
    """The published versions of the judgment set, in the order of their first publication."""
    topics: int
    runs: int
    teams: int
    judgment_set: str = OFFICIAL
    intents: bool = False


def default_gains(params: ReportParams, about: About) -> str:
    """Return the gains that a report with a parameter `gains` has on one collection, by default h:...:2:1."""
    return parse_gains(params.of("gains", about) or linear_ratio(about.highest_level), about.highest_level).label


@dataclass(frozen=True, slots=True)
class Needed:
    """A job that a report needs: its kind, and its parameters as a client would send them.

    `judgments`, `qrels`, `seed` and `drop_identical` are the report's if the parameters do not give them. `shows` names
    the tables and figures that are missing without the job.
    """

    key: str
    kind: str
    params: Mapping[str, Any]
    shows: str


@dataclass(frozen=True)
class JobResults:
    """The results of the jobs of one collection, by the keys under which they were needed."""

    about: About
    results: Mapping[str, JobResult] = field(repr=False)

    def __contains__(self, key: str) -> bool:
        return key in self.results

    def find(self, key: str, model: type[R]) -> R | None:
        """Return the result of the job that was needed under this key, which is of this model; None without one."""
        result = self.results.get(key)
        assert result is None or isinstance(result, model)
        return result


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportKind(Generic[P]):
    """A kind of report: its parameters, the jobs of one collection, and how their results are laid out.

    `plan` depends only on the facts about one collection, and `lay_out` only on the results of the possible jobs, so
    both are the same at any time. `lay_out` follows the order of the paper.
    """

    name: str
    title: str
    params_model: type[ReportParams]
    reference: str
    plan: Callable[[About, P], Iterable[Needed | LeftOut]]
    lay_out: Callable[[JobResults, P], Iterable[ReportItem]]
    example_collection: str = "demo"
    is_offered: bool = True

    @property
    def definition(self) -> str:
        """The description of the report: the docstring of the model of its parameters."""
        return inspect.getdoc(self.params_model) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of the description, for people who choose a kind."""
        return " ".join(self.definition.split("\n\n")[0].split())

    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind."""
        return {"name": self.name, "collections": [self.example_collection]}


CATALOGUE: KindCatalogue[ReportKind[Any]] = KindCatalogue("gainboard.analyses.reports")
add_rule(StoredReport, "name", CATALOGUE.has)
enter, every_report_kind, find_report_kind = CATALOGUE.enter, CATALOGUE.every, CATALOGUE.find
