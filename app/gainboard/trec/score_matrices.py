"""The reader of score matrices: CSV, the text of `trec_eval -q`, or JSON; every fault of it.

CSV has the header `run,topic,...` (a row for each run) or `topic,run,...` (a row for each topic), or the columns `run`,
`topic` and `value` (a row for each score), as our own scores have. Semicolons, with commas as decimal signs, and tabs
may separate the cells. The text of `ir_measures -q` has topic, measure and value, trec_eval's measure, topic and value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import TooLarge
from gainboard.trec.csv_files import csv_rows, find_columns, separator_line, separator_of
from gainboard.trec.findings import RESERVED_TOPIC, SHOWN_CHARACTERS, Faults, FileLimits, quoted
from gainboard.trec.lines import Text
from gainboard.trec.numbers import decimal
from gainboard.vocabulary import MatrixForm

_Line: TypeAlias = tuple[int, str, str, str]
"""A line's number, and its columns."""
Missing: TypeAlias = "float | Literal['drop-topic', 'leave-out'] | None"
MOST_CELLS: Final = 2_000_000
MOST_JSON_BYTES: Final = 64 << 20  # JSON is parsed as a whole, which takes several times its size
ALL: Final = RESERVED_TOPIC.decode()
LONG: Final = ("run", "topic", "value")
OTHER_NAMES: Final = {
    **dict.fromkeys(("query_id", "query-id", "qid", "queryid", "topic_id", "topicid", "query"), "topic"),
    **dict.fromkeys(("system", "run_id", "run_name", "run_tag", "name"), "run"),
    **{"score": "value", "measure": "metric"},
}
"""Names of columns in other people's files, such as PyTerrier's results by query, and what they are here."""
_DECIMAL_COMMA: Final = re.compile(r"[+-]?[0-9]*,[0-9]+")
LINES_TRIED: Final = 1000
"""Lines at the beginning of a text, which tell whose it is: trec_eval's or ir_measures'."""
_HEAD: Final = {"runid", "num_q", "num_ret", "num_rel", "num_rel_ret"}
"""The lines of trec_eval that are about the run or count documents, and that are left out unless they are asked for."""


@dataclass(frozen=True)
class Expected:
    """The limits on a file: the runs and topics that exist (None: any), and the range of the scores."""

    runs: Collection[str]
    topics: Collection[str] | None
    low: float | None = None
    high: float | None = None
    missing: Missing = None
    measure: str | None = None
    """The measure of a file which may have several, as those of trec_eval do."""
    run: str | None = None
    """The run of a file of trec_eval that names none."""


@dataclass(frozen=True)
class MatrixFile:
    """A complete matrix: float64 [runs, topics]. Topics are in byte order, runs in the order of the file."""

    runs: list[str]
    topics: list[str]
    scores: NDArray[np.float64]
    filled: int
    dropped: list[str]


def read_score_matrix(
    chunks: Iterable[bytes], limits: FileLimits, expected: Expected, form: MatrixForm | None = None
) -> MatrixFile:
    """Return the matrix of a file; its form is guessed from its beginning, unless it is given.

    Raise FaultyFile with all faults, of which a missing cell is one unless `expected.missing` says what it means.
    """
    pieces = iter(chunks)
    head = next(pieces, b"")
    chosen = form or _guess_form(head)
    text = Text(chain([head], pieces), limits)
    cells = _MatrixCells(text.faults, expected)
    if chosen == "json":
        _read_json(chain([head], pieces), cells)
    elif chosen == "csv":
        _read_csv(text, limits, cells)
    else:
        _read_trec_eval(text, cells, expected)
    return cells.complete()


def _guess_form(head: bytes) -> MatrixForm:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return "json"
    first = start.split(b"\n", 1)[0]
    if separator_line(first.rstrip(b"\r")):
        return "csv"
    column = first.split(separator_of(first).encode())[0].decode(errors="replace").strip(' "\r')
    is_named = OTHER_NAMES.get(column.lower(), column.lower()) in ("run", "topic")
    return "csv" if b"," in first or is_named else "trec_eval"


