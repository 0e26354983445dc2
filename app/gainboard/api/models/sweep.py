"""Mean scores over a grid of parameters."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.api.models.topic_groups import ChosenGroup


class ShownPoint(Model):
    """A metric of the grid."""

    label: str
    asked: str = Field(
        description="The expression that gave this metric; the first one, if several give the same metric"
    )
    parameters: dict[str, str] = Field(description="Its values of the varied parameters")
    topics_scored: int = Field(description="Number of topics in its means")


class SweptRun(Model):
    """A run's means, in the order of the points; null if a mean is undefined."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    means: list[float | None]


class SweepAnswer(Model):
    """Mean scores of runs at every point of a grid."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    topic_group: ChosenGroup | None = Field(None, description="The group of `topics=`; null for all topics")
    grid: dict[str, list[str]]
    points: list[ShownPoint] = Field(description="Each metric once, even if several combinations give it")
    runs: list[SweptRun]
