"""Compute how many topics a new collection needs, or which difference topics show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

from gainboard.cli.command import Example, Option, command, number, whole_number
from gainboard.cli.printing import Format, print_json, print_rows
from gainboard.errors import BadSetting
from gainboard.evaluation.boards.design import POWER, DesignQuestion, design_topics, pool
from gainboard.vocabulary import DesignMethod

COLUMNS = ("method", "topics", "doubled_variance", "power", "width", "variance")


def _read_variance(text: str) -> tuple[float, int | None]:
    """Return a variance, and its degrees of freedom if they are there."""
    variance, colon, freedom = text.partition(":")
    return number(variance), whole_number(freedom) if colon else None


_variance = partial(
    Option,
    "the variance of scores within runs; repeat it as V:FREEDOM to pool several collections, each with its degrees of "
    "freedom: runs x (topics - 1)",
    "--variance",
    metavar="V",
    read=_read_variance,
)
Difference = Annotated[float, Option("the smallest difference of means to find", metavar="D")]
Power = Annotated[float, f"the probability with which it is found (default: {POWER})"]
Variances = Sequence[tuple[float, int | None]]
Alpha = Annotated[float, "the significance level (default: 0.05)"]


def _read_noise(text: str) -> float:
    """Return the variance of a mean of replicates."""
    variance, slash, replicates = text.partition("/")
    # Without any replicate, the variance is no number, and out of range.
    return number(variance) / (whole_number(replicates) or math.nan if slash else 1)


@dataclass(frozen=True)
class Compared:
    """The options of methods for two runs."""

    variances: Annotated[Variances, _variance(either=True)] = ()
    difference_variance: Annotated[
        float | None, Option("the variance of the differences of two runs by topic", metavar="V", either=True)
    ] = None
    noise: Annotated[
        float | None, Option("the variance of replicates / their number, to add", metavar="V/N", read=_read_noise)
    ] = None
    alpha: Alpha = 0.05
    format: Format = "table"


@command(
    "for the paired t-test of two runs",
    Example("gainboard design t-test --difference 0.1 --variance 0.05"),
    Example("gainboard design t-test --difference 0.1 --variance 0.05:980 --variance 0.08:490", "pooled"),
    Example("gainboard design t-test --difference 0.5 --difference-variance 1", "34 topics"),
)
def t_test(of: Compared, *, difference: Difference, power: Power = POWER) -> None:
    """Compute the topics with which the paired t-test finds a difference of two runs (Sakai 2016). No server is needed.

    The variance is that of scores within runs. The differences of two runs are taken to have twice as much. Two runs
    share the hard and the easy topics, so the average pair needs no more topics; a pair of unlike runs may. A job of
    kind topic-set-size reports the variance. Twice its residual variance is that of the differences of the average
    pair: give that with --difference-variance.
    """
    _show_design("t-test", difference=difference, power=power, **vars(of))


@command(
    "for the analysis of variance of several runs",
    Example("gainboard design anova --difference 0.1 --runs 10 --variance 0.0479", "151 topics"),
)
def anova(
    *,
    difference: Difference,
    power: Power = POWER,
    runs: Annotated[int, Option("how many runs are compared", metavar="M")],
    variances: Annotated[Variances, _variance()],
    alpha: Alpha = 0.05,
    format: Format = "table",
) -> None:
    """Compute the topics with which the analysis of variance of several runs finds that they differ, if the best and
    the worst differ by so much (Sakai 2016). It names no pair. No server is needed. The variance is that of scores
    within runs.
    """
    _show_design(
        "anova", difference=difference, power=power, runs=runs, variances=variances, alpha=alpha, format=format
    )


@command(
    "for a narrow confidence interval",
    Example("gainboard design interval --width 0.2 --difference-variance 0.1 -f json", "41 topics"),
    Example(
        "gainboard design interval --width 0.15 --difference-variance 0.1 --correlation 0.8 --topics 200",
        "34 topics for people, of 200 that a model judges",
    ),
)
def interval(
    of: Compared,
    *,
    width: Annotated[float, Option("the wanted width of the interval", metavar="W")],
    correlation: Annotated[
        float | None,
        Option("the correlation of a cheap judge's differences with those of people, by topic", metavar="R"),
    ] = None,
    topics: Annotated[
        int | None, Option("how many topics the cheap judge has (default: any number)", metavar="N")
    ] = None,
) -> None:
    """Compute the topics with which the confidence interval of the difference of two runs is expected to be this narrow
    (Sakai 2016). No server is needed.

    With --correlation, a cheap judge has all topics, and the answer is how many of them people must judge to correct
    it. topics_alone is the number that people need without the judge. A job of kind corrected-means reports the
    correlation. For the interval of one run's mean, give the variance of its scores with --difference-variance.
    """
    _show_design("interval", width=width, correlation=correlation, topics=topics, **vars(of))


@command(
    "for the smallest difference that topics show",
    Example("gainboard design detect --topics 50 --difference-variance 0.02", "of one pair of runs"),
    Example("gainboard design detect --topics 50 --variance 0.05 --runs 45", "of all pairs of 45 runs"),
)
def detect(
    of: Compared,
    *,
    topics: Annotated[int, Option("how many topics there are", metavar="N")],
    runs: Annotated[
        int | None, Option("how many runs are compared, all pairs of them (default: 2)", metavar="M")
    ] = None,
    power: Power = POWER,
) -> None:
    """Compute the smallest true difference of two runs that the paired t-test of so many topics finds with this power.
    No server is needed. It is the reverse of `design t-test`.

    For several runs, alpha is divided by the number of their pairs. A board says the same of its own runs.
    """
    _show_design("detect", topics=topics, runs=runs, power=power, **vars(of))


def _show_design(method: DesignMethod, variances: Variances, format: Format, **asked: Any) -> None:
    """Print the design, by the variance of several collections together, or the only one."""
    variance = variances[0][0] if variances else None
    if len(variances) > 1:
        pooled = [(variance, freedom) for variance, freedom in variances if freedom is not None]
        if len(pooled) < len(variances):
            raise BadSetting(
                "--variance is given several times. Add the degrees of freedom to each: --variance 0.05:980"
            )
        variance = pool(pooled)
    design = {"method": method, **asdict(design_topics(DesignQuestion(method=method, variance=variance, **asked)))}
    columns = COLUMNS if asked.get("correlation") is None else (*COLUMNS, "topics_alone")
    columns = ("method", "topics", "difference", *COLUMNS[2:]) if method == "detect" else columns
    if format == "json":
        print_json(design)
    else:
        print_rows(columns, [[design[name] for name in columns]], format)