class _MatrixCells:
    """The scores of a file so far, by run and topic, with the line of each."""

    def __init__(self, faults: Faults, expected: Expected) -> None:
        self.faults, self.run, self.measure = faults, expected.run, expected.measure
        self._expected = expected
        self._scores: dict[tuple[str, str], float] = {}
        self._lines: dict[tuple[str, str], int | None] = {}
        self._runs: dict[str, bool] = {}
        self._topics: dict[str, bool] = {}

    def add(self, run: str, topic: str, token: str | float, *line: int) -> None:
        """Add a score, or note the fault of its line. The topic `all` is a mean, which is left out."""
        if topic == ALL:
            return
        # Not `and`: if run and topic are both unknown, both are faults.
        if not (self._is_known_run(run, *line) & self._is_known_topic(topic, *line)):
            return
        # An empty cell is a missing score. Only the whole file tells whether that is a fault.
        if token == "":
            return
        if isinstance(token, str):
            # A decimal comma is as spreadsheets of many countries write it.
            value = decimal((token.replace(",", ".") if _DECIMAL_COMMA.fullmatch(token) else token).encode())
        else:
            value = token
        low, high = self._expected.low, self._expected.high
        where = f"run {quoted(run)}, topic {quoted(topic)}"
        if value is None or not math.isfinite(value):
            problem = f"{quoted(str(token))} is not a score: {where}. Write a number such as 0.25"
            self.faults.add("bad-number", problem, *line, topic=topic.encode())
        elif (low is not None and value < low) or (high is not None and value > high):
            problem = f"the score {value!r} is not in the range from {low!r} to {high!r}: {where}"
            self.faults.add("out-of-range", problem, *line, topic=topic.encode())
        elif (run, topic) in self._scores:
            lines = [number for number in (self._lines[run, topic], *line) if number is not None]
            problem = f"there is a score already: {where}. Keep one of the two"
            self.faults.add("duplicate-score", problem, *lines, topic=topic.encode())
        else:
            self._scores[run, topic] = value
            self._lines[run, topic] = line[0] if line else None
            if len(self._scores) > MOST_CELLS:
                message = f"The file has more than {MOST_CELLS:,} scores. Leave out runs or topics"
                raise TooLarge(message, limit=MOST_CELLS)

    def _is_known_run(self, run: str, *line: int) -> bool:
        # each unknown name is one fault, wherever it is used again
        if run not in self._runs:
            self._runs[run] = run in self._expected.runs
            if not self._runs[run]:
                count = len(self._expected.runs)
                problem = (
                    f"there is no run {quoted(run)} among the {count} of the collection. Upload it, or leave it out"
                )
                self.faults.add("unknown-run", problem, *line)
        return self._runs[run]

    def _is_known_topic(self, topic: str, *line: int) -> bool:
        if topic not in self._topics:
            topics = self._expected.topics
            self._topics[topic] = bool(topic) and (topics is None or topic in topics)
            if not self._topics[topic]:
                problem = (
                    f"the topic {quoted(topic)} is neither declared nor judged. Correct its id, or leave it out: is "
                    "`001` written as `1`?"
                )
                self.faults.add("unknown-topic", problem, *line, topic=topic.encode())
        return self._topics[topic]

    def complete(self) -> MatrixFile:
        """Return the matrix, with missing cells as they are said to be. Raise FaultyFile."""
        runs = [run for run, is_known in self._runs.items() if is_known]
        topics = sorted((topic for topic, is_known in self._topics.items() if is_known), key=str.encode)
        if not self._scores and not self.faults:
            self.faults.add("empty-file", "The file has no scores")
        missing = self._expected.missing
        gaps = [(run, topic) for run in runs for topic in topics if (run, topic) not in self._scores]
        for run, topic in gaps if missing is None else ():
            problem = (
                f"run {quoted(run)} has no score on topic {quoted(topic)}. Add it, or say what a missing score is: "
                "missing=VALUE, missing=zero or missing=drop-topic"
            )
            self.faults.add("missing-score", problem, topic=topic.encode())
        dropped = sorted({topic for _, topic in gaps}, key=str.encode) if missing == "drop-topic" else []
        if len(dropped) == len(topics) and not self.faults:
            self.faults.add("missing-score", "every topic lacks the score of some run, so that none is left")
        if self.faults:
            raise self.faults.error()
        kept = [topic for topic in topics if topic not in set(dropped)]
        value = missing if isinstance(missing, float) else math.nan
        # Adding 0.0 makes -0.0 the same bytes as 0.0.
        scores = np.array([[self._scores.get((run, topic), value) for topic in kept] for run in runs]) + 0.0
        return MatrixFile(runs, kept, scores, len(gaps) if not dropped else 0, dropped)


