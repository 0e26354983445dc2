"""The levels by rank of one topic."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model


class JudgedLevel(Model):
    """The number of documents judged at one relevance level."""

    level: int
    name: str
    documents: int


class ShownTopicRanking(Model):
    """One run's ranking of the topic. Documents at ranks that are not listed are not judged."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    retrieved: int = Field(description="Number of documents in the whole ranking; 0 if the run lacks the topic")
    ranks: list[int] = Field(description="The ranks of the judged documents, up to `depth`")
    levels: list[int] = Field(description="Their relevance levels")


class TopicRankingsAnswer(Model):
    """The rankings of one topic by all runs, and its ideal ranking."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    topic: str
    depth: int
    judged: list[JudgedLevel] = Field(description="The highest level first")
    judged_below_0: int = Field(description="Number of documents judged below level 0")
    ideal: list[int] = Field(
        description="The levels of the ideal ranking by rank, up to `depth`: all relevant documents, the highest level "
        "first"
    )
    runs: list[ShownTopicRanking]
