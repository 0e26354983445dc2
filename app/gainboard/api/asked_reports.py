"""The body that asks for a report: one of a model for each kind of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from gainboard.work.outlines import MOST_COLLECTIONS
from gainboard.work.report_kinds import ReportKind, ReportParams, every_report_kind

Names = Annotated[
    list[Annotated[str, StringConstraints(max_length=128)]], Field(min_length=1, max_length=MOST_COLLECTIONS)
]


class AskedReport(BaseModel):
    """A report, the collections that it is about, and its parameters."""

    model_config = ConfigDict(extra="forbid")

    name: str
    collections: Names = Field(description="Of several, each one's tables and their unweighted average")
    params: ReportParams


def _asked(kind: ReportKind[Any]) -> type[AskedReport]:
    name = "".join(part.capitalize() for part in kind.name.split("-"))
    fields: dict[str, Any] = {
        "name": (Literal[kind.name], Field()),
        "params": (kind.params, Field(kind.params(), description="`/v1/report-kinds` describes them")),
    }
    return create_model(f"Asked{name}", __base__=AskedReport, __doc__=kind.definition, **fields)


if TYPE_CHECKING:
    ReportName = str
    NewReport = AskedReport
else:
    ReportName = Literal[tuple(kind.name for kind in every_report_kind())]
    NewReport = Annotated[
        Union[tuple(_asked(kind) for kind in every_report_kind())],  # noqa: UP007
        Body(
            discriminator="name",
            openapi_examples={
                kind.name: {"summary": kind.title, "value": kind.example()} for kind in every_report_kind()
            },
        ),
    ]
