"""`/v1/metrics`: the catalogue, as the kernels themselves describe it"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.api.problems import documented
from app.metrics import Metric, every_metric

router = APIRouter(prefix="/v1", tags=["metrics"], responses=documented())


class ShownParameter(BaseModel):
    """A parameter of a metric expression."""

    name: str
    default: Any = Field(description="Null where it depends on the collection's levels")
    limits: str
    schema_: dict[str, Any] = Field(alias="schema")
    description: str


class ShownMetric(BaseModel):
    """A metric."""

    name: str
    title: str
    aliases: list[str]
    definition: str
    reference: str
    graded: bool = Field(description="Whether gains matter to it")
    bounded: bool = Field(description="Whether all its scores lie in [0, 1]")
    takes_cutoff: bool
    parameters: list[ShownParameter]


class Catalogue(BaseModel):
    """Every metric."""

    items: list[ShownMetric]


@router.get("/metrics")
def list_metrics() -> Catalogue:
    """Every metric: its names, parameters with defaults and limits, definition and source."""
    return Catalogue(items=[_show(metric) for metric in every_metric()])


def _show(metric: Metric) -> ShownMetric:
    return ShownMetric(
        name=metric.name,
        title=metric.title,
        aliases=list(metric.aliases),
        definition=metric.definition,
        reference=metric.reference,
        graded=metric.graded,
        bounded=metric.bounded,
        takes_cutoff=metric.takes_cutoff,
        parameters=[
            ShownParameter(
                name=each.name,
                default=each.default,
                limits=each.limits,
                schema=dict(each.schema),
                description=each.description,
            )
            for each in metric.parameters
        ],
    )
