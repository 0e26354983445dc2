"""The output of commands: items and rows as tables, CSV or JSON, and the faults and warnings of files.

Commands on files and commands against a server use this module, so it imports neither the readers of files nor the
client.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gainboard.cli.command import Option
from gainboard.errors import BadSetting, Fault, FaultyFile, GainboardError
from gainboard.exhibits import Cell, Column, Marked, Table, Value, csv_line, mark_best_of_column
from gainboard.exhibits.tables import Align, printed, value_of
from gainboard.notation.texts import name_versions
from gainboard.vocabulary import OF_ANSWERS

if TYPE_CHECKING:  # commands on files print tables, too, and start without Pydantic
    from pydantic import BaseModel

    from gainboard.api.models.scores import LeaderboardAnswer, LeaderboardRow, ScoredRun, ScoresAnswer, SweepAnswer

DIGITS = 4
"""The decimal places of the scores in a table."""
MOST_MEMBERS = 100
"""The most members of a value that are printed one by one. Texts of queries may be thousands."""
_CONTROLS = re.compile("[\x7f-\x9f]")
"""Control characters that JSON may contain unescaped."""
_GAP = "  "
_SIDES = {"left": "<", "centre": "^", "right": ">"}
_WEIGHTS = {"bold": "\033[1m", "italic": "\033[3m"}
_PLAIN = "\033[0m"
FILE_HINTS = {
    "ambiguous-columns": "Name the columns with --columns, and the levels with --levels, for example --levels B,A,S",
    "bad-level": "Levels are whole numbers, or the names that --levels lists, lowest first, for example --levels B,A,S",
}
"""The option that helps against a fault, by the fault's code, where options say how files are read."""
COLLECTION_HINTS = {
    "ambiguous-columns": "Name the columns with --columns, for example --columns topic-document-level",
    "bad-level": "Correct the file. The collection's levels can change only while it holds no qrels and no runs: "
    "gainboard collection change NAME --levels B,A,S",
    "team-required": "Name the run's team with --team, for example --team lemur",
}
"""The same where a collection says how files are read."""

Format = Annotated[Literal["table", "csv", "json"], Option("the format (default: table)", "-f", "--format")]