def _read_csv(text: Text, limits: FileLimits, cells: _MatrixCells) -> None:
    rows = csv_rows(text, limits)
    number, names = next(rows, (0, []))
    if not names:
        return
    # Names as they are here. Of two for the same, such as `qid` and `query`, one is renamed.
    header = [name.lower() for name in names]
    for other, ours in OTHER_NAMES.items():
        if ours not in header and other in header:
            header[header.index(other)] = ours
    if columns := find_columns(header, LONG):
        _read_long(rows, header, columns, cells)
    elif cells.run is not None and (columns := find_columns(header, LONG[1:])):
        named = ((number, [*row, cells.run or ""]) for number, row in rows)
        _read_long(named, [*header, "run"], [len(header), *columns], cells)
    elif header[0] in ("run", "topic") and len(names) > 1 and len(set(names)) == len(names):
        wide, is_by_run = [header[0], *names[1:]], header[0] == "run"
        for number, row in rows:
            if _has_width(row, wide, number, cells):
                for name, value in zip(wide[1:], row[1:], strict=True):
                    run, topic = (row[0], name) if is_by_run else (name, row[0])
                    cells.add(run, topic, value, number)
    else:
        problem = (
            f"the header {quoted(','.join(names))} is not one of a score matrix. It begins with `run` and names the "
            "topics, or begins with `topic` and names the runs, or has the columns `run`, `topic` and `value`; without "
            "`run`, name the run: run=NAME. No name may be there twice"
        )
        cells.faults.add("bad-header", problem, number)


def _read_long(
    rows: Iterator[tuple[int, list[str]]], header: list[str], columns: list[int], cells: _MatrixCells
) -> None:
    metric = header.index("metric") if header.count("metric") == 1 else None
    first: str | None = None
    for number, row in rows:
        if not _has_width(row, header, number, cells):
            continue
        if metric is not None:
            if cells.measure not in (None, row[metric]):
                continue
            first = row[metric] if first is None else first
            if row[metric] != first:
                problem = (
                    f"the metric is {quoted(row[metric])} here, but {quoted(first)} before. A matrix has one metric: "
                    "name it with measure=NAME"
                )
                cells.faults.add("several-metrics", problem, number)
                continue
        run, topic, value = (row[column] for column in columns)
        cells.add(run, topic, value, number)


def _has_width(row: list[str], header: list[str], number: int, cells: _MatrixCells) -> bool:
    if len(row) == len(header):
        return True
    cells.faults.add("bad-columns", f"the row has {len(row)} cells, but the header has {len(header)}", number)
    return False


