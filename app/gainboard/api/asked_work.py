"""The bodies that ask for a job or a report: each one of a model for each kind of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from gainboard.work.job_kinds import Kind, every_kind
from gainboard.work.outlines import MOST_COLLECTIONS
from gainboard.work.params import Params
from gainboard.work.report_kinds import ReportKind, ReportParams, every_report_kind

Names = Annotated[
    list[Annotated[str, StringConstraints(max_length=128)]], Field(min_length=1, max_length=MOST_COLLECTIONS)
]
AnyKind = Kind[Any] | ReportKind[Any]


class AskedJob(BaseModel):
    """A kind of job, and its parameters."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    params: Params


class AskedReport(BaseModel):
    """A report, the collections that it is about, and its parameters."""

    model_config = ConfigDict(extra="forbid")

    name: str
    collections: Names = Field(description="Of several, each one's tables and their unweighted average")
    params: ReportParams


def _asked(base: type[BaseModel], kind: AnyKind, member: str, params: Any) -> type[BaseModel]:
    """Make the model of a body that asks for this kind, which it names in its `member`."""
    name = "".join(part.capitalize() for part in kind.name.split("-"))
    fields: dict[str, Any] = {member: (Literal[kind.name], Field()), "params": (kind.params, params)}
    return create_model(f"Asked{name}", __base__=base, __doc__=kind.definition, **fields)


def _body(models: Sequence[type[BaseModel]], kinds: Sequence[AnyKind], member: str, summaries: Sequence[str]) -> Any:
    examples: dict[str, Any] = {
        kind.name: {"summary": summary, "value": kind.example()} for kind, summary in zip(kinds, summaries, strict=True)
    }
    return Annotated[Union[tuple(models)], Body(discriminator=member, openapi_examples=examples)]  # noqa: UP007


if TYPE_CHECKING:
    KindName = str
    ReportName = str
    NewJob = AskedJob
    NewReport = AskedReport
else:
    _JOBS, _REPORTS = every_kind(), every_report_kind()
    KindName = Literal[tuple(kind.name for kind in _JOBS)]
    ReportName = Literal[tuple(kind.name for kind in _REPORTS)]
    _OF_JOBS, _OF_REPORTS = "`/v1/job-kinds` describes them", "`/v1/report-kinds` describes them"
    NewJob = _body(
        [_asked(AskedJob, kind, "kind", Field(description=_OF_JOBS)) for kind in _JOBS],
        _JOBS,
        "kind",
        [kind.name for kind in _JOBS],
    )
    NewReport = _body(
        [_asked(AskedReport, kind, "name", Field(kind.params(), description=_OF_REPORTS)) for kind in _REPORTS],
        _REPORTS,
        "name",
        [kind.title for kind in _REPORTS],
    )
