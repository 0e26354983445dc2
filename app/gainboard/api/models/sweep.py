"""Mean scores over a grid of parameters."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model


class ShownPoint(Model):
    """A metric of the grid."""

    label: str
    asked: str = Field(description="The expression that it came from; the first one, if several come to the same")
    parameters: dict[str, str] = Field(description="The values of the grid that it has")
    topics_scored: int = Field(description="Topics in its means")


class SweptRun(Model):
    """A run's means, in the order of the points; null where one is undefined."""

    name: str
    team: str
    means: list[float | None]


class SweepAnswer(Model):
    """Mean scores of runs at every point of a grid."""

    collection: str
    qrels_version: int
    grid: dict[str, list[str]]
    points: list[ShownPoint] = Field(description="Each metric once, though several combinations come to it")
    runs: list[SweptRun]
