"""List, release and delete judgment sets, such as those of several assessors."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import collection_option, connect_server, server_options
from gainboard.cli.printing import format_option, print_many

if TYPE_CHECKING:
    from gainboard.vocabulary import SetState

COLUMNS = ("name", "state", "versions", "qrels_version", "topics", "judged", "relevant", "released_at")


def _list(parsed: argparse.Namespace) -> int:
    """List the judgment sets of a collection, with the version of each that is in use. The official set answers
    requests that name none. `gainboard qrels put FILE --judgments NAME` makes
    another one.
    """
    with connect_server(parsed) as server:
        print_many(server.gainboard.judgment_sets(server.collection), COLUMNS, parsed.format)
    return 0


def _release(parsed: argparse.Namespace) -> int:
    """Release a judgment set: whoever may see the judgments of the collection then sees the set as well (organisers).
    While the collection is hidden, participants see neither.
    """
    return _change(parsed, "released")


def _hide(parsed: argparse.Namespace) -> int:
    """Make a judgment set hidden again, so that only organisers see it (organisers)."""
    return _change(parsed, "hidden")


def _change(parsed: argparse.Namespace, state: SetState) -> int:
    with connect_server(parsed) as server:
        changed = server.gainboard.change_judgment_set(server.collection, parsed.set, state)
    print(f"{changed.name}: {changed.state}")
    return 0


def _delete(parsed: argparse.Namespace) -> int:
    """Delete a judgment set with all its versions, and the jobs about them (organisers)."""
    with connect_server(parsed) as server:
        server.gainboard.delete_judgment_set(server.collection, parsed.set)
    print(f"{parsed.set}: deleted")
    return 0


def _set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("set", metavar="SET", help="the name of the judgment set")


_ABOUT = together(collection_option, server_options)

COMMAND = Group(
    "judgments",
    __doc__,
    [
        Command(
            "list",
            "list the judgment sets",
            _list,
            together(format_option, _ABOUT),
            [Example("gainboard judgments list -c web")],
        ),
        Command(
            "release",
            "release a judgment set",
            _release,
            together(_set, _ABOUT),
            [Example("gainboard judgments release second -c web")],
        ),
        Command("hide", "hide a judgment set again", _hide, together(_set, _ABOUT)),
        Command("delete", "delete a judgment set", _delete, together(_set, _ABOUT)),
    ],
)
