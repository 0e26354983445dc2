"""The leaderboard: runs ranked by their mean score under one metric."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.api.models.topic_groups import ChosenGroup

BOARD_COLUMNS = ("rank", "run", "team", "metric", "mean", "low", "high", "groups", "late", "best_rank", "worst_rank")
"""The columns of a leaderboard as CSV."""


class GroupColumn(ChosenGroup):
    """A group whose means are beside those of the board."""

    topics_scored: dict[str, int] = Field(description="Number of topics in the mean, by label")


class LeaderboardRow(Model):
    """One run. Runs with equal means share a rank; runs without a mean come last."""

    rank: int
    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    mean: dict[str, float | None]
    interval: dict[str, tuple[float, float] | None] = Field(
        description="95 % confidence interval, Student's t over topics; it may exceed the metric's range"
    )
    groups: list[str] | None = Field(
        description="Letters: runs that share a letter are not told apart by `groups_test`, which does not show that "
        "they are equal. Null without `groups_test`"
    )
    by_group: dict[str, dict[str, float | None]] = Field(
        {}, description="The means over the topics of each group of `by_group=`: by group, then label"
    )
    rank_set: tuple[int, int] | None = Field(
        None,
        description="The best and the worst rank that the run may have, by the same test: 1 plus the number of runs "
        "that are significantly better, to the number of runs less those that are significantly worse. Null without "
        "`groups_test`",
    )


class GroupsTest(Model):
    """The test of all pairs of runs under the metric `by`, on the topics on which all runs with a mean have scores."""

    name: str = Field(examples=["bootstrap-range"])
    alpha: float
    draws: int = Field(description="Number of bootstrap samples of the topics")
    seed: int
    topics: int = Field(description="Number of topics that the test compares")
    pairs: int = Field(description="Number of pairs of runs")
    different_pairs: int = Field(description="Number of pairs that the test tells apart")


class StandardOfBoard(Model):
    """The standard of the scores. Its list of runs is part of the request, so new runs do not change the scores."""

    form: str = Field(description="`normal`, `linear` or `empirical`")
    reference: list[str] = Field(description="The reference runs")
    topics_left_out: dict[str, list[str]] = Field(
        description="Topics on which the reference runs score alike, by label: they have no standardised scores"
    )


class LeaderboardAnswer(Model):
    """Runs ranked by their mean score under one metric."""

    collection: str
    qrels_version: int | None = Field(description="Null while the judgments are hidden")
    judgment_set: str = Field("official", description="The judgment set of the version")
    by: str
    topic_group: ChosenGroup | None = Field(None, description="The group of `topics=`; null for all topics")
    by_group: list[GroupColumn] = Field([], description="The groups of `by_group=`, in their order")
    metrics: list[str]
    asked: dict[str, str]
    rows: list[LeaderboardRow]
    topics_scored: dict[str, int] | None = Field(description="Null while the judgments are hidden")
    standardised: StandardOfBoard | None = Field(
        None, description="With `standardise=`: means and intervals are of standardised scores. Else null"
    )
    withheld: dict[str, str] = Field(description="Runs without a score while the judgments are hidden, and why")
    groups_test: GroupsTest | None = Field(description="The test behind `groups` and `rank_set`; null if there is none")
    no_groups_because: str | None = Field(description="Why there is no `groups_test`; null if there is one")
