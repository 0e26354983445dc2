"""Score matrices: a file of scores as arrays, and its check against the runs and topics of a collection with judgments.

`score_formats` reads the formats.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.bodies import note_other_format
from gainboard.trec.csv_files import separator_line, separator_of
from gainboard.trec.findings import FileLimits, quoted
from gainboard.trec.lines import Text
from gainboard.trec.score_formats import (
    MOST_LINE_BYTES,
    NAMES,
    ScoreGrid,
    read_csv,
    read_json,
    read_json_lines,
    read_trec_eval,
)
from gainboard.vocabulary import MatrixForm

Missing: TypeAlias = "float | Literal['drop-topic', 'leave-out'] | None"
_JSON_LINES: Final = re.compile(rb"\{[^\n]*\}[ \t\r]*\n\s*\{")


@dataclass(frozen=True)
class ScoresFile:
    """The scores of systems on topics, of any metrics.

    `systems` are in the order of the file, `topics` in byte order. `scores` has float64 [systems, topics] by metric,
    NaN for a missing cell. `notes` are sentences about what was assumed.
    """

    systems: list[str]
    topics: list[str]
    scores: Mapping[str, NDArray[np.float64]]
    notes: list[str]
    replicates: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The system, and what tells its replicates apart, of each of `systems` that is a replicate."""


def read_scores(
    chunks: Iterable[bytes],
    limits: FileLimits,
    *,
    name: str,
    columns: Mapping[str, str] | None = None,
    measure: str | None = None,
) -> ScoresFile:
    """Return the scores of a file, whose form is guessed from its beginning.

    `name` is the file's stem: it names a metric, or a system, that the file does not name. `columns` names the columns
    of CSV by their roles: `system`, `topic`, `metric` and `value`. `measure` names the only metric that is read.
    Raise FaultyFile with all faults, among them a second score of a cell, and TooLarge.
    """
    grid = _read(chunks, limits, None, name=name, columns=columns, measure=measure)
    names = list(grid.topics)
    order = sorted(range(len(names)), key=lambda topic: names[topic].encode())
    scores = {metric: np.ascontiguousarray(grid.scores_of(metric)[:, order]) for metric in grid.metrics}
    if not grid.faults and all(np.isnan(table).all() for table in scores.values()):
        which = f"of the measure {quoted(measure)}" if measure else ""
        grid.faults.add("empty-file", f"The file has no scores {which}".rstrip())
    if grid.faults:
        raise grid.faults.error()
    in_order, notes = [names[topic] for topic in order], list(dict.fromkeys(grid.notes))
    return ScoresFile(list(grid.systems), in_order, scores, notes, grid.replicates)


def _read(
    chunks: Iterable[bytes],
    limits: FileLimits,
    form: MatrixForm | None,
    *,
    name: str | None,
    columns: Mapping[str, str] | None = None,
    measure: str | None = None,
    run: str | None = None,
    topics: Collection[str] | None = None,
) -> ScoreGrid:
    pieces = iter(chunks)
    head = b""
    while len(head) < MOST_LINE_BYTES and b"\n" not in head.lstrip() and (piece := next(pieces, b"")):
        head += piece
    chosen, pieces = form or _guess_form(head), chain([head], pieces)
    limits = replace(limits, line_bytes=max(limits.line_bytes, MOST_LINE_BYTES))
    text = Text(pieces, limits)
    grid = ScoreGrid(text.faults, run or name, measure)
    words = head.lstrip().split(b"\n", 1)[0].split()
    if form is None and chosen == "trec_eval" and len(words) not in (0, 3) and not words[0].startswith(b"#"):
        note_other_format(head, grid.faults)
        problem = (
            f"{quoted(b' '.join(words))} begins no file of scores. Write CSV with a header, such as `system,topic-1,"
            "topic-2`; or use the text of `trec_eval -q` or of `ir_measures -q`, JSON Lines, or MTEB's JSON"
        )
        grid.faults.add("bad-header", problem, 1)
    elif chosen == "json" and _JSON_LINES.match(head.removeprefix(b"\xef\xbb\xbf").lstrip()):
        read_json_lines(pieces, limits, grid)
    elif chosen == "json":
        read_json(pieces, grid)
    elif chosen == "csv":
        read_csv(text, limits, grid, columns or {})
    else:
        read_trec_eval(text, grid, run, topics)
    return grid


def _guess_form(head: bytes) -> MatrixForm:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return "json"
    first = start.split(b"\n", 1)[0]
    if separator_line(first.rstrip(b"\r")):
        return "csv"
    cells = first.decode(errors="replace").split(separator_of(first))
    is_named = cells[0].strip(' "\r').lower() in (*NAMES["system"], *NAMES["topic"])
    # trec_eval has three columns, with tabs or spaces between them, and one of its lines is `runid all NAME`.
    is_named = is_named and first.split()[:2] != [b"runid", b"all"]
    return "csv" if is_named or any(sign in first for sign in b",;") or len(cells) > 3 else "trec_eval"


