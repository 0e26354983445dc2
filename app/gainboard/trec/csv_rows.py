"""The rows of a CSV file, each a line of its own: of score matrices and of topic groups."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from gainboard.errors import TooLarge
from gainboard.trec.findings import FileLimits
from gainboard.trec.lines import Text, unreadable

COMPUTED = ("=", "+", "-", "@")
"""The beginnings of a cell that a spreadsheet would compute. Our own CSV puts an apostrophe before them."""


def csv_rows(text: Text, limits: FileLimits) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row. Unreadable rows become faults, and blank lines are skipped.

    Commas separate cells, or what the first row has in their place: semicolons, as spreadsheets write where a comma is
    the decimal sign, or tabs. A first line such as `sep=;`, which Excel writes and reads, names what separates them.
    """
    blank, separator = 0, ""
    for block in text.blocks():
        for number, line in zip(block.numbers, block.data[:-1].split(b"\n"), strict=True):
            if problem := unreadable(line := line.removesuffix(b"\r")):
                text.faults.add("bad-encoding", problem, number)
            elif not line.strip():
                blank += 1
                if blank > limits.skipped_lines:
                    raise TooLarge(f"The file has more than {limits.skipped_lines:,} blank lines", limit=blank - 1)
            elif not separator and (named := separator_line(line)):
                separator = named
            elif (cells := _cells(line, separator := separator or separator_of(line))) is None:
                problem = 'a quoted cell does not end on its line. Write a quote inside a cell twice: "a ""b"""'
                text.faults.add("bad-columns", problem, number)
            else:
                yield number, cells


def separator_line(line: bytes) -> str:
    """Return the separator that Excel's line `sep=;` names; empty for another line."""
    found = re.fullmatch(rb'\s*"?sep=(.|\\t)"?[,;\t\s]*', line, re.IGNORECASE)
    return found[1].decode("ascii", "replace").replace("\\t", "\t") if found else ""


def separator_of(header: bytes) -> str:
    """Return what separates the cells of a header."""
    return next((each for each in ",;\t" if each.encode() in header), ",")


def _cells(line: bytes, separator: str) -> list[str] | None:
    try:
        # Line by line, so that a quote that never ends is a fault of its line and does not hide the rest of the file.
        (cells,) = csv.reader([line.decode()], delimiter=separator, strict=True)
    except csv.Error:
        return None
    return [_as_written(cell.strip(" \t")) for cell in cells]


def _as_written(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(COMPUTED) else cell


def column_places(header: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """Return the place of each wanted column in the header; None if one is missing or there twice."""
    return [header.index(name) for name in wanted] if all(header.count(name) == 1 for name in wanted) else None
