"""Name sets of topics, for scores over some topics."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import collection_option, connect_server, server_options, tell_of_refusal
from gainboard.cli.options import STANDARD_INPUT
from gainboard.cli.printing import format_option, print_json, print_many, print_utf8
from gainboard.client import Problem
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.api.models.collections import TopicGroupAnswer

COLUMNS = ("name", "topics", "judged")


def _list(parsed: argparse.Namespace) -> int:
    """List the topic groups of a collection: how many topics each has, and how many of these are judged."""
    with connect_server(parsed) as server:
        print_many(server.gainboard.topic_groups(server.collection), COLUMNS, parsed.format)
    return 0


def _show(parsed: argparse.Namespace) -> int:
    """Print the topics of a group, one on each line."""
    with connect_server(parsed) as server:
        found = server.gainboard.topic_group(server.collection, parsed.group)
    if parsed.json:
        print_json(found.model_dump(mode="json"))
    else:
        print_utf8()
        print("\n".join(found.members))
    return 0


def _put(parsed: argparse.Namespace) -> int:
    """Store a topic group in place of the one with its name (organisers). Topics are arguments, or in a file, separated
    by white space.
    """
    topics = [*parsed.topics, *(_read(parsed.file).split() if parsed.file else [])]
    if not topics:
        raise BadSetting("The group has no topics. Name them, or a file with them: --file FILE.")
    with connect_server(parsed) as server:
        _tell(server.gainboard.put_topic_group(server.collection, parsed.group, topics))
    return 0


def _replace(parsed: argparse.Namespace) -> int:
    """Replace all groups by those of a CSV file, whose header is `topic,group` (organisers). Groups that are not in the
    file are deleted.
    """
    source: Any = sys.stdin.buffer if parsed.file == STANDARD_INPUT else parsed.file
    with connect_server(parsed) as server:
        try:
            stored = server.gainboard.put_topic_groups(server.collection, source)
        except OSError as error:
            raise BadSetting(f"Cannot read {parsed.file}: {error.strerror or error}.") from error
        except Problem as problem:
            tell_of_refusal(parsed.file, problem)
            return 1
    for each in stored.items:
        _tell(each)
    if not stored.items:
        print("no topic groups")
    return 0


def _get(parsed: argparse.Namespace) -> int:
    """Print all groups as CSV, with a row for each topic of each group. `replace` takes the same form."""
    with connect_server(parsed) as server:
        print_utf8()
        print(server.gainboard.topic_groups_text(server.collection), end="")
    return 0


def _delete(parsed: argparse.Namespace) -> int:
    """Delete a topic group (organisers). Jobs and reports about it stay."""
    with connect_server(parsed) as server:
        server.gainboard.delete_topic_group(server.collection, parsed.group)
    print(f"{parsed.group}: deleted")
    return 0


def _tell(group: TopicGroupAnswer) -> None:
    judged = "" if group.judged is None else f", {group.judged:,} judged"
    print(f"{group.name}: {group.topics:,} topics{judged}")


def _read(path: str) -> str:
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read().decode()  # UTF-8, whatever the locale is
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="its name")


def _topics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", metavar="TOPIC", nargs="*", help="its topics")
    parser.add_argument("--file", metavar="FILE", help="a file with its topics; - is standard input")


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the CSV file; - is standard input")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON, with the topics that are not judged")


_ABOUT = together(collection_option, server_options)

COMMAND = Group(
    "topic-groups",
    __doc__,
    [
        Command(
            "list",
            "list the groups",
            _list,
            together(format_option, _ABOUT),
            [Example("gainboard topic-groups list -c web")],
        ),
        Command(
            "show",
            "print the topics of a group",
            _show,
            together(_named, _json, _ABOUT),
            [Example("gainboard topic-groups show hard -c web")],
        ),
        Command(
            "put",
            "store a group",
            _put,
            together(_named, _topics, _ABOUT),
            [Example("gainboard topic-groups put easy 4 5 6 -c web")],
        ),
        Command(
            "replace",
            "replace all groups",
            _replace,
            together(_file, _ABOUT),
            [
                Example(
                    "gainboard topic-groups get -c web | gainboard topic-groups replace - -c web",
                    "all groups, from a CSV file with the columns topic and group",
                )
            ],
        ),
        Command(
            "get",
            "print all groups as CSV",
            _get,
            _ABOUT,
            [Example("gainboard topic-groups get -c web > groups.csv")],
        ),
        Command(
            "delete",
            "delete a group",
            _delete,
            together(_named, _ABOUT),
            [Example("gainboard topic-groups delete spare -c web")],
        ),
    ],
)
