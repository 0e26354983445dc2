"""The bodies of requests for a job or a report: one model for each kind in the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from fastapi import Body
from pydantic import ConfigDict, Field, StringConstraints, create_model

from gainboard.analyses.job_kinds import AnyKind, JobKind, every_kind
from gainboard.analyses.params import AnyParams
from gainboard.analyses.report_kinds import ReportKind, ReportParams, every_report_kind
from gainboard.jobs.report_planning import MOST_COLLECTIONS
from gainboard.notation.types import JsonBody

Names = Annotated[
    list[Annotated[str, StringConstraints(max_length=128)]], Field(min_length=1, max_length=MOST_COLLECTIONS)
]


class JobRequest(JsonBody):
    """A request for a job: its kind and its parameters. The union of all kinds is built at once, and each never."""

    model_config = ConfigDict(defer_build=True)

    kind: str
    params: AnyParams


class ReportRequest(JsonBody):
    """A request for a report: its name, its collections and its parameters."""

    model_config = ConfigDict(defer_build=True)

    name: str
    collections: Names = Field(
        description="With several collections: the tables of each one, and their unweighted average"
    )
    params: ReportParams


def _body(
    base: type[JsonBody], member: str, params: Callable[[Any], Any], summaries: Mapping[AnyKind[Any], str]
) -> Any:
    """Make the type of a body: one model for each kind, chosen by the body's `member`."""
    models = [_asked(base, member, params(kind), kind) for kind in summaries]
    examples: dict[str, Any] = {
        kind.name: {"summary": summary, "value": kind.example()} for kind, summary in summaries.items()
    }
    return Annotated[Union[tuple(models)], Body(discriminator=member, openapi_examples=examples)]  # noqa: UP007


def _asked(base: type[JsonBody], member: str, params: Any, kind: AnyKind[Any]) -> type[JsonBody]:
    name = "".join(part.capitalize() for part in kind.name.split("-"))
    fields: dict[str, Any] = {member: (Literal[kind.name], Field()), "params": (kind.params, params)}
    return create_model(f"{name}Request", __base__=base, __doc__=kind.definition, **fields)


def _of_job(kind: JobKind[Any, Any]) -> Any:
    return Field(description="The kind of job; `/v1/job-kinds` describes every kind")


def _of_report(kind: ReportKind[Any]) -> Any:
    return Field(kind.params(), description="The report; `/v1/report-kinds` describes every report")


if TYPE_CHECKING:
    KindName = str
    ReportName = str
    NewJob = JobRequest
    NewReport = ReportRequest
else:
    KindName = Literal[tuple(kind.name for kind in every_kind())]
    ReportName = Literal[tuple(kind.name for kind in every_report_kind())]
    NewJob = _body(JobRequest, "kind", _of_job, {kind: kind.name for kind in every_kind()})
    NewReport = _body(ReportRequest, "name", _of_report, {kind: kind.title for kind in every_report_kind()})
