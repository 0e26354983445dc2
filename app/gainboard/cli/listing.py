"""What a server knows, on the page: many things as a table, one thing as its members, both as CSV and JSON too."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gainboard.cli.tables import as_text
from gainboard.exhibits import Column, Table, Value, csv_line

if TYPE_CHECKING:  # commands on files list things, too, and start without Pydantic
    from pydantic import BaseModel

FORMATS = ("table", "csv", "json")
_CONTROLS = re.compile("[\x7f-\x9f]")
"""Those that JSON may have as they are."""


def formats(parser: argparse.ArgumentParser) -> None:
    """The option that says what the output is."""
    parser.add_argument("-f", "--format", choices=FORMATS, default="table", help="of the output (default: table)")


def print_many(items: Iterable[BaseModel], columns: Sequence[str], form: str) -> None:
    """Things of one kind; columns are members, `policy.phase` that of a member. JSON has all members."""
    if form == "json":
        print_json([each.model_dump(mode="json") for each in items])
        return
    print_rows(columns, [[_member(each, name) for name in columns] for each in items], form)


def print_rows(
    headings: Sequence[str], rows: Sequence[Sequence[Value]], form: str, digits: Mapping[str, int] | None = None
) -> None:
    """Rows of values, as CSV or as a table for people; `digits` has the decimals of columns by their headings."""
    print("".join(map(csv_line, [headings, *rows])) if form == "csv" else aligned(headings, rows, digits), end="")


def print_one(item: BaseModel, form: str) -> None:
    """One thing, a member a line."""
    if form == "json":
        print_json(item.model_dump(mode="json"))
        return
    members = list(_members(item.model_dump()))
    if form == "csv":
        print(csv_line(name for name, _ in members) + csv_line(value for _, value in members), end="")
        return
    widest = max(len(name) for name, _ in members)
    for name, value in members:
        print(f"{printable(name):{widest}}  {'-' if value is None else printable(str(value))}")


def print_json(value: Any) -> None:
    """A value as JSON. What would steer a terminal is escaped, as it may be in JSON."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    print(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def aligned(headings: Sequence[str], rows: Sequence[Sequence[Any]], digits: Mapping[str, int] | None = None) -> str:
    """A table for people: as wide as it must be, numbers to the right, with the decimals of their column or short."""
    cells = [[each if isinstance(each, float) else _shown(each) for each in row] for row in rows]
    columns = [Column(printable(heading), digits=(digits or {}).get(heading)) for heading in headings]
    return as_text(Table("listing", "", columns, cells))


def printable(text: str) -> str:
    """Others' words on one line, fit for a terminal: an escape sequence in them is seen and does nothing."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def printable_lines(text: str, indent: int = 0) -> str:
    """The same on as many lines as there are."""
    return "\n".join(" " * indent + printable(line) for line in text.splitlines())


def _shown(value: Any) -> Value:
    """A value in a cell for people: on one line, and without what would steer a terminal."""
    plain = _plain(value)
    return printable(plain) if isinstance(plain, str) else plain


def _plain(value: Any) -> Value:
    """A value in a cell."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(_plain(each)) for each in value)
    return value if isinstance(value, str | int | float) else None


def _member(item: BaseModel, name: str) -> Value:
    found: Any = item
    for part in name.split("."):
        found = getattr(found, part) if found is not None else None
    return _plain(found)


def _members(of: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in of.items():
        if isinstance(value, Mapping) and value:
            yield from _members(value, f"{before}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield from _members({str(place): each for place, each in enumerate(value)}, f"{before}{name}.")
        else:
            yield before + name, _plain(value)
