"""Score run files, without a server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from gainboard import compiled
from gainboard.cli.command import Command, Example, together
from gainboard.cli.files import FileReader, reading_options, short_names, text_size, total_size
from gainboard.cli.options import (
    STANDARD_INPUT,
    metric_option,
    names_option,
    parameter_default_options,
    read_parameters,
    require_one_input,
    score_output_options,
)
from gainboard.cli.parallel import PlainCount, choose_processes, process_files
from gainboard.cli.printing import fault_lines, list_faults, warning_lines
from gainboard.cli.progress import has_colours
from gainboard.cli.scored_files import FORMS, FileScoring, RefusedFile, ScoredFile, ScoredFiles, bind_metrics
from gainboard.errors import BadSetting, GainboardError
from gainboard.evaluation.binding import undefined
from gainboard.evaluation.reading import NO_LIMITS
from gainboard.metrics import BoundMetric, Names, Scale
from gainboard.trec import QrelsFile

WORTH_COMPILED = 32 << 20
"""The size of text, in bytes, from which compiled code saves more than the second that loading it takes."""


def _score(parsed: argparse.Namespace) -> int:
    """Score run files by a qrels file. Scores and labels are the same as those of the service, but no server is needed.

    Topics left out of a mean, and warnings about a file, are printed on standard error. A faulty run is reported with
    its faults and the other runs are scored; then the exit code is 1.
    """
    require_one_input([parsed.qrels, *parsed.runs])
    reading = FileReader.of(parsed, NO_LIMITS)
    try:
        qrels = reading.qrels(parsed.qrels, PlainCount())
    except GainboardError as error:
        _print_notes(fault_lines(parsed.qrels, *list_faults(error)))
        return 1
    _print_notes(warning_lines(parsed.qrels, qrels.warnings))
    found = _score_files(parsed, reading, qrels)
    _print_notes(f"{parsed.qrels}: note: {remark}" for remark in found.remarks())
    sys.stdout.writelines(FORMS[parsed.format](found, has_colours(sys.stdout)))
    return 1 if found.refused else 0


def _score_files(parsed: argparse.Namespace, reading: FileReader, qrels: QrelsFile) -> ScoredFiles:
    scale = Scale(reading.highest_level(qrels), reading.depth)
    query = read_parameters(parsed)
    metrics, asked = bind_metrics(parsed.metrics, scale, query, parsed.names)
    by = _find_label(metrics, parsed.sort, scale, query, parsed.names) if parsed.sort else None
    index = reading.index(qrels)
    _load_compiled(parsed.runs)
    work, size = FileScoring(reading, parsed.qrels, index, metrics), total_size(parsed.runs)
    done = process_files(work, parsed.runs, label="scoring", size=size, processes=choose_processes(parsed.runs, size))
    runs: list[tuple[str, str, ScoredFile]] = []
    refused: dict[str, RefusedFile] = {}
    for file, name, each in zip(parsed.runs, short_names(parsed.runs), done, strict=True):
        if isinstance(each, ScoredFile):
            _print_notes(warning_lines(file, each.warnings))
            runs.append((each.tag if file == STANDARD_INPUT else name, file, each))
        else:
            _print_notes(fault_lines(file, each.faults, each.total))
            refused[file] = each
    missing, topics = undefined(metrics, index.topics), index.topics.topics
    found = ScoredFiles(parsed.qrels, scale, metrics, asked, topics, missing, runs, refused, parsed.per_topic)
    return found.best_first(by) if by else found


def _load_compiled(names: Sequence[str]) -> None:
    """Load compiled reading and scoring if the files are large enough and `gainboard warm` has compiled them."""
    if text_size(names) >= WORTH_COMPILED and compiled.is_warm(None):
        # Plain code gives the same answer, so no error is worth a message.
        with suppress(Exception):
            compiled.warm(None)


def _find_label(
    metrics: Sequence[BoundMetric], expression: str, scale: Scale, query: Mapping[str, str], names: Names
) -> str:
    """Return the label of the metric that an expression means. Raise BadSetting if it means none of them."""
    wanted, labels = bind_metrics([expression], scale, query, names)[0], [metric.label for metric in metrics]
    if len(wanted) != 1 or wanted[0].label not in labels:
        raise BadSetting(f"--sort {expression} is not one of the metrics. Available: {', '.join(labels)}")
    return wanted[0].label


def _print_notes(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="judgments in TREC's or NTCIR's layout; - is standard input")
    parser.add_argument("runs", metavar="RUN_FILE", nargs="+", help="run files, plain, .gz or .zst")
    metric_option(parser, "AP, Q, nDCG@10")
    names_option(parser)
    score_output_options(parser, FORMS)
    parser.add_argument("--sort", metavar="METRIC", help="sort the runs by their means under this metric, best first")


COMMAND = Command(
    "score",
    __doc__,
    _score,
    together(_options, reading_options, parameter_default_options),
    [
        Example("gainboard score qrels.txt run.txt", "AP, Q and nDCG@10"),
        Example("gainboard score qrels.txt run.txt -m 'Q(beta=10)' -m nDCG@10 --gains 3:2:1"),
        Example("gainboard score qrels.txt runs/* --sort Q", "many runs, the best first"),
        Example("gainboard score qrels.txt runs/* -m map -m P.5,10 -q -f trec_eval", "in the format of trec_eval -q"),
        Example("gainboard score qrels.txt runs/* -m 'nDCG@10 R@100' --names ir_measures", "what ir_measures computes"),
        Example("gainboard score qrels.txt runs/* -m 'nDCG@10 P@5 RR' -f json > scores.json"),
        Example("gainboard score qrels.txt runs/* -f latex > scores.tex", "a table for a paper"),
    ],
)
