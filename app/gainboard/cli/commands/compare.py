"""Compare run files topic by topic, without a server."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from gainboard.cli.compared_files import FORMS, ComparedFiles
from gainboard.cli.file_scoring import score_files
from gainboard.cli.files import expand_folders, find_tag, reading_options, short_names
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import (
    STANDARD_INPUT,
    metric_option,
    names_option,
    parameter_default_options,
    quiet_option,
    score_output_options,
)
from gainboard.cli.progress import has_colours
from gainboard.cli.scored_files import ScoredFiles
from gainboard.errors import BadSetting
from gainboard.evaluation.boards.pair_statistics import ScoredPairs, pair_up
from gainboard.notation.sources import run_name
from gainboard.notation.texts import read_number

MOST_SHOWN: Final = 10
"""The most runs that a message lists."""


def _compare(parsed: argparse.Namespace) -> int:
    """Compare two run files, or run files with baselines, by a qrels file. The numbers are those of the service.

    Levels are corrected for exactly these pairs, under each metric. The topics that decide are printed on standard
    error. If a file has faults, its pairs are left out, and the exit code is 1.
    """
    files = expand_folders(parsed.runs, parsed.qrels)
    baselines = list(dict.fromkeys(_find_baseline(name, files) for name in parsed.baselines))
    others = [file for file in dict.fromkeys(files) if file not in baselines]
    if not (baselines and others) and len(others) != 2:
        raise BadSetting(
            f"Two different run files can be compared, but the number of files is {len(others)}. Name two, or say with "
            "which run the others are compared: --baseline RUN."
        )
    scored = score_files(parsed, [*others, *baselines])
    if scored is None:
        return 1
    if not (pairs := _pairs(scored, baselines)):
        return 1
    found = _compared(scored, pairs, parsed.margin, parsed.quiet)
    for remark in found.remarks():
        print(f"note: {remark}", file=sys.stderr)
    sys.stdout.writelines(FORMS[parsed.format](found, has_colours(sys.stdout)))
    return 1 if scored.refused else 0


def _find_baseline(name: str, files: Sequence[str]) -> str:
    """Return the file of a baseline: a run file, a run by its printed name or without a suffix, or by its tag.

    Raise BadSetting if there is none, or several. It is asked before any file is read as a whole.
    """
    if name in files or name == STANDARD_INPUT:
        return name
    if os.path.isfile(name):
        return next((file for file in files if os.path.isfile(file) and os.path.samefile(file, name)), name)
    shown = short_names(files)
    for names in (shown, [run_name(Path(file)) for file in files], map(_find_tag, files)):
        fitting = [file for file, each in zip(files, names, strict=True) if each == name]
        if len(fitting) > 1:
            raise BadSetting(
                f"--baseline {name} names {len(fitting)} runs: {', '.join(fitting)}. Name one of the files."
            )
        if fitting:
            return fitting[0]
    some = ", ".join([*shown[:MOST_SHOWN], *(["..."] if len(shown) > MOST_SHOWN else [])])
    raise BadSetting(f"--baseline {name} is no file, and the name or tag of no run. Available: {some}")


def _find_tag(file: str) -> str:
    # Standard input can be read only once, so its tag is not known yet.
    return find_tag(file) if os.path.isfile(file) else ""


def _pairs(scored: ScoredFiles, baselines: list[str]) -> list[tuple[int, int]]:
    """Return the pairs of the files without faults."""
    files = [file for _, file, _ in scored.runs]
    kept = [file for file in baselines if file in files]
    return pair_up(files, kept) if kept or (not baselines and len(files) == 2) else []


def _compared(scored: ScoredFiles, pairs: list[tuple[int, int]], margin: float | None, is_quiet: bool) -> ComparedFiles:
    by_topic = np.array([run.scores for _, _, run in scored.runs]).swapaxes(0, 1)
    of = (scored.metrics, scored.names, scored.topics, by_topic, scored.means, scored.undefined)
    return ComparedFiles(scored, list(ScoredPairs(*of, pairs).compared(margin)), margin, is_quiet)


def _margin(text: str) -> float:
    try:
        margin = read_number(text)
    except ValueError:
        margin = 0
    if margin <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a margin. Use a number above 0, such as 0.02")
    return margin


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="judgments in TREC's or NTCIR's layout; - is standard input")
    parser.add_argument("runs", metavar="RUN_FILE", nargs="+", help="run files, plain, .gz or .zst, or folders of them")
    parser.add_argument(
        "--baseline",
        dest="baselines",
        metavar="RUN",
        action="append",
        default=[],
        help="a run with which the others are compared: its file, its printed name or its tag; may be repeated",
    )
    parser.add_argument(
        "--margin",
        type=_margin,
        metavar="DIFFERENCE",
        help="also ask whether runs are equivalent (TOST): the largest mean difference that does not matter",
    )
    metric_option(parser, "AP, Q, nDCG@10")
    names_option(parser)
    score_output_options(parser, FORMS)
    quiet_option(parser)


COMMAND = Command(
    "compare",
    __doc__,
    _compare,
    together(_options, reading_options, parameter_default_options),
    [
        Example("gainboard compare qrels.txt run.txt runs/civet.txt", "two runs"),
        Example("gainboard compare qrels.txt runs/* --baseline run.txt -m nDCG@10", "all runs with one baseline"),
        Example("gainboard compare qrels.txt runs --baseline civet -m nDCG@10", "all runs of a folder with one"),
        Example("gainboard compare qrels.txt run.txt runs/civet.txt -m AP --margin 0.02", "are they equivalent?"),
        Example("gainboard compare qrels.txt run.txt runs/civet.txt -m AP -q", "also the difference on each topic"),
        Example("gainboard compare qrels.txt runs/* --baseline run.txt -f json > compared.json"),
    ],
)
