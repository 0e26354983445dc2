"""Make, list and change collections."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import connect_server, server_options
from gainboard.cli.options import parse_pair, parse_value
from gainboard.cli.printing import format_option, print_many, print_one
from gainboard.errors import BadSetting

SETTINGS = ("title", "gains", "depth", "order_by", "metrics", "public")
COLUMNS = ("name", "title", "levels", "gains", "policy.phase", "public", "qrels_version", "created_at")


def _create(parsed: argparse.Namespace) -> int:
    """Make a collection (organisers of the instance)."""
    with connect_server(parsed) as server:
        settings = _settings(parsed)
        print_one(server.gainboard.create_collection(server.collection, settings.pop("levels"), **settings), "table")
    return 0


def _list(parsed: argparse.Namespace) -> int:
    """List the collections that you see."""
    with connect_server(parsed) as server:
        print_many(server.gainboard.collections(), COLUMNS, parsed.format)
    return 0


def _show(parsed: argparse.Namespace) -> int:
    """Show the settings of a collection, its policy, and what its judgments amount to."""
    with connect_server(parsed) as server:
        print_one(server.gainboard.collection(server.collection), parsed.format)
    return 0


def _change(parsed: argparse.Namespace) -> int:
    """Change settings of a collection; what is not named stays (organisers). Levels and depth only while nothing is
    stored. Once runs are judged, a job changes the order, which is then the only setting of the command."""
    with connect_server(parsed) as server:
        changed = server.gainboard.change_collection(server.collection, **_settings(parsed))
        print_one(changed, "table")
    if parsed.order_by not in (None, changed.order_by):
        again = f"gainboard job list -c {changed.name} --kind rejudge"
        print(f"runs are read again to order them by {parsed.order_by}; to follow it: {again}", file=sys.stderr)
    return 0


def _delete(parsed: argparse.Namespace) -> int:
    """Take a collection out of sight, with all runs and judgments; its name is free again (organisers). Asks first."""
    with connect_server(parsed) as server:
        name = server.collection
        if not (parsed.yes or _confirmed(name)):
            raise BadSetting(f"{name} was not deleted.")
        server.gainboard.delete_collection(name)
    print(f"{name}: deleted")
    return 0


def _confirmed(name: str) -> bool:
    if not sys.stdin.isatty():
        raise BadSetting("Nobody is there to be asked; say --yes to delete the collection.")
    print(f"To delete {name} with all its runs and judgments, type its name: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == name


def _settings(parsed: argparse.Namespace) -> dict[str, Any]:
    given = {name: value for name in SETTINGS if (value := getattr(parsed, name)) is not None}
    if parsed.levels is not None:
        levels = parse_value(parsed.levels)
        given["levels"] = [levels] if isinstance(levels, str) else levels
    if parsed.topics is not None:
        given["topics"] = _topics(parsed.topics)
    return given | ({"policy": dict(parsed.policy)} if parsed.policy else {})


def _topics(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().split()
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("collection", metavar="COLLECTION", help="its name")


def _setting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", help="what people call it")
    parser.add_argument("--gains", metavar="GAINS", help="the default gain setting: 3:2:1 (highest first), linear, ...")
    parser.add_argument("--depth", type=int, help="ranks of a run that count")
    parser.add_argument("--order-by", metavar="ORDER", help="what decides a document's rank: score, score32, rank")
    parser.add_argument("--topics", metavar="FILE", help="a file of the topics, where they are known before judgments")
    parser.add_argument(
        "-m", "--metric", dest="metrics", metavar="METRIC", action="append", help="one shown by default"
    )
    parser.add_argument(
        "--public", action=argparse.BooleanOptionalAction, help="whether anybody may read it once released"
    )
    parser.add_argument(
        "--policy",
        metavar="NAME=VALUE",
        type=parse_pair,
        action="append",
        help="part of the policy, such as phase=released",
    )


def _required_levels(parser: argparse.ArgumentParser) -> None:
    _levels(parser, required=True)


def _optional_levels(parser: argparse.ArgumentParser) -> None:
    _levels(parser, required=False)


def _levels(parser: argparse.ArgumentParser, *, required: bool) -> None:
    text = "names of the relevant levels, lowest first (B,A,S), or how many"
    parser.add_argument("--levels", type=_whole, required=required, help=text)


def _whole(text: str) -> str:
    """A list whose names are all there: one that is left out would move the others to lower levels."""
    if not all(map(str.strip, text.split(","))):
        raise argparse.ArgumentTypeError(f"{text!r} has a level without a name")
    return text


def _sure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMAND = Group(
    "collection",
    __doc__,
    [
        Command(
            "create",
            "make a collection",
            _create,
            together(_named, _required_levels, _setting, server_options),
            [
                Example("gainboard collection create robust --levels B,A,S --gains 3:2:1"),
                Example("gainboard collection create binary --levels 1"),
            ],
        ),
        Command(
            "list",
            "list collections",
            _list,
            together(format_option, server_options),
            [Example("gainboard collection list")],
        ),
        Command(
            "show",
            "show a collection",
            _show,
            together(_named, format_option, server_options),
            [Example("gainboard collection show web")],
        ),
        Command(
            "change",
            "change the settings of a collection",
            _change,
            together(_named, _optional_levels, _setting, server_options),
            [
                Example("gainboard collection change web --policy phase=released --public", "show it to everybody"),
                Example(
                    "gainboard collection change web --policy 'quotas={\"per_day\": 5}'", "runs that a team may send"
                ),
            ],
        ),
        Command(
            "delete",
            "delete a collection",
            _delete,
            together(_named, _sure, server_options),
            [Example("gainboard collection delete spare --yes")],
        ),
    ],
)
