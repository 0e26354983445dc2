"""The body that asks for a job: one of a model for each kind of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field, create_model

from gainboard.work.job_kinds import Kind, every_kind
from gainboard.work.params import Params


class AskedJob(BaseModel):
    """A kind of job, and its parameters."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    params: Params


def _asked(kind: Kind[Any]) -> type[AskedJob]:
    name = "".join(part.capitalize() for part in kind.name.split("-"))
    fields: dict[str, Any] = {
        "kind": (Literal[kind.name], Field()),
        "params": (kind.params, Field(description="`/v1/job-kinds` describes them")),
    }
    return create_model(f"Asked{name}", __base__=AskedJob, __doc__=kind.definition, **fields)


if TYPE_CHECKING:
    KindName = str
    NewJob = AskedJob
else:
    KindName = Literal[tuple(kind.name for kind in every_kind())]
    NewJob = Annotated[
        Union[tuple(_asked(kind) for kind in every_kind())],  # noqa: UP007
        Body(
            discriminator="kind",
            openapi_examples={kind.name: {"summary": kind.name, "value": kind.example()} for kind in every_kind()},
        ),
    ]
