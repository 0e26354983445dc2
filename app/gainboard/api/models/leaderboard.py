"""Runs ranked by the mean of one metric."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.store.job_records import JobState


class LeaderboardRow(Model):
    """One run's place; runs with equal means share a rank, runs without a mean come last."""

    rank: int
    name: str
    team: str
    mean: dict[str, float | None]
    interval: dict[str, tuple[float, float] | None] = Field(
        description="95 %, Student's t over topics; not cut to the metric's range"
    )
    groups: list[str] | None = Field(
        description="Letters: runs that share one do not differ significantly. Null until `groups_job` has succeeded"
    )


class ShownGroupsJob(Model):
    """The job of the groups: POST its `kind` and `params` to have it. Its `state` is null if nobody has."""

    kind: str
    params: dict[str, Any]
    id: str
    state: JobState | None
    outdated: bool = Field(False, description="Whether only an earlier version has computed the groups")
    url: str = Field(description="Where the job is once it has been asked for")


class LeaderboardAnswer(Model):
    """Runs ranked by the mean of one metric."""

    collection: str
    qrels_version: int
    by: str
    metrics: list[str]
    asked: dict[str, str]
    rows: list[LeaderboardRow]
    topics_scored: dict[str, int] | None = Field(description="Null while the judgments are hidden")
    withheld: dict[str, str] = Field(description="Runs that get no score while the judgments are hidden, and why")
    groups_job: ShownGroupsJob | None = Field(
        description="Randomised Tukey HSD, 5000 permutations, alpha 0.05; null where there is nothing to compare"
    )
