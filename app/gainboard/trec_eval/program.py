"""The program: arguments in, lines and an exit code out."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from getopt import GetoptError, gnu_getopt
from pathlib import Path
from typing import BinaryIO, Final, TextIO

import numpy as np

from gainboard.trec_eval.files import (
    UNPOOLED,
    DuplicateDocuments,
    FileError,
    Judgments,
    LevelTooLarge,
    Retrieved,
    levels_by_rank,
    read_qrels,
    read_results,
)
from gainboard.trec_eval.measures import MEASURES, NICKNAMES, REFUSED, CannotCompute, Measure
from gainboard.trec_eval.numerals import whole_number
from gainboard.trec_eval.parameters import BadParameters, Parameters
from gainboard.trec_eval.topic import Topic

SHORT: Final = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG: Final = {
    "help": "h",
    "version": "v",
    "query_eval_wanted": "q",
    "measure=": "m",
    "complete_rel_info_wanted": "c",
    "level_for_rel=": "l",
    "nosummary": "n",
    "Debug_level=": "D",
    "Judged_docs_only": "J",
    "Number_docs_in_coll=": "N",
    "Max_retrieved_per_topic=": "M",
    "Rel_info_format=": "R",
    "Results_format=": "T",
    "Output_old_results_format=": "o",
    "Zscore=": "Z",
}
USAGE: Final = """Usage: trec_eval [-h] [-q] {-m measure}* trec_rel_file trec_top_file
   -h: Print help, with the other options
   -q: In addition to the summary, print the values of each topic
   -m: Compute and print the measures named by 'measure'
       ('-m all_trec' prints all measures of TREC; '-m official' is the default)
"""
HELP: Final = """trec_eval [-h] [-q] [-m measure[.params]] [-c] [-n] [-l <num>] [-N <num>] [-M <num>] [-J]
   rel_info_file results_file ...

Compute and print measures of the results in results_file by the judgments in rel_info_file. If results_file is '-', it
is standard input. Several files of results are evaluated one after the other.

 -h, --help                       print this help, and explain the measures of '-m'
 -v, --version                    print the version
 -q, --query_eval_wanted          print the values of each topic, too
 -m, --measure MEASURE[.PARAMS]   add a measure, or several: official, all_trec, set. 'P.5,10' has parameters
 -c, --complete_rel_info_wanted   average over all judged topics: topics that the results lack have the value 0
 -l, --level_for_rel NUM          the lowest level of relevant documents (default 1)
 -n, --nosummary                  print no summary
 -J, --Judged_docs_only           remove unjudged documents before anything is computed
 -N, --Number_docs_in_coll NUM    the number of documents in the collection
 -M, --Max_retrieved_per_topic NUM  the most documents of a topic that are evaluated

"""
_FORMATS_ELSEWHERE: Final = ("prefs", "qrels_prefs", "qrels_jg")
"""Formats of judgments that trec_eval reads, and this program does not."""
FILES: Final = "The judgments are TREC qrels (-R qrels), and the results are TREC runs (-T trec_results)."


class Exit(Exception):
    """The end of the program with a message and an exit code other than 0."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message, self.code = message, code


@dataclass
class Options:
    """The options of a command line."""

    by_topic: bool = False
    is_complete: bool = False
    summary: bool = True
    judged_only: bool = False
    threshold: int = 1
    documents: int = 0
    most: int = sys.maxsize
    topic: bytes | None = None
    """The only topic to evaluate."""
    rel_format: str = "qrels"
    results_format: str = "trec_results"
    marked: set[str] = field(default_factory=set)
    parameters: dict[str, str] = field(default_factory=dict)
    help: bool = False
    version: bool = False


def main(arguments: Sequence[str], out: BinaryIO, errors: TextIO) -> int:
    """Run trec_eval with these arguments, and return its exit code. Here, several files of results may be named."""
    try:
        options, files = _read_options(arguments)
        if options.version:
            print("trec_eval version 10.0", file=errors)
        elif options.help:
            out.write(_help(options).encode())
        else:
            _evaluate(options, files, out)
    except Exit as end:
        print(end.message, file=errors)
        return end.code
    return 0