@dataclass(frozen=True)
class Expected:
    """The limits on a file: the runs and topics that exist (None: any), and the range of the scores."""

    runs: frozenset[str] | None
    topics: frozenset[str] | None
    low: float | None = None
    high: float | None = None
    missing: Missing = None
    measure: str | None = None
    """The measure of a file which may have several, as those of trec_eval do."""
    run: str | None = None
    """The run of a file that names none."""
    name: str | None = None
    """The name of a metric or run that a file does not name, where there may be any."""

    def note_unknown(self, grid: ScoreGrid) -> None:
        """Note the faults of a second metric, and of runs and topics that do not exist."""
        for metric, line in list(grid.metrics.items())[1:]:
            problem = f"the metric is {quoted(metric)} here, but {quoted(next(iter(grid.metrics)))} before. A matrix "
            grid.faults.add("several-metrics", problem + "has one metric: name it with measure=NAME", line)
        for run, line in grid.systems.items():
            if run and self.runs is not None and run not in self.runs:
                problem = f"there is no run {quoted(run)} among the {len(self.runs)} of the collection. Upload it, or "
                grid.faults.add("unknown-run", problem + "leave it out", line)
        for topic, line in grid.topics.items():
            if topic and self.topics is not None and topic not in self.topics:
                problem = f"the topic {quoted(topic)} is neither declared nor judged. Correct its id, or leave it out: "
                grid.faults.add("unknown-topic", problem + "is `001` written as `1`?", line, topic=topic.encode())


@dataclass(frozen=True)
class MatrixFile:
    """A matrix: float64 [runs, topics], NaN for a score that is left out.

    Topics are in byte order, runs in the order of the file.
    """

    runs: list[str]
    topics: list[str]
    scores: NDArray[np.float64]
    filled: int
    dropped: list[str]
    replicates: Mapping[str, tuple[str, str]]
    """The same as in `ScoresFile`, by row."""


def read_score_matrix(
    chunks: Iterable[bytes], limits: FileLimits, expected: Expected, form: MatrixForm | None = None
) -> MatrixFile:
    """Return the matrix of a file; its form is guessed from its beginning, unless it is given.

    Raise FaultyFile with all faults, of which a missing cell is one unless `expected.missing` says what it means.
    """
    measure, run, topics = expected.measure, expected.run, expected.topics
    grid = _read(chunks, limits, form, name=expected.name, measure=measure, run=run, topics=topics)
    faults, known = grid.faults, expected.runs
    # Of a table whose first cell tells nothing, the names of runs tell what is what.
    if grid.notes and known and not known & grid.systems.keys() and known & grid.topics.keys():
        grid.exchange()
    expected.note_unknown(grid)
    # A metric without a known run or topic has no cell: what is at fault above is not at fault again.
    first = next(iter(grid.metrics), None)
    table = grid.scores_of(first) if first is not None else np.empty((len(grid.systems), len(grid.topics)))
    runs, names = list(grid.systems), list(grid.topics)
    rows = np.array([row for row, run in enumerate(runs) if known is None or run in known], np.intp)
    order = sorted(range(len(names)), key=lambda topic: names[topic].encode())
    columns = np.array([t for t in order if expected.topics is None or names[t] in expected.topics], np.intp)
    scores = table[np.ix_(rows, columns)]
    low, high = expected.low, expected.high
    if low is not None and high is not None:
        for row, column in np.argwhere((scores < low) | (scores > high)).tolist():
            run, topic, value = runs[rows[row]], names[columns[column]], float(scores[row, column])
            line = grid.line_of(first or "", int(rows[row]), int(columns[column]))
            problem = f"the score {value!r} is not in the range from {low!r} to {high!r}: run {quoted(run)}, topic "
            faults.add("out-of-range", problem + quoted(topic), line, topic=topic.encode())
    is_missing = _without_replicates(scores, [grid.replicates.get(runs[row], (runs[row], ""))[0] for row in rows])
    if is_missing.all() and not faults:
        faults.add("empty-file", "The file has no scores")
    for row, column in np.argwhere(is_missing).tolist() if expected.missing is None else ():
        run, topic = runs[rows[row]], names[columns[column]]
        problem = (
            f"run {quoted(run)} has no score on topic {quoted(topic)}. Add it, or say what a missing score is: "
            "missing=VALUE, missing=zero, missing=drop-topic or missing=leave-out"
        )
        faults.add("missing-score", problem, topic=topic.encode())
    is_dropped = is_missing.any(axis=0) & (expected.missing == "drop-topic")
    if is_dropped.all() and not faults:
        faults.add("missing-score", "every topic lacks the score of some run, so that none is left")
    if faults:
        raise faults.error()
    if isinstance(expected.missing, float):
        scores[is_missing] = expected.missing
    left = np.array([names[column] for column in columns], object)
    return MatrixFile(
        [runs[row] for row in rows],
        left[~is_dropped].tolist(),
        np.ascontiguousarray(scores[:, ~is_dropped]),
        0 if is_dropped.any() else int(is_missing.sum()),
        left[is_dropped].tolist(),
        grid.replicates,
    )


def _without_replicates(scores: NDArray[np.float64], systems: Sequence[str]) -> NDArray[np.bool_]:
    """Return which scores are missing, unless another row of the system has one: replicates may be fewer on a topic."""
    is_missing, places = np.isnan(scores), dict[str, list[int]]()
    for place, system in enumerate(systems):
        places.setdefault(system, []).append(place)
    for some in places.values() if len(places) < len(systems) else ():
        is_missing[some] &= is_missing[some].all(axis=0)
    return is_missing
