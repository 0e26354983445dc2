"""The formats of files of scores: a reader for each puts scores of systems on topics into a `ScoreGrid`, with faults.

- CSV, also with semicolons and decimal commas as spreadsheets write it, or with tabs: a row for each system, a row for
  each topic, a row for each score (as PyTerrier's `Experiment(perquery=True)`), or a row for each system and topic with
  a column for each metric (gdeval).
- The text of `trec_eval -q` and of `ir_measures -q`.
- JSON: `{"system": {"topic": 0.25}}`, or the file of a task in MTEB's `results`, or records: samples and aggregates of
  Every Eval Ever 0.3.0, and objects with the names of a CSV's columns. JSON Lines has a record on each line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import TooLarge
from gainboard.trec.csv_files import csv_rows
from gainboard.trec.findings import RESERVED_TOPIC, SHOWN_CHARACTERS, Faults, FileLimits, quoted
from gainboard.trec.lines import Text
from gainboard.trec.numbers import decimal, decimals

Floats = NDArray[np.float64]
_Places = tuple[NDArray[np.intp], ...]
"""The metrics, systems and topics of some scores."""
MOST_CELLS: Final = 12_000_000
"""The most systems x topics x metrics of a file: 96 MB of scores, and half as much for their lines."""
MOST_JSON_BYTES: Final = 64 << 20  # JSON is parsed as a whole, which takes several times its size
MOST_LINE_BYTES: Final = 4 << 20
"""The most bytes of a line: a row has a score for each topic, and a sample has its whole prompt."""
MEANS: Final = {RESERVED_TOPIC.decode(), "amean"}
"""The words of trec_eval and of gdeval, in place of a topic, for the mean over topics."""
NAMES: Final[Mapping[str, Sequence[str]]] = {
    "system": (
        *("system", "run", "model", "runid", "run_id", "run_name", "run_tag", "model_id", "model_name", "name"),
        *("submission", "agent", "method", "retriever"),
    ),
    "topic": (
        *("topic", "query_id", "query-id", "qid", "queryid", "topic_id", "topicid", "query", "task", "task_name"),
        *("question_id", "question", "sample_id", "sample", "instance_id", "instance", "item", "dataset", "benchmark"),
    ),
    "metric": ("metric", "measure"),
    "value": ("value", "score", "main_score"),
    "replicate": ("replicate",),
}
"""The names of columns in files of scores, the surest first, and what the columns have."""
_NUMBERED: Final = re.compile(r"(.*?[^0-9])[0-9]+")
_DECIMAL_COMMA: Final = re.compile(rb"[+-]?[0-9]*,[0-9]+")
LINES_TRIED: Final = 1000
"""Lines at the beginning of a text, which tell whose it is: trec_eval's or ir_measures'."""
AT_ONCE: Final = 1 << 16
_HEAD: Final = {"runid", "num_q", "num_ret", "num_rel", "num_rel_ret"}
"""The lines of trec_eval that are about the run or count documents, and that are left out unless they are asked for."""


class ScoreGrid:
    """The scores of a file so far, by metric, system and topic, with the line of each.

    `systems`, `topics` and `metrics` have the first line of each name, in the order of the file; 0 where a file has no
    lines. `notes` are what the reader has assumed. `name` is what the file is called: the system, or the metric, that
    it does not name. Of several metrics, `measure` is the one that is read.
    """

    def __init__(self, faults: Faults, name: str | None, measure: str | None) -> None:
        self.faults, self.notes, self.name, self.measure = faults, list[str](), name, measure
        self.systems, self.topics, self.metrics = dict[str, int](), dict[str, int](), dict[str, int]()
        self.replicates = dict[str, tuple[str, str]]()
        self._index: tuple[dict[str, int], ...] = ({}, {}, {})
        # float64 and int32 [metrics, systems, topics], with room for more. Line 0 means that there is no score.
        self._scores, self._lines = np.empty((0, 0, 0)), np.empty((0, 0, 0), np.int32)
        self._waiting: list[tuple[int, int, int, str, int]] = []

    def name_row(self, system: str, replicate: str) -> str:
        """Return the name of a replicate among `systems`, such as `bm25@1`; without a replicate, that of the system."""
        row = f"{system}@{replicate}" if replicate else system
        if replicate:
            self.replicates[row] = system, replicate
        return row

    def add(self, system: str, topic: str, metric: str, token: str, line: int = 0) -> None:
        """Add a score, or note the fault of its line. An empty token is a missing score, and a mean is left out."""
        if topic not in MEANS:
            places = self._place(2, metric, line), self._place(0, system, line), self._place(1, topic, line)
            self._waiting.append((*places, token, line))
            if len(self._waiting) >= AT_ONCE:
                self._put_waiting()

    def add_row(self, system: str, topics: Mapping[str, int], metric: str, tokens: Sequence[str], line: int) -> None:
        """Add the scores of a system on all topics, each with its line. None of them is a mean."""
        index, row = self._index[1], self._place(0, system, line)
        for topic, header in topics.items() if not index else ():
            self._place(1, topic, header)
        at = np.full(len(topics), self._place(2, metric, line)), np.full(len(topics), row), np.arange(len(topics))
        self._put(at, tokens, np.full(len(topics), line, np.int32), are_distinct=True)

    def scores_of(self, metric: str) -> Floats:
        """Return the scores of a metric in the order of `systems` and `topics`, NaN for a missing one."""
        self._put_waiting()
        self._grow()
        return self._scores[self._index[2][metric], : len(self.systems), : len(self.topics)]

    def line_of(self, metric: str, system: int, topic: int) -> int:
        """Return the line of a score, by the places of system and topic; 0 where a file has no lines."""
        return max(0, int(self._lines[self._index[2][metric], system, topic]))

    def exchange(self) -> None:
        """Make the systems topics, and the topics systems."""
        self._put_waiting()
        systems, topics, metrics = self._index
        self.systems, self.topics, self._index = self.topics, self.systems, (topics, systems, metrics)
        self._scores, self._lines = self._scores.swapaxes(1, 2), self._lines.swapaxes(1, 2)

    def _place(self, axis: int, name: str, line: int) -> int:
        index = self._index[axis]
        if (place := index.get(name)) is None:
            if not name:
                kind = ("system", "topic", "metric")[axis]
                self.faults.add("empty-name", f"the name of a {kind} is empty. Write it, or leave out the row", line)
            place = index[name] = len(index)
            (self.systems, self.topics, self.metrics)[axis][name] = line
            if len(self.systems) * len(self.topics) * max(1, len(self.metrics)) > MOST_CELLS:
                message = f"The file has more than {MOST_CELLS:,} cells (systems x topics x metrics). Leave some out"
                raise TooLarge(message, limit=MOST_CELLS)
        return place

    def _put_waiting(self) -> None:
        if waiting := self._waiting:
            metrics, systems, topics, tokens, lines = zip(*waiting, strict=True)
            self._waiting = []
            at = np.array(metrics, np.intp), np.array(systems, np.intp), np.array(topics, np.intp)
            self._put(at, tokens, np.array(lines, np.int32))

    def _grow(self) -> None:
        wanted = len(self.metrics), len(self.systems), len(self.topics)
        if any(room < size for room, size in zip(self._scores.shape, wanted, strict=True)):
            # Half as much again along an axis that has grown, so that few scores are moved often.
            sizes = zip(self._scores.shape, wanted, strict=True)
            room = [old if old >= new else max(new, old * 3 // 2) for old, new in sizes]
            scores, lines = np.full(room, np.nan), np.zeros(room, np.int32)
            there = tuple(map(slice, self._scores.shape))
            scores[there], lines[there] = self._scores, self._lines
            self._scores, self._lines = scores, lines

    def _put(self, at: _Places, tokens: Sequence[str], lines: NDArray[np.int32], *, are_distinct: bool = False) -> None:
        self._grow()
        values = self._read_values(at, tokens, lines)
        there = ~np.isnan(values)
        if not there.all():
            at, values, lines = (at[0][there], at[1][there], at[2][there]), values[there], lines[there]
        are_distinct = are_distinct or len(np.unique(np.ravel_multi_index(at, self._scores.shape))) == len(values)
        if not are_distinct or self._lines[at].any():
            # One by one, because the first score of a cell stays, and each other one is a fault.
            for place, value, line in zip(zip(*at, strict=True), values.tolist(), lines.tolist(), strict=True):
                if first := int(self._lines[place]):
                    problem = f"there is a score already: {self._where(*place[1:])}. Keep one of the two"
                    self.faults.add("duplicate-score", problem, first, line, topic=list(self.topics)[place[2]].encode())
                else:
                    self._scores[place], self._lines[place] = value, line or -1
            return
        self._scores[at], self._lines[at] = values, np.where(lines == 0, -1, lines)

    def _read_values(self, at: _Places, tokens: Sequence[str], lines: NDArray[np.int32]) -> Floats:
        """Return the numbers of tokens, NaN for empty ones and for faults."""
        encoded = ",".join(tokens).encode().split(b",")
        if len(encoded) != len(tokens):  # a decimal comma is as spreadsheets of many countries write it
            encoded = [token.encode() for token in tokens]
            encoded = [token.replace(b",", b".") if _DECIMAL_COMMA.fullmatch(token) else token for token in encoded]
        if (numbers := decimals(encoded)) is not None:
            return numbers
        empty = np.array([not token for token in encoded], np.bool_)
        if (numbers := decimals([token or b"0" for token in encoded])) is None:
            numbers = np.zeros(len(encoded))
            for number, token in enumerate(encoded):
                if token and (value := decimal(token)) is None:
                    system, topic = int(at[1][number]), int(at[2][number])
                    problem = f"{quoted(tokens[number])} is not a score: {self._where(system, topic)}. Write a number "
                    problem += "such as 0.25, or nothing if it is missing"
                    named = list(self.topics)[topic].encode()
                    self.faults.add("bad-number", problem, int(lines[number]), topic=named)
                    empty[number] = True
                elif token:
                    numbers[number] = value
        numbers[empty] = np.nan
        return numbers

    def _where(self, system: int, topic: int) -> str:
        return f"system {quoted(list(self.systems)[system])}, topic {quoted(list(self.topics)[topic])}"


def read_csv(text: Text, limits: FileLimits, grid: ScoreGrid, columns: Mapping[str, str]) -> None:
    """Read a CSV file. `columns` names those of `NAMES` that are called otherwise, by what they have."""
    name, measure = grid.name, grid.measure
    rows = csv_rows(text, limits)
    number, names = next(rows, (0, []))
    while names and not any(names):  # a spreadsheet may begin with empty rows
        number, names = next(rows, (0, []))
    while len(names) > 1 and not names[-1]:  # and may have empty columns after the last one
        names.pop()
    header, at = [column.lower() for column in names], dict[str, int]()
    for role, usual in NAMES.items():
        called = [columns[role].lower()] if role in columns else usual
        if place := [header.index(column) for column in called if header.count(column) == 1]:
            at[role] = place[0]
        elif role in columns and names:
            problem = f"there is no column {quoted(columns[role])} for the {role}. The header is "
            grid.faults.add("bad-header", problem + quoted(",".join(names)), number)
            return
    if "system" in at and (beside := at.pop("replicate", None)) is not None:
        rows = _rows_of_replicates(rows, len(names), at["system"], beside, grid)
        names, header = names[:beside] + names[beside + 1 :], header[:beside] + header[beside + 1 :]
        at = {role: place - (place > beside) for role, place in at.items()}
    metrics = {header.index(column): column for column in header if column} if {"system", "topic"} <= at.keys() else {}
    for role in at:
        metrics.pop(at[role], None)
    # Without a column of systems, the file is called like its system.
    metric = name if name and "system" in at else "score"
    if {"topic", "value"} <= at.keys() and ("system" in at or name):
        for number, row in _rows_of_width(rows, len(names), grid):
            if "metric" in at:
                metric = row[at["metric"]]
            if measure is None or "metric" not in at or metric == measure:
                system = row[at["system"]] if "system" in at else name or ""
                grid.add(system, row[at["topic"]], metric, row[at["value"]], number)
    elif metrics:  # as in gdeval's file
        for number, row in _rows_of_width(rows, len(names), grid):
            for column in (column for column in metrics if measure in (None, names[column])):
                grid.add(row[at["system"]], row[at["topic"]], names[column], row[column], number)
    elif len(names) < 2 or len(set(names)) < len(names):
        problem = (
            f"the header {quoted(','.join(names))} is not one of scores. It begins with `system` and names the topics, "
            "or begins with `topic` and names the systems, or has the columns `system`, `topic` and `value`, which may "
            "be called otherwise: columns=system=NAME,topic=NAME,value=NAME. No name may be there twice"
        )
        grid.faults.add("bad-header", problem, number)
    else:
        _read_wide(rows, number, names, grid)


def _rows_of_replicates(
    rows: Iterator[tuple[int, list[str]]], width: int, system: int, replicate: int, grid: ScoreGrid
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows without the column of replicates, each with the name of its row in that of systems."""
    for number, row in _rows_of_width(rows, width, grid):
        row[system] = grid.name_row(row[system], row[replicate])
        yield number, row[:replicate] + row[replicate + 1 :]