def _read_options(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    try:
        given, files = gnu_getopt(list(arguments), SHORT, list(LONG))
    except GetoptError as error:
        raise Exit(f"trec_eval: {error}\n{USAGE}", 1) from error
    options = Options()
    for name, value in given:
        _take(options, name[1:] if len(name) == 2 else _short(name[2:]), value)
        if options.version:
            return options, []
    if not options.help and len(files) < 2:
        raise Exit(USAGE, 1)
    return options, files


def _short(long: str) -> str:
    return LONG.get(long) or LONG[f"{long}="]


def _take(options: Options, name: str, value: str) -> None:
    match name:
        case "h":
            options.help = True
        case "v":
            options.version = True
        case "q":
            options.by_topic = True
        case "m":
            _mark(options, value)
        case "c":
            options.is_complete = True
        case "n":
            options.summary = False
        case "J":
            options.judged_only = True
        case "l":
            options.threshold = whole_number(value.encode())
        case "N":
            options.documents = whole_number(value.encode())
        case "M":
            options.most = whole_number(value.encode())
        case "R":
            options.rel_format = value
        case "T":
            options.results_format = value
        case "D":
            _take_debugging(options, value)
        case "Z":
            raise Exit("trec_eval: -Z is not supported: Gainboard prints scores, not their deviations from a mean", 1)


def _take_debugging(options: Options, value: str) -> None:
    level, dot, topic = value.partition(".")
    if whole_number(level.encode()) > 0:
        raise Exit("trec_eval: -D is not supported: Gainboard prints no steps of a computation", 1)
    options.topic = topic.encode() if dot else None


def _mark(options: Options, given: str) -> None:
    name, dot, parameters = given.partition(".")
    if dot and not parameters:
        raise Exit(f"trec_eval: improper measure in parameter '{name}'\ntrec_eval: illegal measure '{name}'", 1)
    if name in REFUSED or name.startswith("prefs_") or name.endswith("_avgjg"):
        raise Exit(f"trec_eval: measure '{name}' is not supported: it needs preferences or judgment groups", 1)
    if name not in MEASURES and name not in NICKNAMES:
        raise Exit(f"trec_eval: illegal measure '{name}'", 1)
    options.marked.update(NICKNAMES.get(name, (name,)))
    if dot:
        options.parameters.setdefault(name, parameters)


def _help(options: Options) -> str:
    named = [measure for measure in MEASURES.values() if measure.name in options.marked]
    lines = [f"{measure.name}\n    {' '.join(measure.explanation.split())}\n" for measure in named]
    return HELP + FILES + "\n\n" + ("".join(lines) or "Name measures with -m to have them explained.\n")


def _evaluate(options: Options, files: Sequence[str], out: BinaryIO) -> None:
    if options.rel_format in _FORMATS_ELSEWHERE:
        raise Exit(f"trec_eval: -R {options.rel_format} is not supported: Gainboard reads qrels alone (-R qrels)", 2)
    if options.rel_format != "qrels":
        raise Exit(f"trec_eval: Illegal rel_format '{options.rel_format}'. {FILES}", 2)
    judgments = _read_qrels(files[0])
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


def _evaluate_run(options: Options, judgments: Mapping[bytes, Judgments], file: str, out: BinaryIO) -> None:
    retrieved, run = _read_results(file)
    chosen = [measure for measure in MEASURES.values() if measure.name in (options.marked or NICKNAMES["official"])]
    reader = next((measure.name for measure in chosen if measure.reads_ranking), None)
    summary = Summary([(measure, _parameters(measure, options)) for measure in chosen])
    for name in sorted(judgments):
        if options.topic not in (None, name) or not (name in retrieved or options.is_complete):
            continue
        topic = _topic(judgments[name], retrieved.get(name), options, reader)
        values = summary.add(topic, name not in retrieved)
        if options.by_topic:
            out.writelines(summary.lines_of(name, values))
    if not summary.topics:
        raise Exit("trec_eval: No queries with both results and relevance info", 7)
    if options.summary:
        out.writelines(summary.lines(run))


def _read_qrels(name: str) -> dict[bytes, Judgments]:
    try:
        return read_qrels(_content(name, "trec_eval.get_qrels: Cannot read qrels file"))
    except FileError as error:
        raise Exit(f"{error}\n{_quit_in(name)}", 2) from error
    except LevelTooLarge as error:
        raise Exit(f"{error} (file '{name}')", 2) from error


def _quit_in(file: str) -> str:
    return f"trec_eval: Quit in file '{file}'"


def _read_results(name: str) -> tuple[dict[bytes, Retrieved], bytes]:
    try:
        if name.startswith("-"):
            return read_results(sys.stdin.buffer.read())
        return read_results(_content(name, "trec_eval.get_results: Cannot read results file"))
    except FileError as error:
        raise Exit(f"{error}\n{_quit_in(name)}", 2) from error


def _content(name: str, fault: str) -> bytes:
    try:
        content = Path(name).read_bytes()
    except OSError:
        content = b""
    if not content:
        raise FileError(f"{fault} '{name}'")
    return content


def _parameters(measure: Measure, options: Options) -> Parameters:
    try:
        return measure.read(measure.name, options.parameters.get(measure.name))
    except BadParameters as error:
        raise Exit(f"{error}\ntrec_eval: Cannot initialize measure '{measure.name}'", 2) from error


def _topic(judgments: Judgments, retrieved: Retrieved | None, options: Options, reader: str | None) -> Topic:
    """Return the topic. `reader` is the first measure that reads the ranking: without one, the ranking is not made."""
    try:
        levels = levels_by_rank(retrieved, judgments, options.most) if reader else np.array([UNPOOLED])
    except DuplicateDocuments as error:
        raise Exit(f"{error}\ntrec_eval: Can't calculate measure '{reader}'", 4) from error
    if options.judged_only:
        levels = levels[levels >= 0]
    return Topic(levels, judgments.counts(), options.threshold, options.documents)


_NOT_OF_MISSING = ("num_ret", "utility", "rbp_resid", "relstring")
"""Values that trec_eval resets for a topic that the results lack. Under other parameters they have other names."""


class Summary:
    """The sums of measures over topics."""

    def __init__(self, measures: Sequence[tuple[Measure, Parameters]]) -> None:
        self._measures = measures
        self._sums = [[0.0] * len(parameters.names) for _, parameters in measures]
        self.topics = 0

    def add(self, topic: Topic, is_missing: bool) -> list[list[float] | str]:
        """Add the values of a topic, and return them."""
        self.topics += 1
        found: list[list[float] | str] = []
        for (measure, parameters), sums in zip(self._measures, self._sums, strict=True):
            values = self._values(measure, parameters, topic, is_missing)
            found.append(values)
            if not isinstance(values, str):
                sums[:] = [before + value for before, value in zip(sums, values, strict=True)]
        return found

    def _values(self, measure: Measure, parameters: Parameters, topic: Topic, is_missing: bool) -> list[float] | str:
        if is_missing and (parameters.names[0] in _NOT_OF_MISSING or measure.name == "unj"):
            return "" if measure.form == "text" else [0.0] * len(parameters.names)
        try:
            found = measure.compute(topic, parameters.values)
        except CannotCompute as error:
            raise Exit(f"{error}\ntrec_eval: Can't calculate measure '{measure.name}'", 4) from error
        return found if isinstance(found, str | list) else [found]

    def lines_of(self, topic: bytes, found: Sequence[list[float] | str]) -> Iterator[bytes]:
        """Yield the lines of one topic."""
        for (measure, parameters), values in zip(self._measures, found, strict=True):
            if isinstance(values, str):
                yield _line(parameters.names[0], topic, f"'{values}'".encode())
            elif measure.form in ("mean", "sum"):
                for name, value in zip(parameters.names, values, strict=True):
                    yield _line(name, topic, _written(value, measure.form == "sum"))

    def lines(self, run: bytes) -> Iterator[bytes]:
        """Yield the lines of all topics together."""
        for (measure, parameters), sums in zip(self._measures, self._sums, strict=True):
            if measure.form == "run":
                yield _line(parameters.names[0], b"all", run)
            elif measure.form != "text":
                for name, value in zip(parameters.names, sums, strict=True):
                    yield _line(name, b"all", self._summarised(measure, value))

    def _summarised(self, measure: Measure, value: float) -> bytes:
        if measure.form == "geometric":
            return _written(math.exp(value / self.topics))
        return _written(value if measure.form != "mean" else value / self.topics, measure.form in ("sum", "queries"))


def _line(name: str, topic: bytes, value: bytes) -> bytes:
    return b"%-22s\t%s\t%s\n" % (name.encode(), topic, value)


def _written(value: float, is_whole: bool = False) -> bytes:
    if is_whole:
        return b"%d" % value
    return b"%6.4f" % value if value == value else b"  -nan"