def _read_trec_eval(text: Text, cells: _MatrixCells, expected: Expected) -> None:
    """Read lines of measure, topic and value, or of topic, measure and value, as ir_measures has them.

    `runid` names the run of the lines around it. It is the first of them in our own text, and after the scores of the
    topics in that of trec_eval.
    """
    # Lines wait for the name of their run, which may come after them.
    waiting: list[tuple[int, str, str, str]] = []
    run, is_before = expected.run, None
    measures: dict[str, None] = {}

    def give(name: str | None) -> None:
        for number, _, topic, value in waiting if len(measures) == 1 else ():
            if name is None:
                problem = "no line `runid` names the run of this line. Name it: run=NAME"
                cells.faults.add("unknown-run", problem, number)
            else:
                cells.add(name, topic, value, number)
        waiting.clear()

    lines = _read_triples(text, cells)
    beginning = list(islice(lines, LINES_TRIED))
    has_topics_first = _has_topics_first(beginning, expected)
    for number, *names, value in chain(beginning, lines):
        topic, measure = names if has_topics_first else reversed(names)
        if measure == "runid":
            is_before = not (waiting or measures) if is_before is None else is_before
            if not is_before:
                give(expected.run or value)
            elif run is not None:
                give(run)
            run = expected.run or value
        elif topic != ALL and (measure not in _HEAD if expected.measure is None else measure == expected.measure):
            measures.setdefault(measure)
            waiting.append((number, measure, topic, value))
    give(run if is_before is not False else expected.run)
    if len(measures) > 1:
        some = ", ".join(list(measures)[:5])
        problem = (
            f"the file has {len(measures)} measures, such as {some}. Name the one that the matrix has: measure=NAME"
        )
        cells.faults.add("several-metrics", problem)


def _read_triples(text: Text, cells: _MatrixCells) -> Iterator[_Line]:
    """Yield the number and the three columns of each line. Lines of other widths become faults."""
    for number, columns in (row for block in text.blocks() for row in text.rows(block)):
        if len(columns) == 3:
            first, second, value = (column.decode() for column in columns)
            yield number, first, second, value
        else:
            problem = f"the line has {len(columns)} columns, but a line of trec_eval has 3: measure, topic and value"
            cells.faults.add("bad-columns", problem, number)


def _has_topics_first(lines: Sequence[_Line], expected: Expected) -> bool:
    """Return whether topics are in the first column of the lines at the beginning of a file.

    The mean's topic `all` tells it, or else the topics that exist.
    """
    first, second = ({line[column] for line in lines} for column in (1, 2))
    if "runid" in first or (ALL in first) != (ALL in second):
        return ALL in first and "runid" not in first
    return expected.topics is not None and first <= set(expected.topics) and second.isdisjoint(expected.topics)


def _read_json(chunks: Iterable[bytes], cells: _MatrixCells) -> None:
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > MOST_JSON_BYTES:
            raise TooLarge(f"JSON of more than {MOST_JSON_BYTES:,} bytes. Send it as CSV", limit=MOST_JSON_BYTES)
    try:
        runs = json.loads(content.decode("utf-8-sig"), object_pairs_hook=tuple)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        cells.faults.add(
            "bad-json", f"the file is not JSON: {str(error)[:SHOWN_CHARACTERS]}", *((line,) if line else ())
        )
        return
    # An object is a tuple of pairs, because a name may be twice; an array is a list.
    if not isinstance(runs, tuple) or not all(isinstance(row, tuple) for _, row in runs):
        problem = 'the file is not an object of runs, each an object of topics: {"run-1": {"51": 0.25}}'
        cells.faults.add("bad-json", problem)
        return
    for run, row in runs:
        for topic, value in row:
            # True is a whole number in Python, but not in JSON.
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            missing_or_text = "" if value is None else f"{value} (no number)"
            cells.add(run, topic, _as_float(value) if is_number else missing_or_text)


def _as_float(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        # JSON has whole numbers of any length. An infinite score becomes a fault with its run and topic.
        return math.inf


@dataclass(frozen=True)
class ScoresFile:
    systems: list[str]
    topics: list[str]
    scores: dict[str, NDArray[np.float64]]
    notes: list[str]


class _Any:
    def __contains__(self, x: object) -> bool:
        return True

    def __len__(self) -> int:
        return 0


def read_scores(chunks, limits, *, name, form=None, columns=None, measure=None):  # type: ignore
    """Stand in."""
    file = read_score_matrix(chunks, limits, Expected(_Any(), None, missing="leave-out", measure=measure), form)  # type: ignore
    return ScoresFile(file.runs, file.topics, {name: file.scores}, [])
