"""One run by rank."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model


class RunProfileAnswer(Model):
    """The curves of one run. Lists by rank begin at rank 1; null if no topic counts."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    gains: str
    rel: int = Field(description="The lowest relevant level")
    depth: int
    judged_share: list[float | None] = Field(
        description="Share of judged documents among the first r retrieved, the mean over the topics that the run has"
    )
    gain: list[float | None] = Field(description="Mean cumulated gain at rank r, the metric CG@r")
    ideal_gain: list[float | None] = Field(description="Mean cumulated gain of the ideal rankings at rank r")
    recall: list[float] = Field(description="0, 0.1, ..., 1")
    precision: list[float | None] = Field(
        description="Mean interpolated precision at each recall, over the topics with relevant documents"
    )
    topics_scored: int = Field(description="Number of topics with relevant documents")