def _read_wide(rows: Iterator[tuple[int, list[str]]], number: int, names: list[str], grid: ScoreGrid) -> None:
    """Read a table with systems in rows and topics in columns, or the other way round."""
    corner, first, second = names[0].lower(), *map(_NUMBERED.fullmatch, names[:2])
    # Without a column of names, the header is `run1,run2,...`, and so its first name is like the second.
    is_unnamed = bool(first and second) and first[1] == second[1]  # type: ignore[index]
    across = names if is_unnamed else names[1:]
    kept = [place for place, column in enumerate(across) if column not in MEANS]
    topics, is_whole = {across[place]: number for place in kept}, len(kept) == len(across)
    for seen, (line, row) in enumerate(_rows_of_width(rows, len(names), grid), 1):
        cells, called = (row, str(seen)) if is_unnamed else (row[1:], row[0])
        if called not in MEANS:
            tokens = cells if is_whole else [cells[place] for place in kept]
            grid.add_row(called, topics, grid.name or "score", tokens, line)
    prefix = first[1].lower().rstrip("-_ ") if is_unnamed and first else corner
    if any(prefix in NAMES[role] for role in ("system", "topic")):
        has_systems_across = (prefix in NAMES["topic"]) != is_unnamed
    else:
        has_systems_across = len(grid.systems) > len(grid.topics)
        side = "rows" if has_systems_across else "columns"
        grid.notes.append(
            f"the {side} are read as topics, because they are {'more' if has_systems_across else 'not fewer'}: to say "
            "it, write `system` or `topic` into the first cell"
        )
    if is_unnamed:
        grid.notes.append(f"the rows have no names, and are numbered: the header begins with {quoted(names[0])}")
    if has_systems_across:
        grid.exchange()


