"""Score run files, without a server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from gainboard.cli.file_scoring import score_files
from gainboard.cli.files import expand_folders, reading_options
from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import (
    metric_option,
    names_option,
    parameter_default_options,
    quiet_option,
    read_parameters,
    score_output_options,
)
from gainboard.cli.progress import has_colours
from gainboard.cli.scored_files import FORMS, bind_metrics
from gainboard.errors import BadSetting
from gainboard.metrics import BoundMetric, Names, Scale


def _score(parsed: argparse.Namespace) -> int:
    """Score run files by a qrels file. Scores and labels are the same as those of the service, but no server is needed.

    Topics left out of a mean, and warnings about a file, are printed on standard error. A faulty run is reported with
    its faults and the other runs are scored; then the exit code is 1.
    """
    if parsed.ties and parsed.format in ("csv", "trec_eval"):
        raise BadSetting(f"The format {parsed.format} has no place for ties. Use table, json or latex: -f json.")
    found = score_files(parsed, expand_folders(parsed.runs, parsed.qrels), parsed.ties)
    if found is None:
        return 1
    if parsed.sort:
        query = read_parameters(parsed)
        found = found.best_first(_find_label(found.metrics, parsed.sort, found.scale, query, parsed.names))
    sys.stdout.writelines(FORMS[parsed.format](found, has_colours(sys.stdout)))
    return 1 if found.refused else 0


def _find_label(
    metrics: Sequence[BoundMetric], expression: str, scale: Scale, query: Mapping[str, str], names: Names
) -> str:
    """Return the label of the metric that an expression means. Raise BadSetting if it means none of them."""
    wanted, labels = bind_metrics([expression], scale, query, names)[0], [metric.label for metric in metrics]
    if len(wanted) != 1 or wanted[0].label not in labels:
        raise BadSetting(f"--sort {expression} is not one of the metrics. Available: {', '.join(labels)}")
    return wanted[0].label


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="judgments in TREC's or NTCIR's layout; - is standard input")
    parser.add_argument("runs", metavar="RUN_FILE", nargs="+", help="run files, plain, .gz or .zst, or folders of them")
    metric_option(parser, "AP, Q, nDCG@10")
    names_option(parser)
    score_output_options(parser, FORMS)
    quiet_option(parser)
    parser.add_argument(
        "--ties",
        choices=("range", "expected"),
        help="also the scores under other orders of tied documents: the worst and the best one, or their mean",
    )
    parser.add_argument("--sort", metavar="METRIC", help="sort the runs by their means under this metric, best first")


COMMAND = Command(
    "score",
    __doc__,
    _score,
    together(_options, reading_options, parameter_default_options),
    [
        Example("gainboard score qrels.txt run.txt", "AP, Q and nDCG@10"),
        Example("gainboard score qrels.txt run.txt -m 'Q(beta=10)' -m nDCG@10 --gains 3:2:1"),
        Example("gainboard score qrels.txt runs --sort Q", "all runs of a folder, the best first"),
        Example("gainboard score qrels.txt runs/* -m map -m P.5,10 -q -f trec_eval", "in the format of trec_eval -q"),
        Example("gainboard score qrels.txt runs/* -m 'nDCG@10 R@100' --names ir_measures", "what ir_measures computes"),
        Example("gainboard score qrels.txt runs/* -m 'nDCG@10 P@5 RR' -f json > scores.json"),
        Example("gainboard score qrels.txt runs/* -f latex > scores.tex", "a table for a paper"),
        Example("gainboard score qrels.txt runs/* -m AP --ties range", "what equal retrieval scores decide"),
        Example("gainboard score intents.txt runs/* --intents -m alpha-nDCG@20 -m ERR-IA@20", "subtopic qrels of TREC"),
        Example("gainboard score intents.txt runs/* --iprob iprob.txt -m 'D#-nDCG@10'", "Dqrels and Iprob of NTCIR"),
    ],
)
