"""Name sets of topics, for scores over some topics."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.connecting import OneCollection, uploading
from gainboard.cli.options import STANDARD_INPUT, readable
from gainboard.cli.printing import Format, print_json, print_many, print_utf8
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.api.models.collections import TopicGroupAnswer

GroupName = Annotated[str, Argument("its name")]


@command("list the groups", Example("gainboard topic-groups list -c web"))
def list_(at: OneCollection, *, format: Format = "table") -> None:
    """List the topic groups of a collection: how many topics each has, and how many of these are judged."""
    with at.connect() as gainboard:
        print_many(gainboard.topic_groups(at.collection), ("name", "topics", "judged"), format)


@command("print the topics of a group", Example("gainboard topic-groups show hard -c web"))
def show(
    at: OneCollection,
    group: GroupName,
    *,
    json: Annotated[bool, "as JSON, with the topics that are not judged"] = False,
) -> None:
    """Print the topics of a group, one on each line."""
    with at.connect() as gainboard:
        answer = gainboard.topic_group(at.collection, group)
    if json:
        print_json(answer.model_dump(mode="json"))
    else:
        print_utf8()
        print("\n".join(answer.members))


@command("store a group", Example("gainboard topic-groups put easy 4 5 6 -c web"))
def put(
    at: OneCollection,
    group: GroupName,
    topics: Annotated[Sequence[str], Argument("its topics", metavar="TOPIC")] = (),
    *,
    file: Annotated[str | None, "a file with its topics; - is standard input"] = None,
) -> None:
    """Store a topic group in place of the one with its name (organisers). Topics are arguments, or in a file, separated
    by white space.
    """
    if file:
        with readable(file):
            # UTF-8, whatever the locale is
            content = sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()
            topics = [*topics, *content.decode().split()]
    if not topics:
        raise BadSetting("The group has no topics. Name them, or a file with them: --file FILE.")
    with at.connect() as gainboard:
        _tell(gainboard.put_topic_group(at.collection, group, topics))


@command(
    "replace all groups",
    Example(
        "gainboard topic-groups get -c web | gainboard topic-groups replace - -c web",
        "all groups, from a CSV file with the columns topic and group",
    ),
)
def replace(at: OneCollection, file: Annotated[str, Argument("the CSV file; - is standard input")]) -> None:
    """Replace all groups by those of a CSV file, whose header is `topic,group` (organisers). Groups that are not in the
    file are deleted.
    """
    with at.connect() as gainboard, uploading(file) as source:
        stored = gainboard.put_topic_groups(at.collection, source)
    for group in stored.items:
        _tell(group)
    if not stored.items:
        print("no topic groups")


def _tell(group: TopicGroupAnswer) -> None:
    judged = "" if group.judged is None else f", {group.judged:,} judged"
    print(f"{group.name}: {group.topics:,} topics{judged}")


@command("print all groups as CSV", Example("gainboard topic-groups get -c web > groups.csv"))
def get(at: OneCollection) -> None:
    """Print all groups as CSV, with a row for each topic of each group. `replace` takes the same form."""
    with at.connect() as gainboard:
        print_utf8()
        print(gainboard.topic_groups_text(at.collection), end="")


@command("delete a group", Example("gainboard topic-groups delete spare -c web"))
def delete(at: OneCollection, group: GroupName) -> None:
    """Delete a topic group (organisers). Jobs and reports about it stay."""
    with at.connect() as gainboard:
        gainboard.delete_topic_group(at.collection, group)
    print(f"{group}: deleted")
