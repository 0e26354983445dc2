"""Compute how many topics a new collection needs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from gainboard.cli.old import Command, Example, Group, Options, together
from gainboard.cli.options import number, whole_number
from gainboard.cli.printing import format_option, print_json, print_rows
from gainboard.errors import BadSetting
from gainboard.evaluation.boards.design import POWER, DesignQuestion, design_topics, pool
from gainboard.vocabulary import DesignMethod

VARIANCE = (
    "the variance of scores within runs; repeat it as V:FREEDOM to pool several collections, each with its degrees of "
    "freedom: runs x (topics - 1)"
)
COLUMNS = ("method", "topics", "doubled_variance", "power", "width", "variance")


def _t_test(parsed: argparse.Namespace) -> int:
    """Compute the topics with which the paired t-test finds a difference of two runs (Sakai 2016). No server is needed.

    The variance is that of scores within runs. The differences of two runs are taken to have twice as much. Two runs
    share the hard and the easy topics, so the average pair needs no more topics; a pair of unlike runs may. A job of
    kind topic-set-size reports the variance. Twice its residual variance is that of the differences of the average
    pair: give that with --difference-variance.
    """
    return _print(parsed, "t-test")


def _anova(parsed: argparse.Namespace) -> int:
    """Compute the topics with which the analysis of variance of several runs finds that they differ, if the best and
    the worst differ by so much (Sakai 2016). It names no pair. No server is needed. The variance is that of scores
    within runs.
    """
    return _print(parsed, "anova")


def _interval(parsed: argparse.Namespace) -> int:
    """Compute the topics with which the confidence interval of the difference of two runs is expected to be this narrow
    (Sakai 2016). No server is needed.

    With --correlation, a cheap judge has all topics, and the answer is how many of them people must judge to correct
    it. topics_alone is the number that people need without the judge. A job of kind corrected-means reports the
    correlation. For the interval of one run's mean, give the variance of its scores with --difference-variance.
    """
    return _print(parsed, "interval")


def _print(parsed: argparse.Namespace, method: DesignMethod) -> int:
    known = DesignQuestion.__dataclass_fields__
    given = {name: value for name, value in vars(parsed).items() if name in known}
    if given.get("variance") is not None:
        given["variance"] = _variance(given["variance"])
    found = {"method": method, **asdict(design_topics(DesignQuestion(method=method, **given)))}
    columns = (*COLUMNS, "topics_alone") if given.get("correlation") is not None else COLUMNS
    if parsed.format == "json":
        print_json(found)
    else:
        print_rows(columns, [[found[name] for name in columns]], parsed.format)
    return 0


def _known(text: str) -> tuple[float, int | None]:
    """Return a variance, and its degrees of freedom if they are given."""
    variance, colon, freedom = text.partition(":")
    return number(variance), whole_number(freedom) if colon else None


def _variance(known: Sequence[tuple[float, int | None]]) -> float:
    if len(known) == 1:
        return known[0][0]
    pooled = [(variance, freedom) for variance, freedom in known if freedom is not None]
    if len(pooled) < len(known):
        raise BadSetting("--variance is given several times. Add the degrees of freedom to each: --variance 0.05:980")
    return pool(pooled)


def _difference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--difference", type=number, required=True, metavar="D", help="the smallest difference of means to find"
    )
    parser.add_argument(
        "--power", type=number, default=POWER, help="the probability with which it is found (default: %(default)s)"
    )


def _width(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--width", type=number, required=True, metavar="W", help="the wanted width of the interval")


def _cheap_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--correlation",
        type=number,
        metavar="R",
        help="the correlation of a cheap judge's differences with those of people, by topic",
    )
    parser.add_argument(
        "--topics", type=whole_number, metavar="N", help="how many topics the cheap judge has (default: any number)"
    )


def _runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=whole_number, required=True, metavar="M", help="how many runs are compared")
    parser.add_argument("--variance", type=_known, action="append", required=True, metavar="V", help=VARIANCE)


def _either_variance(parser: argparse.ArgumentParser) -> None:
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--variance", type=_known, action="append", metavar="V", help=VARIANCE)
    either.add_argument(
        "--difference-variance", type=number, metavar="V", help="the variance of the differences of two runs by topic"
    )


def _alpha(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--alpha", type=number, default=0.05, help="the significance level (default: %(default)s)")


def _options(*own: Options) -> Options:
    return together(*own, _alpha, format_option)


COMMAND = Group(
    "design",
    __doc__,
    [
        Command(
            "t-test",
            "for the paired t-test of two runs",
            _t_test,
            _options(_difference, _either_variance),
            [
                Example("gainboard design t-test --difference 0.1 --variance 0.05"),
                Example("gainboard design t-test --difference 0.1 --variance 0.05:980 --variance 0.08:490", "pooled"),
                Example("gainboard design t-test --difference 0.5 --difference-variance 1", "34 topics"),
            ],
        ),
        Command(
            "anova",
            "for the analysis of variance of several runs",
            _anova,
            _options(_difference, _runs),
            [Example("gainboard design anova --difference 0.1 --runs 10 --variance 0.0479", "151 topics")],
        ),
        Command(
            "interval",
            "for a narrow confidence interval",
            _interval,
            _options(_width, _either_variance, _cheap_judge),
            [
                Example("gainboard design interval --width 0.2 --difference-variance 0.1 -f json", "41 topics"),
                Example(
                    "gainboard design interval --width 0.15 --difference-variance 0.1 --correlation 0.8 --topics 200",
                    "34 topics for people, of 200 that a model judges",
                ),
            ],
        ),
    ],
)
