"""The bodies of requests for a job or a report: one model for each kind in the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from fastapi import Body
from pydantic import ConfigDict, Field, StringConstraints, create_model

from gainboard.analyses.job_kinds import AnyKind, every_kind
from gainboard.analyses.params import AnyParams
from gainboard.analyses.report_kinds import ReportParams, every_report_kind
from gainboard.jobs.report_planning import MOST_COLLECTIONS
from gainboard.notation.types import JsonBody

Names = Annotated[
    list[Annotated[str, StringConstraints(max_length=128)]], Field(min_length=1, max_length=MOST_COLLECTIONS)
]


# The models defer their build, and those of single kinds are never built: the union builds its members at once.
class JobRequest(JsonBody):
    """A request for a job: its kind and its parameters."""

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


def _body(base: type[JsonBody], member: str, kinds: Sequence[AnyKind], params: Callable[[AnyKind], Any]) -> Any:
    """Return the type of a body: one model for each kind, chosen by the body's `member`. `params` makes their field."""
    models: list[type[JsonBody]] = []
    examples: dict[str, Any] = {}
    for kind in kinds:
        name = "".join(part.capitalize() for part in kind.name.split("-"))
        fields: dict[str, Any] = {member: (Literal[kind.name], Field()), "params": (kind.params_model, params(kind))}
        models.append(create_model(f"{name}Request", __base__=base, __doc__=kind.definition, **fields))
        summary = kind.name if member == "kind" else kind.title
        examples[kind.name] = {"summary": summary, "value": kind.example()}
    return Annotated[Union[tuple(models)], Body(discriminator=member, openapi_examples=examples)]  # noqa: UP007


# Type checkers cannot read what is made of the catalogue.
if TYPE_CHECKING:
    KindName = str
    ReportName = str
    NewJob = JobRequest
    NewReport = ReportRequest
else:
    KindName = Literal[tuple(kind.name for kind in every_kind())]
    ReportName = Literal[tuple(kind.name for kind in every_report_kind())]
    NewJob = _body(
        JobRequest,
        "kind",
        every_kind(),
        lambda kind: Field(description="The kind of job; `/v1/job-kinds` describes every kind"),
    )
    NewReport = _body(
        ReportRequest,
        "name",
        every_report_kind(),
        lambda kind: Field(kind.params_model(), description="The report; `/v1/report-kinds` describes every report"),
    )