def print_utf8() -> None:
    """Print everything from here on in UTF-8, whatever the locale says, because a program will read it."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors=sys.stdout.errors)


def print_many(items: Iterable[BaseModel], columns: Sequence[str], form: str) -> None:
    """Print items of one kind. Columns are members; `policy.phase` is a member of a member. JSON has all members."""
    if form == "json":
        print_json([item.model_dump(mode="json") for item in items])
        return

    def member(item: Any, name: str) -> Value:
        for part in name.split("."):
            item = getattr(item, part) if item is not None else None
        return _cell(item)

    print_rows(columns, [[member(item, name) for name in columns] for item in items], form)


def print_rows(
    headings: Sequence[str], rows: Sequence[Sequence[Value]], form: str, digits: Mapping[str, int] | None = None
) -> None:
    """Print rows of values. A table for people has the decimal places of `digits`, by heading."""
    if form == "json":
        print_json([dict(zip(headings, row, strict=True)) for row in rows])
        return
    print("".join(map(csv_line, [headings, *rows])) if form == "csv" else format_rows(headings, rows, digits), end="")


def print_one(item: BaseModel, form: str) -> None:
    """Print one item, one member per line."""
    if form == "json":
        print_json(item.model_dump(mode="json"))
        return
    members = list(_members(item.model_dump()))
    if form == "csv":
        print(csv_line(name for name, _ in members) + csv_line(value for _, value in members), end="")
        return
    widest = max(len(name) for name, _ in members)
    for name, value in members:
        short = f"{value:.5g}" if isinstance(value, float) else str(value)
        print(f"{printable(name):{widest}}  {'-' if value is None else printable(short)}")


def by_judgments(answer: ScoresAnswer | LeaderboardAnswer | SweepAnswer) -> str:
    """Return by which judgments scores are, such as "by version 1 of the qrels"; "" for hidden and for no judgments."""
    families = {label.partition(":")[0] for label in getattr(answer, "metrics", [""])}
    if answer.qrels_version is None or families <= {"custom", *OF_ANSWERS}:
        return ""
    return f"by {name_versions({answer.judgment_set: answer.qrels_version, **getattr(answer, 'repeats', {})})}"


def tell_of_judgments(answer: ScoresAnswer | LeaderboardAnswer | SweepAnswer, *, are_files: bool) -> None:
    """Print on standard error by which judgments and over which topic groups scores are, and which topics do not count.

    Judgments of files have no version.
    """
    if not are_files and (by := by_judgments(answer)):
        print(by, file=sys.stderr)
    for group in (answer.topic_group, *getattr(answer, "by_group", ())):
        if group is not None:
            missing = f"; without judgments: {', '.join(group.unjudged)}" if group.unjudged else ""
            print(printable(f"{group.name}: {group.judged} of {group.topics} topics{missing}"), file=sys.stderr)


def tell_of_unbound(labels: Iterable[str], runs: Sequence[ScoredRun | LeaderboardRow]) -> None:
    """Print on standard error which of the metrics that have a mean have no bounds."""
    if unbound := [it for it in labels if any(run.mean[it] is not None and it not in run.numbers for run in runs)]:
        why = "uploaded scores, metrics of memberships or of sampled pools, and means of replicates have no bounds"
        print(printable(f"note: --bounds has none for {', '.join(unbound)}: {why}"), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON. Characters that would control a terminal are escaped, as JSON allows."""
    print_utf8()
    text = json.dumps(value, ensure_ascii=False, indent=2)
    print(_CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", text))


def format_rows(headings: Sequence[str], rows: Sequence[Sequence[Any]], digits: Mapping[str, int] | None = None) -> str:
    """Return a table for people: numbers at the right, with their column's decimal places, or short."""
    plain = ([_cell(value) for value in row] for row in rows)
    cells = [[printable(cell) if isinstance(cell, str) else cell for cell in row] for row in plain]
    columns = [Column(printable(heading), digits=(digits or {}).get(heading)) for heading in headings]
    return format_table(Table("listing", "", columns, cells))


def printable(text: str) -> str:
    """Return text from outside on one line, safe for a terminal: escape sequences are visible and have no effect."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def printable_lines(text: str, indent: int = 0) -> str:
    """Return lines of text from outside, each safe for a terminal and indented."""
    return "\n".join(" " * indent + printable(line) for line in text.splitlines())


def _cell(value: Any) -> Value:
    """Return a value as a cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_cell(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(_cell(item)) for item in value)
    return value if isinstance(value, str | int | float) else None


def _members(of: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in of.items():
        if isinstance(value, Mapping) and len(value) > MOST_MEMBERS:
            yield before + name, f"{len(value):,}, which -f json shows"
        elif isinstance(value, Mapping) and value:
            yield from _members(value, f"{before}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield from _members({str(number): item for number, item in enumerate(value)}, f"{before}{name}.")
        else:
            yield before + name, _cell(value)


def format_table(table: Table, *, weights: bool = False) -> str:
    """Return the rows below their headings. With `weights`, for terminals, marked cells are bold or italic."""
    columns = [_column(table, place, align, weights) for place, align in enumerate(table.alignments())]
    return "".join(_GAP.join(cells).rstrip() + "\n" for cells in zip(*columns, strict=True))


def _column(table: Table, place: int, align: Align, weights: bool) -> Iterator[str]:
    column, cells = table.columns[place], [row[place] for row in table.rows]
    texts = [printed(value_of(cell), column) for cell in cells]
    width = max(map(len, (column.full_heading, *texts)))
    yield f"{column.full_heading:{_SIDES[align]}{width}}"
    for cell, text in zip(cells, texts, strict=True):
        padded = f"{text:{_SIDES[align]}{width}}"
        yield f"{_WEIGHTS[cell.style]}{padded}{_PLAIN}" if weights and isinstance(cell, Marked) else padded


def mark_best(columns: Sequence[Sequence[float | None]]) -> list[tuple[Cell, ...]]:
    """Turn one column of means per metric into rows of cells, and mark the best of several means in each column."""
    return list(zip(*map(mark_best_of_column, columns), strict=True))


def table_beside(names: Sequence[str], of_runs: Sequence[Mapping[str, Mapping[str, float]]]) -> Table:
    """Return what is asked for beside the scores of each run: bounds, and the numbers of users, by metric."""
    keys = list(dict.fromkeys(key for run in of_runs for numbers in run.values() for key in numbers))
    columns = [Column("run", align="left"), Column("metric", align="left")]
    columns += [Column(key.replace("_", " "), digits=DIGITS) for key in keys]
    by_run = zip(names, of_runs, strict=True)
    rows = [[name, label, *map(numbers.get, keys)] for name, run in by_run for label, numbers in run.items()]
    return Table("numbers", "Mean scores, and what is beside them", columns, rows)


def list_faults(error: GainboardError) -> tuple[Sequence[Fault], int, bool]:
    """Return the stored faults of a refused file, the number of its faults, and whether that is only a minimum."""
    if isinstance(error, FaultyFile):
        return error.faults, error.total, error.is_minimum
    code = "unreadable" if isinstance(error, BadSetting) else error.slug
    return [Fault(code, error.message)], 1, False


def fault_lines(
    name: str, faults: Sequence[Fault], total: int, is_minimum: bool = False, hints: Mapping[str, str] = FILE_HINTS
) -> Iterator[str]:
    """Yield the faults of a file, in the format of compilers, and then hints by their codes."""
    for fault in faults:
        file = fault.file or name
        place = file if fault.line is None else f"{file}:{fault.line}"
        through = f" (on all lines to {fault.last_line})" if fault.last_line is not None else ""
        yield f"{place}: {fault.code}: {fault.message}{through}"
    shown = sum((fault.last_line or fault.line or 0) - (fault.line or 0) + 1 for fault in faults)
    if is_minimum:
        yield f"{name}: at least {total:,} faults; the rest of the file was not read"
    elif total > shown:
        yield f"{name}: {total:,} faults; these are the first {shown}"
    for code in sorted({fault.code for fault in faults} & hints.keys()):
        yield f"{name}: note: {code}: {hints[code]}"
