"""Create, list and change collections."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import CalledServer, connect_server, server_options
from gainboard.cli.options import parse_pair, parse_value, whole_number, with_lists
from gainboard.cli.printing import format_option, print_many, print_one
from gainboard.errors import BadInput, BadSetting, UnsupportedEncoding
from gainboard.evaluation.collection_settings import Policy
from gainboard.vocabulary import FROM_QRELS

SETTINGS = ("title", "gains", "depth", "order_by", "ignore_identical_ids", "intents", "metrics", "public")
COLUMNS = ("name", "title", "levels", "gains", "policy.phase", "public", "qrels_version", "created_at")


def _create(parsed: argparse.Namespace) -> int:
    """Create a collection (organisers of the instance)."""
    with connect_server(parsed) as server:
        settings = _settings(parsed)
        print_one(server.gainboard.create_collection(_name(server), settings.pop("levels"), **settings), "table")
    return 0


def _list(parsed: argparse.Namespace) -> int:
    """List the collections that you may see."""
    with connect_server(parsed) as server:
        print_many(server.gainboard.collections(), COLUMNS, parsed.format)
    return 0


def _show(parsed: argparse.Namespace) -> int:
    """Show the settings of a collection, its policy and the numbers of its judgments."""
    with connect_server(parsed) as server:
        print_one(server.gainboard.collection(_name(server)), parsed.format)
    return 0


def _change(parsed: argparse.Namespace) -> int:
    """Change settings of a collection; settings that are not named stay (organisers). Levels and depth can change only
    while nothing is stored. Once runs are judged, a job changes --order-by, which must then be the only option.
    """
    with connect_server(parsed) as server:
        changed = server.gainboard.change_collection(_name(server), **_settings(parsed))
        print_one(changed, "table")
    if parsed.order_by not in (None, changed.order_by):
        again = f"gainboard job list -c {changed.name} --kind rejudge"
        print(f"A job now orders the runs by {parsed.order_by}. To follow it: {again}", file=sys.stderr)
    return 0


def _delete(parsed: argparse.Namespace) -> int:
    """Delete a collection with all its runs and judgments, after asking (organisers). Its name may then be used
    again. With --yes, the collection must be named on the command line.
    """
    with connect_server(parsed) as server:
        if parsed.yes and parsed.collection is None:
            raise BadSetting("With --yes, nothing is asked. Add the name of the collection to delete.")
        name = _name(server)
        if not (parsed.yes or _confirmed(name)):
            raise BadSetting(f"{name} was not deleted.")
        server.gainboard.delete_collection(name)
    print(f"{name}: deleted")
    return 0


def _name(server: CalledServer) -> str:
    if server.some_collection is None:
        raise BadSetting("No collection is named. Add its name, or set GAINBOARD_COLLECTION.")
    return server.some_collection


def _confirmed(name: str) -> bool:
    if not sys.stdin.isatty():
        raise BadSetting("There is no terminal to ask on. Add --yes to delete the collection.")
    print(f"To delete {name} with all its runs and judgments, type its name: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == name


def _settings(parsed: argparse.Namespace) -> dict[str, Any]:
    given = {name: value for name in SETTINGS if (value := getattr(parsed, name)) is not None}
    if parsed.levels is not None:
        levels = parse_value(parsed.levels)
        given["levels"] = [levels] if isinstance(levels, str) else levels
    if parsed.topics is not None:
        given["topics"] = parsed.topics if parsed.topics == FROM_QRELS else _topics(parsed.topics)
    if parsed.policy:
        given["policy"] = with_lists(dict(parsed.policy), Policy.model_json_schema()["properties"])
    return given


def _topics(path: str) -> list[str]:
    from gainboard.trec import FileLimits, decompress_body  # noqa: PLC0415 (with NumPy, which other commands do without)
    from gainboard.trec.lines import BYTE_ORDER_MARK  # noqa: PLC0415
    from gainboard.trec.other_formats import other_format_of  # noqa: PLC0415

    try:
        content = b"".join(decompress_body(io.BytesIO(Path(path).read_bytes()), None, FileLimits()))
        if other := other_format_of(content.removeprefix(BYTE_ORDER_MARK)):
            raise UnsupportedEncoding(f"The file is {other}. A file of topics has an id on each line, such as 51.")
        return content.decode("utf-8-sig").split()
    except BadInput as error:
        raise BadSetting(f"Cannot read {path}: {error}") from error
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("collection", metavar="COLLECTION", nargs="?", help="its name (GAINBOARD_COLLECTION)")


def _setting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", help="a title for people")
    parser.add_argument(
        "--gains", metavar="GAINS", help="the default gain setting, such as 3:2:1 (the highest level first) or linear"
    )
    parser.add_argument("--depth", type=whole_number, help="the number of ranks of a run that are scored")
    parser.add_argument(
        "--order-by", metavar="ORDER", help="what determines the rank of a document: score, score32, rank"
    )
    parser.add_argument(
        "--ignore-identical-ids",
        action=argparse.BooleanOptionalAction,
        help="whether to leave out lines of runs whose document id is their topic's, as BEIR does",
    )
    parser.add_argument(
        "--intents",
        action=argparse.BooleanOptionalAction,
        help="whether documents are judged for the intents (subtopics) of a topic",
    )
    parser.add_argument(
        "--topics",
        metavar="FILE",
        help="a file with the topics; to change them, also from-qrels: those of the newest published qrels",
    )
    parser.add_argument(
        "-m", "--metric", dest="metrics", metavar="METRIC", action="append", help="a metric shown by default"
    )
    parser.add_argument(
        "--public", action=argparse.BooleanOptionalAction, help="whether everyone may read it once it is released"
    )
    parser.add_argument(
        "--policy",
        metavar="NAME=VALUE",
        type=parse_pair,
        action="append",
        help="part of the policy: phase=released, presets=nDCG@10,AP or closes_at=2026-12-01T12:00:00Z",
    )


def _required_levels(parser: argparse.ArgumentParser) -> None:
    _levels(parser, required=True)


def _optional_levels(parser: argparse.ArgumentParser) -> None:
    _levels(parser, required=False)


def _levels(parser: argparse.ArgumentParser, *, required: bool) -> None:
    text = "names of the relevant levels, lowest first (B,A,S), or their number"
    parser.add_argument("--levels", type=_whole, required=required, help=text)


def _whole(text: str) -> str:
    """Return the text unless a level lacks its name, which would move the others to lower levels."""
    if not all(map(str.strip, text.split(","))):
        raise argparse.ArgumentTypeError(f"{text!r} has a level without a name. Write all names, for example B,A,S")
    return text


def _sure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMAND = Group(
    "collection",
    __doc__,
    [
        Command(
            "create",
            "create a collection",
            _create,
            together(_named, _required_levels, _setting, server_options),
            [
                Example("gainboard collection create robust --levels B,A,S --gains 3:2:1"),
                Example("gainboard collection create binary --levels 1"),
                Example("gainboard collection create diverse --levels 3 --intents", "with judgments by intent"),
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
                Example("gainboard collection change web --policy phase=released --public", "show it to everyone"),
                Example(
                    "gainboard collection change web --policy 'quotas={\"per_day\": 5}'",
                    "limit the runs that a team may send",
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
