"""Calls about topic groups."""

from __future__ import annotations

from collections.abc import Sequence

from gainboard.api.models.collections import TopicGroupAnswer, WholeTopicGroup
from gainboard.api.models.common import Page
from gainboard.client.calling import call, listing
from gainboard.client.requests import Call, Pages, Request, Upload, api_path, delete, read_model, read_text
from gainboard.notation.sources import Source


class TopicGroupCalls:
    """Named sets of topics of a collection."""

    @listing
    def topic_groups(self, collection: str) -> Pages[TopicGroupAnswer]:
        """List the topic groups, by name."""
        return Pages(Page[TopicGroupAnswer], api_path("collections", collection, "topic-groups"))

    @call
    def topic_group(self, collection: str, name: str) -> Call[WholeTopicGroup]:
        """Return one topic group, with its topics."""
        return read_model(WholeTopicGroup, Request("GET", api_path("collections", collection, "topic-groups", name)))

    @call
    def put_topic_group(self, collection: str, name: str, topics: Sequence[str]) -> Call[WholeTopicGroup]:
        """Store a topic group in place of the one with its name (organisers)."""
        path = api_path("collections", collection, "topic-groups", name)
        return read_model(WholeTopicGroup, Request("PUT", path, json=list(topics)))

    @call
    def delete_topic_group(self, collection: str, name: str) -> Call[None]:
        """Delete a topic group (organisers)."""
        return delete(api_path("collections", collection, "topic-groups", name))

    @call
    def put_topic_groups(self, collection: str, file: Source) -> Call[Page[TopicGroupAnswer]]:
        """Replace all topic groups by those of a CSV file with the columns `topic` and `group` (organisers)."""
        path = api_path("collections", collection, "topic-groups")
        return read_model(Page[TopicGroupAnswer], Request("PUT", path, upload=Upload.of(file)))

    @call
    def topic_groups_text(self, collection: str) -> Call[str]:
        """Return all topic groups as CSV, which `put_topic_groups` takes."""
        path = api_path("collections", collection, "topic-groups")
        return read_text(Request("GET", path, accept="text/csv"))
