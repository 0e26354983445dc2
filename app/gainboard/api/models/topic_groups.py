"""Topic groups: named sets of topics of a collection."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from gainboard.api.models.answers import Model

TOPICS_QUERY: Final = (
    "`all`, or the name of a topic group: scores are then over its topics alone. Only principals who may see scores "
    "under any parameters may name a group"
)
BY_GROUP_QUERY: Final = (
    "Names of topic groups, each of which adds the means over its topics; `all` names all groups. Only principals who "
    "may see scores under any parameters get them"
)
TopicsAsked = Annotated[str, StringConstraints(min_length=1, max_length=128)]


def group_of(topics: str | None) -> str | None:
    """Return the name of the group that a query asks for; None for all topics."""
    return None if topics == "all" else topics


class ChosenGroup(Model):
    """The topics that an answer is about. `name` is null if the request gave a list of topics."""

    name: str | None
    topics: int = Field(description="Number of its topics")
    judged: int = Field(description="Number of its topics that this qrels version judges. These alone count")
    unjudged: list[str] = Field(description="Its topics without judgments")


class ShownTopicGroup(Model):
    """A named set of topics. What depends on the judgments is null for those who may not see them."""

    name: str
    topics: int = Field(description="Number of its topics")
    judged: int | None = Field(description="Number of its topics that the published qrels judge; null without them")


class WholeTopicGroup(ShownTopicGroup):
    """A topic group with its topics."""

    members: list[str] = Field(description="The topics, in byte order")
    unjudged: list[str] | None = Field(description="Topics that the published qrels do not judge; null without them")
