"""The rows of a CSV file, each a line of its own, and the reader of topic groups (the columns `topic` and `group`).

Score matrices, which have rows of the same form, have a module of their own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from gainboard.errors import TooLarge
from gainboard.trec.findings import RESERVED_TOPIC, FileLimits, quoted
from gainboard.trec.lines import Text, unreadable

COMPUTED = ("=", "+", "-", "@")
"""The beginnings of a cell that a spreadsheet would compute. Our own CSV puts an apostrophe before them."""
_ODD = re.compile(rb"[\"' ]")


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
            elif (cells := _split_cells(line, separator := separator or separator_of(line))) is None:
                problem = 'a quoted cell does not end on its line. Write a quote inside a cell twice: "a ""b"""'
                text.faults.add("bad-columns", problem, number)
            else:
                yield number, cells


def separator_line(line: bytes) -> str:
    """Return the separator that Excel's line `sep=;` names; empty for another line."""
    match = re.fullmatch(rb'\s*"?sep=(.|\\t)"?[,;\t\s]*', line, re.IGNORECASE)
    return match[1].decode("ascii", "replace").replace("\\t", "\t") if match else ""


def separator_of(header: bytes) -> str:
    """Return what separates the cells of a header."""
    return next((separator for separator in ",;\t" if separator.encode() in header), ",")


def _split_cells(line: bytes, separator: str) -> list[str] | None:
    # A tenth of the time, for a table of millions of cells: nothing in such a line needs a closer look.
    if not _ODD.search(line) and (separator == "\t" or b"\t" not in line):
        return line.decode().split(separator)
    try:
        # Line by line, so that a quote that never ends is a fault of its line and does not hide the rest of the file.
        (cells,) = csv.reader([line.decode()], delimiter=separator, strict=True)
    except csv.Error:
        return None
    written = [cell.strip(" \t") for cell in cells]
    return [cell[1:] if cell.startswith("'") and cell[1:].startswith(COMPUTED) else cell for cell in written]


def find_columns(header: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """Return the place of each wanted column in the header; None if one is missing or there twice."""
    return [header.index(name) for name in wanted] if all(header.count(name) == 1 for name in wanted) else None


COLUMNS: Final = ("topic", "group")
RESERVED_GROUP: Final = RESERVED_TOPIC.decode()
"""`all` stands for all topics in queries, so no group has this name."""
_GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SEPARATORS = re.compile("[\x00-\x20\x7f]")


def read_topic_groups(
    chunks: Iterable[bytes], limits: FileLimits, declared: Collection[str] | None = None
) -> Mapping[str, list[str]]:
    """Return the topics of each group, in the order of the file. A file with the header alone has no groups.

    Raise FaultyFile with all faults. A topic must be one of the declared ones, if there are any.
    """
    text = Text(chunks, limits)
    faults, allowed = text.faults, None if declared is None else frozenset(declared)
    groups: dict[str, dict[str, int]] = {}  # the topics of each group, each with its line
    columns: list[int] | None = None
    width = 0
    for number, cells in csv_rows(text, limits):
        if width == 0:
            width, columns = len(cells), find_columns(cells, COLUMNS)
            if columns is None:
                problem = f"the header is {quoted(','.join(cells))}, but must have the columns `topic` and `group` once"
                faults.add("bad-header", f"{problem}: `topic,group`", number)
            continue
        if columns is None:  # nothing can be read after a wrong header, except rows that are unreadable themselves
            continue
        if len(cells) != width:
            faults.add("bad-columns", f"the row has {len(cells)} cells, but the header has {width}", number)
            continue
        topic, group = (cells[column] for column in columns)
        code, problem = topic_problem(topic, allowed)
        if code:
            faults.add(code, problem, number, topic=topic.encode())
        elif (wrong := _group_problem(group)) is not None:
            faults.add("bad-group", wrong, number, topic=topic.encode())
        elif (first := groups.setdefault(group, {}).setdefault(topic, number)) != number:
            problem = f"topic {quoted(topic)} is in group {group} already, on line {first}. Keep one of the two lines"
            faults.add("duplicate-topic", problem, first, number, topic=topic.encode())
    if columns is None and not faults:
        faults.add("empty-file", "The file has no header. Its first line is `topic,group`")
    if faults:
        raise faults.error()
    return {group: list(topics) for group, topics in groups.items()}


def topic_problem(topic: str, declared: frozenset[str] | None) -> tuple[str, str]:
    """Return the code of what is wrong with a topic of a group, and the sentence; both are empty if nothing is."""
    if not topic or _SEPARATORS.search(topic):
        return "bad-topic", f"{quoted(topic)} is not a topic id: it is empty or contains white space"
    if topic == RESERVED_GROUP:
        return "reserved-topic", "`all` stands for all topics, so no topic has this id. Leave the line out"
    if declared is not None and topic not in declared:
        problem = f"topic {quoted(topic)} is not one of the {len(declared)} topics that the collection declares"
        return "unknown-topic", f"{problem}. Correct it, or declare it first"
    return "", ""


def _group_problem(group: str) -> str | None:
    if group == RESERVED_GROUP:
        return "`all` stands for all topics, so no group has this name. Rename the group"
    if not _GROUP.fullmatch(group):
        problem = f"{quoted(group)} is not a name of a group. Use letters, digits, `.`, `_` and `-`, at most 128, and"
        return f"{problem} begin with a letter or digit: for example `hard`"
    return None
