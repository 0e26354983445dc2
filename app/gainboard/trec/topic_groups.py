"""The reader of all topic groups of a collection: CSV with the columns `topic` and `group`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from gainboard.trec.csv_rows import column_places, csv_rows
from gainboard.trec.findings import RESERVED_TOPIC, SHOWN_CHARACTERS, Faults, FileLimits
from gainboard.trec.lines import Text

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
    reading = _GroupReading(text.faults, declared)
    for number, cells in csv_rows(text, limits):
        reading.add(number, cells)
    if reading.places is None and not text.faults:
        text.faults.add("empty-file", "The file has no header. Its first line is `topic,group`")
    if text.faults:
        raise text.faults.error()
    return {group: list(topics) for group, topics in reading.groups.items()}


class _GroupReading:
    """The rows of a file so far. The first row is the header."""

    def __init__(self, faults: Faults, declared: Collection[str] | None) -> None:
        self.places: list[int] | None = None
        self.groups: dict[str, dict[str, int]] = {}
        """The topics of each group, each with its line."""
        self._faults = faults
        self._declared = None if declared is None else frozenset(declared)
        self._width = 0

    def add(self, number: int, cells: list[str]) -> None:
        """Add a row, or note its faults. Without the right header, nothing after it can be read."""
        if self._width == 0:
            self._width, self.places = len(cells), column_places(cells, COLUMNS)
            if self.places is None:
                problem = f"the header is {_shown(','.join(cells))}, but must have the columns `topic` and `group` once"
                self._faults.add("bad-header", f"{problem}: `topic,group`", number)
        elif self.places is not None:
            self._add_row(number, cells, self.places)

    def _add_row(self, number: int, cells: list[str], places: list[int]) -> None:
        if len(cells) != self._width:
            problem = f"the row has {len(cells)} cells, but the header has {self._width}"
            self._faults.add("bad-columns", problem, number)
            return
        topic, group = (cells[place] for place in places)
        code, problem = topic_problem(topic, self._declared)
        if code:
            self._faults.add(code, problem, number, topic=topic.encode())
        elif (wrong := _group_problem(group)) is not None:
            self._faults.add("bad-group", wrong, number, topic=topic.encode())
        else:
            self._add_member(number, topic, group)

    def _add_member(self, number: int, topic: str, group: str) -> None:
        members = self.groups.setdefault(group, {})
        if (first := members.setdefault(topic, number)) != number:
            problem = f"topic {_shown(topic)} is in group {group} already, on line {first}. Keep one of the two lines"
            self._faults.add("duplicate-topic", problem, first, number, topic=topic.encode())


def topic_problem(topic: str, declared: frozenset[str] | None) -> tuple[str, str]:
    """Return the code of what is wrong with a topic of a group, and the sentence; both are empty if nothing is."""
    if not topic or _SEPARATORS.search(topic):
        return "bad-topic", f"{_shown(topic)} is not a topic id: it is empty or contains white space"
    if topic == RESERVED_GROUP:
        return "reserved-topic", "`all` stands for all topics, so no topic has this id. Leave the line out"
    if declared is not None and topic not in declared:
        problem = f"topic {_shown(topic)} is not one of the {len(declared)} topics that the collection declares"
        return "unknown-topic", f"{problem}. Correct it, or declare it first"
    return "", ""


def _group_problem(group: str) -> str | None:
    if group == RESERVED_GROUP:
        return "`all` stands for all topics, so no group has this name. Rename the group"
    if not _GROUP.fullmatch(group):
        problem = f"{_shown(group)} is not a name of a group. Use letters, digits, `.`, `_` and `-`, at most 128, and"
        return f"{problem} begin with a letter or digit: for example `hard`"
    return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…")
