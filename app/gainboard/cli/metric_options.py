"""The options of every command that gives scores: metrics, their parameters, runs, and the form of the output."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gainboard.exhibits import Cell, Marked

if TYPE_CHECKING:
    from gainboard.metrics.parameters import Parameter

DIGITS = 4
"""Decimals of the scores in a table."""
_WORD = r"(?:[^\s()]|\((?:[^()]|\([^()]*\))*\))+"
_WORDS = re.compile(rf"\s*{_WORD}(?:\s+{_WORD})*\s*")
_DOTTED = re.compile(r"([A-Za-z_]+)\.([0-9]+(?:,[0-9]+)*)")


def metric_option(parser: argparse.ArgumentParser, default: str = "those of the collection") -> None:
    """Add the option that names metrics."""
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        default=[],
        help=f"a metric or several, in the service's words, trec_eval's or ir_measures' (default: {default})",
    )


def read_metrics(parsed: argparse.Namespace) -> list[str]:
    """Return the expressions of the command line, each by itself."""
    return [expression for text in parsed.metrics for expression in split_expressions(text)]


def split_expressions(text: str) -> Iterator[str]:
    """Yield the expressions of a text: `nDCG@10 P@5` as ir_measures writes several, `P.5,10` as trec_eval does."""
    for word in re.findall(_WORD, text) if _WORDS.fullmatch(text) else [text]:
        dotted = _DOTTED.fullmatch(word)
        yield from (f"{dotted[1]}_{cutoff}" for cutoff in dotted[2].split(",")) if dotted else [word]


def score_output_options(parser: argparse.ArgumentParser, forms: Iterable[str]) -> None:
    """Add the options that say which scores are printed, and how."""
    parser.add_argument("-q", "--per-topic", action="store_true", help="the scores of each topic, too")
    parser.add_argument("-f", "--format", choices=forms, default="table", help="how to print them (default: table)")


def run_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names stored runs."""
    parser.add_argument("--run", dest="runs", metavar="RUN", action="append", default=[], help="a run, several times")


def qrels_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a version of the judgments."""
    parser.add_argument("--qrels", metavar="VERSION", type=int, help="a version (default: the one that answers)")


def parameter_default_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for the default of each parameter that any metric has."""
    group = parser.add_argument_group("defaults for parameters that metrics have and expressions leave open")
    for name, each in _query_parameters().items():
        text = f"{each.description} It is {each.limits}.".replace("%", "%%")
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar=name.upper(), help=text)


def parameter_value_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for several values of each parameter that any metric has."""
    group = parser.add_argument_group("parameters, each of which may be given several times")
    for name, each in _query_parameters().items():
        text = f"{each.description} Each is {each.limits}.".replace("%", "%%")
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, dest=name, metavar=name.upper(), action="append", help=text)


def read_parameters(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the command line, each with its value or the list of its values."""
    return {name: given for name in _query_parameters() if (given := getattr(parsed, name)) is not None}


def _query_parameters() -> Mapping[str, Parameter]:
    from gainboard.metrics import query_parameters  # noqa: PLC0415 (with NumPy, which commands about jobs do without)

    return query_parameters()


def mark_best(columns: Sequence[Sequence[float | None]]) -> list[tuple[Cell, ...]]:
    """Turn a column of means a metric into rows of cells, the best mean of each column marked if there are several."""
    return list(zip(*map(_mark_best_of_column, columns), strict=True))


def _mark_best_of_column(means: Sequence[float | None]) -> list[Cell]:
    # Equal sums added in another order may differ in the last bits; 12 decimals decide, as everywhere.
    compared = [-math.inf if mean is None else round(mean, 12) for mean in means]
    best = max(compared, default=-math.inf)
    is_marked = len(means) > 1 and best > -math.inf
    return [Marked(mean) if is_marked and each == best else mean for mean, each in zip(means, compared, strict=True)]
