"""Evaluate files of results: files in, lines out."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, Final

import numpy as np

from gainboard.trec_eval.files import (
    UNPOOLED,
    DocumentLevels,
    DuplicateDocuments,
    FileError,
    LevelTooLarge,
    Retrieved,
    levels_by_rank,
    read_qrels,
    read_results,
)
from gainboard.trec_eval.measures import MEASURES, NICKNAMES, CannotCompute, Measure
from gainboard.trec_eval.options import FILES, Exit, Options
from gainboard.trec_eval.parameters import BadParameters, Parameters
from gainboard.trec_eval.topic import TopicResult

_FORMATS_ELSEWHERE: Final = ("prefs", "qrels_prefs", "qrels_jg")
"""Formats of judgments that trec_eval reads, and this program does not."""
_NO_RESULTS: Final = "trec_eval.get_results: Cannot read results file"


def evaluate(options: Options, files: Sequence[str], out: BinaryIO) -> None:
    """Read the judgments, and print the values of each file of results. Raise Exit at the first fault."""
    if options.rel_format in _FORMATS_ELSEWHERE:
        raise Exit(f"trec_eval: -R {options.rel_format} is not supported: Gainboard reads qrels alone (-R qrels)", 2)
    if options.rel_format != "qrels":
        raise Exit(f"trec_eval: Illegal rel_format '{options.rel_format}'. {FILES}", 2)
    # Read before the other format is checked, because trec_eval complains in this order.
    try:
        judgments = read_qrels(_read_content(files[0], "trec_eval.get_qrels: Cannot read qrels file"))
    except FileError as error:
        raise Exit(f"{error}\n{_quit_in(files[0])}", 2) from error
    except LevelTooLarge as error:
        raise Exit(f"{error} (file '{files[0]}')", 2) from error
    if options.results_format != "trec_results":
        raise Exit(f"trec_eval: Illegal retrieval results format '{options.results_format}'. {FILES}", 2)
    for file in files[1:]:
        try:
            _evaluate_run(options, judgments, file, out)
        except Exit as end:
            # With one file, the message is trec_eval's. It names the file itself where it cannot read it.
            if len(files) == 2 or end.code not in (4, 7):
                raise
            raise Exit(f"{end.message}\n{_quit_in(file)}", end.code) from end


def _evaluate_run(options: Options, judgments: Mapping[bytes, DocumentLevels], file: str, out: BinaryIO) -> None:
    try:
        is_standard_input = file.startswith("-")
        content = sys.stdin.buffer.read() if is_standard_input else _read_content(file, _NO_RESULTS)
        retrieved, run = read_results(content)
    except FileError as error:
        raise Exit(f"{error}\n{_quit_in(file)}", 2) from error
    # In the order of the table, whatever the order of the options: so trec_eval prints them.
    chosen = [measure for measure in MEASURES.values() if measure.name in (options.marked or NICKNAMES["official"])]
    reader = next((measure.name for measure in chosen if measure.reads_ranking), None)
    measures: list[tuple[Measure, Parameters]] = []
    for measure in chosen:
        try:
            measures.append((measure, measure.read(measure.name, options.parameters.get(measure.name))))
        except BadParameters as error:
            raise Exit(f"{error}\ntrec_eval: Cannot initialize measure '{measure.name}'", 2) from error
    summary = Summary(measures)
    highest = -1
    # trec_eval sorts topics as C strings: 10 comes before 9.
    for name in sorted(judgments):
        if options.topic not in (None, name) or not (name in retrieved or options.is_complete):
            continue
        topic = _make_topic(judgments[name], retrieved.get(name), options, reader)
        # trec_eval counts documents by level in memory that the first topic with a level asks for. Without it, it ends.
        if reader and (highest := max(highest, judgments[name].highest)) < 0:
            raise Exit(f"trec_eval: Can't calculate measure '{reader}'", 4)
        values = summary.add(topic, name not in retrieved)
        if options.by_topic:
            out.writelines(summary.lines_of(name, values))
    if not summary.topics:
        raise Exit("trec_eval: No queries with both results and relevance info", 7)
    if options.is_complete:
        # trec_eval counts these anew: all above level 0, whatever the threshold is, and of all topics.
        summary.replace("num_rel", sum(levels.above_0 for levels in judgments.values()))
    if options.summary:
        out.writelines(summary.lines(run))


def _quit_in(file: str) -> str:
    return f"trec_eval: Quit in file '{file}'"


def _read_content(name: str, fault: str) -> bytes:
    try:
        with open(name, "rb") as file:
            content = file.read()
    except OSError:
        # trec_eval has one message for a file that is absent and for one that is empty.
        content = b""
    if not content:
        raise FileError(f"{fault} '{name}'")
    return content


def _make_topic(
    judgments: DocumentLevels, retrieved: Retrieved | None, options: Options, reader: str | None
) -> TopicResult:
    """Return the topic. `reader` is the first measure that reads the ranking: without one, the ranking is not made."""
    try:
        levels = levels_by_rank(retrieved, judgments, options.most) if reader else np.array([UNPOOLED])
    except DuplicateDocuments as error:
        raise Exit(f"{error}\ntrec_eval: Can't calculate measure '{reader}'", 4) from error
    if options.judged_only:
        levels = levels[levels >= 0]
    return TopicResult(levels, judgments.counts(), options.threshold, options.documents)


_NOT_OF_MISSING = ("num_ret", "utility", "rbp_resid", "relstring")
"""Values that trec_eval resets for a topic that the results lack. Under other parameters they have other names."""


class Summary:
    """The sums of measures over topics."""

    def __init__(self, measures: Sequence[tuple[Measure, Parameters]]) -> None:
        self._measures = measures
        self._sums = [[0.0] * len(parameters.names) for _, parameters in measures]
        self.topics = 0

    def add(self, topic: TopicResult, is_missing: bool) -> list[list[float] | str]:
        """Add the values of a topic, and return them."""
        self.topics += 1
        values_of_measures: list[list[float] | str] = []
        for (measure, parameters), sums in zip(self._measures, self._sums, strict=True):
            values = self._compute_values(measure, parameters, topic, is_missing)
            values_of_measures.append(values)
            if not isinstance(values, str):
                sums[:] = [before + value for before, value in zip(sums, values, strict=True)]
        return values_of_measures

    def replace(self, name: str, total: float) -> None:
        """Use this as the sum of a measure, if it is among the measures."""
        for (measure, _), sums in zip(self._measures, self._sums, strict=True):
            if measure.name == name:
                sums[:] = [total]

    def _compute_values(
        self, measure: Measure, parameters: Parameters, topic: TopicResult, is_missing: bool
    ) -> list[float] | str:
        if is_missing and (parameters.names[0] in _NOT_OF_MISSING or measure.name == "unj"):
            return "" if measure.form == "text" else [0.0] * len(parameters.names)
        try:
            value = measure.compute(topic, parameters.values)
        except CannotCompute as error:
            raise Exit(f"{error}\ntrec_eval: Can't calculate measure '{measure.name}'", 4) from error
        return value if isinstance(value, str | list) else [value]

    def lines_of(self, topic: bytes, values_of_measures: Sequence[list[float] | str]) -> Iterator[bytes]:
        """Yield the lines of one topic."""
        for (measure, parameters), values in zip(self._measures, values_of_measures, strict=True):
            if isinstance(values, str):
                yield _format_line(parameters.names[0], topic, f"'{values}'".encode())
            elif measure.form in ("mean", "sum"):
                for name, value in zip(parameters.names, values, strict=True):
                    yield _format_line(name, topic, _format_value(value, measure.form == "sum"))

    def lines(self, run: bytes) -> Iterator[bytes]:
        """Yield the lines of all topics together."""
        for (measure, parameters), sums in zip(self._measures, self._sums, strict=True):
            if measure.form == "run":
                yield _format_line(parameters.names[0], b"all", run)
            elif measure.form != "text":
                for name, value in zip(parameters.names, sums, strict=True):
                    if measure.form == "geometric":
                        # The measures of this form give logarithms.
                        written = _format_value(math.exp(value / self.topics))
                    else:
                        over_topics = value / self.topics if measure.form == "mean" else value
                        written = _format_value(over_topics, measure.form in ("sum", "queries"))
                    yield _format_line(name, b"all", written)


def _format_line(name: str, topic: bytes, value: bytes) -> bytes:
    return b"%-22s\t%s\t%s\n" % (os.fsencode(name), topic, value)


def _format_value(value: float, is_whole: bool = False) -> bytes:
    if is_whole:
        return b"%d" % value
    # The NaN of 0 / 0 has its sign set on most machines, and C prints the sign.
    return b"%6.4f" % value if value == value else b"  -nan"