def _rows_of_width(
    rows: Iterable[tuple[int, list[str]]], width: int, grid: ScoreGrid
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the header's cells, without a spreadsheet's empty ones. Others become faults."""
    for number, row in rows:
        if len(row) == width or (len(row) > width and not any(row[width:])):
            if any(row):
                yield number, row[:width]
        elif any(row):
            grid.faults.add("bad-columns", f"the row has {len(row)} cells, but the header has {width}", number)


def read_trec_eval(text: Text, grid: ScoreGrid, run: str | None, topics: Collection[str] | None) -> None:
    """Read lines of measure, topic and value, or of topic, measure and value, as ir_measures has them.

    `runid` names the run of the lines around it. It is the first of them in our own text, and after the scores of the
    topics in that of trec_eval. `run` is the system whatever the file says. The mean's topic `all` tells which column
    has the topics, or else the `topics` that exist, or else that there is one measure alone, or else that both tools
    write all measures of a topic one after the other.
    """
    rows = (row for block in text.blocks() for row in text.rows(block))
    beginning = list(islice(rows, LINES_TRIED))
    triples = [[column.decode() for column in columns] for _, columns in beginning if len(columns) == 3]
    first, second = ({triple[column] for triple in triples} for column in (0, 1))
    if "runid" in first or not first.isdisjoint(MEANS) or not second.isdisjoint(MEANS):
        has_topics_first = not first.isdisjoint(MEANS) and "runid" not in first
    elif topics is not None:
        has_topics_first = first <= set(topics) and second.isdisjoint(topics)
    else:
        has_topics_first = len(first) > 1 and (len(second) == 1 or triples[0][0] == triples[1][0])
    # Lines wait for the name of their run, which may come after them.
    waiting: list[tuple[int, str, str, str]] = []
    system, is_before = run, None

    def give(to: str | None) -> None:
        for number, metric, topic, value in waiting:
            if to is None:
                grid.faults.add("unknown-run", "no line `runid` names the run of this line. Name it: run=NAME", number)
            else:
                grid.add(to, topic, metric, value, number)
        waiting.clear()

    for number, columns in chain(beginning, rows):
        if len(columns) != 3:
            problem = f"the line has {len(columns)} columns, but a line of trec_eval has 3: measure, topic and value"
            grid.faults.add("bad-columns", problem, number)
            continue
        *names, value = (column.decode() for column in columns)
        topic, metric = names if has_topics_first else reversed(names)
        if metric == "runid":
            is_before = not (waiting or grid.systems) if is_before is None else is_before
            if not is_before:
                give(run or value)
            elif system is not None:
                give(system)
            system = run or value
        elif topic not in MEANS and (metric not in _HEAD if grid.measure is None else metric == grid.measure):
            waiting.append((number, metric, topic, value))
    give((system if is_before is not False else run) or grid.name)


def read_json(chunks: Iterable[bytes], grid: ScoreGrid) -> None:
    """Read a document: scores by system and topic, a task of MTEB, or records."""
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > MOST_JSON_BYTES:
            raise TooLarge(f"JSON of more than {MOST_JSON_BYTES:,} bytes. Send it as CSV", limit=MOST_JSON_BYTES)
    document = _parse(content, grid)
    members = _members(document)
    if isinstance(document, list) and document and all(isinstance(record, tuple) for record in document):
        for record in document:
            _add_record(dict(record), grid)
    elif isinstance(members.get("scores"), tuple) and "task_name" in members:
        # The score of a task of MTEB is the mean of its subsets on the split `test`, or else on its only split.
        splits, key = dict(members["scores"]), grid.measure or "main_score"
        split = next(iter(splits)) if len(splits) == 1 else "test"
        subsets = splits[split] if isinstance(splits.get(split), list) else []
        values: list[Any] = [_members(subset).get(key) for subset in subsets]
        if split not in splits:
            problem = f"the task has the splits {', '.join(splits) or '(none)'}, and none of them is `test`. Leave one"
            grid.faults.add("bad-json", problem)
        elif not values or not all(isinstance(value, int | float) for value in values):
            problem = f"a subset of the task has no number {quoted(key)}. Name another: measure=NAME"
            grid.faults.add("bad-json", problem)
        else:
            grid.notes += ["the score of a task with several subsets is their mean"] if len(values) > 1 else []
            mean = math.fsum(float(_token(value)) for value in values) / len(values)
            grid.add(grid.name or "system", str(members["task_name"]), key, _token(mean))
    elif "evaluation_results" in members or "evaluation" in members:
        _add_record(members, grid)
    elif isinstance(document, tuple) and all(isinstance(row, tuple) for _, row in document):
        # An object is a tuple of pairs, because a name may be twice; an array is a list.
        for system, row in document:
            for topic, value in row:
                grid.add(system, topic, grid.name or "score", _token(value))
    elif document is not None:
        problem = 'the file is not an object of systems, each an object of topics: {"system-1": {"51": 0.25}}'
        grid.faults.add("bad-json", problem)


def read_json_lines(chunks: Iterable[bytes], limits: FileLimits, grid: ScoreGrid) -> None:
    """Read a record from each line: a sample or an aggregate of Every Eval Ever, or the names of a CSV's columns."""
    number, rest = 0, b""
    for chunk in chain(chunks, [b"\n"]):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MOST_LINE_BYTES:
            raise TooLarge(f"Line {number + 1} has more than {MOST_LINE_BYTES:,} bytes", limit=MOST_LINE_BYTES)
        if number + len(lines) > limits.lines:
            raise limits.exceeded("lines", "The file has more lines than")
        for line in lines:
            number += 1
            if line.strip() and (record := _parse(line, grid, number)) is not None:
                if isinstance(record, tuple):
                    _add_record(dict(record), grid, number)
                else:
                    grid.faults.add("bad-json", "the line is not a JSON object", number)


def _parse(text: bytes | bytearray, grid: ScoreGrid, line: int = 0) -> Any:
    """Return what JSON says, with objects as tuples of pairs; None, with a fault, if it is not JSON."""
    try:
        return json.loads(text.decode("utf-8-sig"), object_pairs_hook=tuple)
    except (ValueError, RecursionError) as error:
        problem = f"the {'line' if line else 'file'} is not JSON: {str(error)[:SHOWN_CHARACTERS]}"
        grid.faults.add("bad-json", problem, line or getattr(error, "lineno", 0))
        return None


def _add_record(record: Mapping[str, Any], grid: ScoreGrid, line: int = 0) -> None:
    """Add the score or the scores of a record."""
    if isinstance(record.get("evaluation_results"), list):  # an aggregate of Every Eval Ever has the scores of a model
        model = _members(record.get("model_info"))
        for result in map(_members, record["evaluation_results"]):
            details, config = _members(result.get("score_details")), _members(result.get("metric_config"))
            metric = str(config.get("metric_id") or config.get("metric_name") or grid.name or "score")
            if grid.measure in (None, metric):
                topic = str(result.get("evaluation_name", ""))
                grid.add(str(model.get("id", "")), topic, metric, _token(details.get("score")), line)
        return
    members = {key.lower(): value for key, value in record.items()}
    if isinstance(sample := members.get("evaluation"), tuple):  # a sample of Every Eval Ever has one score
        members |= {"value": dict(sample).get("score"), "metric": members.get("evaluation_name")}
    found = {role: next((members[key] for key in usual if key in members), None) for role, usual in NAMES.items()}
    metric = str(found["metric"] or grid.name or "score")
    if found["system"] is None or found["topic"] is None or not {*NAMES["value"]} & members.keys():
        problem = (
            'the object is no score. It needs a system, a topic and a value: {"system": "a", "topic": "51", "value": '
            "0.25}, or what a sample of Every Eval Ever has. Verdicts need their nuggets, too: --nuggets FILE"
        )
        grid.faults.add("bad-json", problem, line)
    elif grid.measure in (None, metric):
        row = grid.name_row(str(found["system"]), "" if found["replicate"] is None else str(found["replicate"]))
        grid.add(row, str(found["topic"]), metric, _token(found["value"]), line)


def _members(value: object) -> dict[str, Any]:
    """Return the members of a JSON object, which is a tuple of pairs; of anything else, none."""
    return dict(value) if isinstance(value, tuple) else {}


def _token(value: object) -> str:
    """Return a number of JSON as a cell of CSV has it. What is no number becomes a token that is none either."""
    if value is None:
        return ""
    # True is a whole number in Python, but not in JSON.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{value!r} (no number)"[:SHOWN_CHARACTERS]
    try:
        return repr(float(value))
    except OverflowError:  # JSON has whole numbers of any length
        return "Infinity"
