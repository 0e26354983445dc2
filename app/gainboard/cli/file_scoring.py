"""The scoring of the files of a command line, for the commands that need no server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from gainboard import acceleration
from gainboard.cli.files import FileReader, short_names, text_size, total_size
from gainboard.cli.options import STANDARD_INPUT, read_parameters, require_one_input
from gainboard.cli.parallel import PlainCount, choose_processes, process_files
from gainboard.cli.printing import fault_lines, list_faults
from gainboard.cli.scored_files import FileScoring, RefusedFile, ScoredFile, ScoredFiles, bind_metrics
from gainboard.errors import GainboardError
from gainboard.evaluation.runs.run_files import NO_LIMITS
from gainboard.evaluation.scoring.binding import undefined
from gainboard.evaluation.scoring.ties import refuse_by_intent
from gainboard.metrics import Scale
from gainboard.notation.remarks import warning_lines
from gainboard.notation.sources import as_utf8
from gainboard.trec import QrelsFile
from gainboard.vocabulary import TiesAsked

WORTH_COMPILED = 48 << 20
"""The size of text for each process, in bytes, from which compiled code saves more time than loading it takes."""


def score_files(parsed: argparse.Namespace, files: Sequence[str], ties: TiesAsked | None = None) -> ScoredFiles | None:
    """Score run files by the qrels and under the metrics of a command line.

    `ties` also asks for scores under other orders of tied documents. Faults and warnings are printed on standard error,
    and so is what is left out of means. Return None if the qrels have faults.
    """
    require_one_input([parsed.qrels, *files, *([parsed.iprob] if parsed.iprob else [])])
    reading = FileReader.of(parsed, NO_LIMITS)
    try:
        qrels = reading.qrels(parsed.qrels, PlainCount())
    except GainboardError as error:
        _print_notes(fault_lines(parsed.qrels, *list_faults(error)))
        return None
    if not parsed.quiet:
        _print_notes(warning_lines(parsed.qrels, qrels.warnings))
    found = _score_by(parsed, files, reading, qrels, ties)
    if not parsed.quiet:
        _print_notes(f"{parsed.qrels}: note: {remark}" for remark in found.remarks())
    return found


def _score_by(
    parsed: argparse.Namespace, files: Sequence[str], reading: FileReader, qrels: QrelsFile, ties: TiesAsked | None
) -> ScoredFiles:
    scale = Scale(reading.highest_level(qrels), reading.depth, reading.intents)
    metrics, asked = bind_metrics(parsed.metrics, scale, read_parameters(parsed), parsed.names)
    if ties is not None:
        refuse_by_intent(metrics)
    index = reading.index(qrels)
    work, size = FileScoring(reading, parsed.qrels, index, metrics, ties), total_size(files)
    processes = choose_processes(files, size)
    load_compiled(files, processes)
    done = process_files(work, files, label="scoring", size=size, processes=processes)
    runs: list[tuple[str, str, ScoredFile]] = []
    refused: dict[str, RefusedFile] = {}
    slight: dict[str, list[str]] = {}
    for file, name, each in zip(files, short_names(files), done, strict=True):
        if isinstance(each, ScoredFile):
            for warning in () if parsed.quiet else each.warnings:
                if warning.is_slight and len(files) > 1:
                    slight.setdefault(warning.code, []).append(file)
                else:
                    _print_notes(warning_lines(file, [warning]))
            runs.append((each.tag if file == STANDARD_INPUT else name, file, each))
        else:
            _print_notes(fault_lines(file, each.faults, each.total))
            refused[file] = each
    for code, named in slight.items():
        few = "less than 1 % of the documents"
        print(f"{len(named)} of {len(files)} runs: warning: {code}: {few}, such as in {named[0]}", file=sys.stderr)
    missing, topics = undefined(metrics, index.topics), index.topics.topics
    return ScoredFiles(as_utf8(parsed.qrels), scale, metrics, asked, topics, missing, runs, refused, parsed.per_topic)


def load_compiled(names: Sequence[str], processes: int) -> None:
    """Load compiled reading and scoring if the files are large enough and `gainboard warm` has compiled them."""
    if text_size(names) >= WORTH_COMPILED * processes:
        acceleration.load_kept()


def _print_notes(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)
