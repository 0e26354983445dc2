"""List, release and delete judgment sets, such as those of several assessors."""

from __future__ import annotations

from typing import Annotated

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.connecting import OneCollection
from gainboard.cli.printing import Format, print_many

COLUMNS = ("name", "state", "versions", "qrels_version", "topics", "judged", "relevant", "released_at")
SetName = Annotated[str, Argument("the name of the judgment set", metavar="SET")]


@command("list the judgment sets", Example("gainboard judgments list -c web"))
def list_(at: OneCollection, *, format: Format = "table") -> None:
    """List the judgment sets of a collection, with the version of each that is in use. The official set answers
    requests that name none. `gainboard qrels put FILE --judgments NAME` makes
    another one.
    """
    with at.connect() as gainboard:
        print_many(gainboard.judgment_sets(at.collection), COLUMNS, format)


@command("release a judgment set", Example("gainboard judgments release second -c web"))
def release(at: OneCollection, set: SetName) -> None:
    """Release a judgment set: whoever may see the judgments of the collection then sees the set as well (organisers).
    While the collection is hidden, participants see neither.
    """
    with at.connect() as gainboard:
        changed = gainboard.change_judgment_set(at.collection, set, "released")
    print(f"{changed.name}: {changed.state}")


@command("hide a judgment set again")
def hide(at: OneCollection, set: SetName) -> None:
    """Make a judgment set hidden again, so that only organisers see it (organisers)."""
    with at.connect() as gainboard:
        changed = gainboard.change_judgment_set(at.collection, set, "hidden")
    print(f"{changed.name}: {changed.state}")


@command("delete a judgment set")
def delete(at: OneCollection, set: SetName) -> None:
    """Delete a judgment set with all its versions, and the jobs about them (organisers)."""
    with at.connect() as gainboard:
        gainboard.delete_judgment_set(at.collection, set)
    print(f"{set}: deleted")
