"""Topic set size design: the number of topics that a new collection needs, for a wanted power or interval.

With a cheap judge of all topics, it is the number of topics that people must judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gainboard.errors import InvalidRequest
from gainboard.statistics.corrected_means import LEAST_OTHERS, LEAST_TRUSTED
from gainboard.statistics.topic_set_size import (
    MOST_TOPICS,
    anova_design,
    corrected_interval_design,
    interval_design,
    interval_width,
    pooled_variance,
    t_test_design,
)
from gainboard.vocabulary import DesignMethod

TAKEN: dict[DesignMethod, tuple[str, ...]] = {
    "t-test": ("difference", "power"),
    "anova": ("difference", "power", "runs"),
    "interval": ("width", "correlation", "topics"),
}
"""The parameters of each method besides alpha and a variance."""
OPTIONAL = ("power", "correlation", "topics")
POWER = 0.8
MOST_RUNS, MOST_FREEDOM = 10_000, 10**9
_SIZES, _VARIANCES = (1e-6, 1e6), (1e-12, 1e12)
_RANGES = {"difference": _SIZES, "width": _SIZES, "variance": _VARIANCES, "difference_variance": _VARIANCES}
_RANGES |= {"correlation": (0.0, 1.0), "topics": (LEAST_TRUSTED + LEAST_OTHERS, MOST_TOPICS)}


def pool(known: Sequence[tuple[float, int]]) -> float:
    """Return one variance from pairs of the variance and the degrees of freedom of a collection.

    Raise InvalidRequest if a number is out of range.
    """
    low, high = _VARIANCES
    for variance, freedom in known:
        if not (low <= variance <= high and 1 <= freedom <= MOST_FREEDOM):
            message = (
                f"A variance is {variance:g} with {freedom} degrees of freedom. Give a variance from {low:g} to "
                f"{high:g}, and degrees of freedom from 1 to {MOST_FREEDOM:,}: runs x (topics - 1)."
            )
            raise _refuse("variance", "out-of-range", message)
    variances, freedoms = np.array(known, np.float64).T
    return pooled_variance(variances, freedoms)


@dataclass(frozen=True, kw_only=True)
class DesignQuestion:
    """The wanted design. `variance` is that of scores within runs, `difference_variance` that of two runs' differences.

    `correlation` is that of a cheap judge's differences with those of people, by topic, and `topics` the number of
    topics that the cheap judge has; None for any number. Parameters that the method does not take are None.
    """

    method: DesignMethod
    difference: float | None = None
    width: float | None = None
    variance: float | None = None
    difference_variance: float | None = None
    runs: int | None = None
    alpha: float = 0.05
    power: float | None = None
    correlation: float | None = None
    topics: int | None = None


@dataclass(frozen=True)
class NeededTopics:
    """The smallest sufficient number of topics, and the power or the expected width of the interval with them."""

    topics: int
    power: float | None
    width: float | None
    variance: float
    """The variance that the method takes: of scores for `anova`, else of differences."""
    doubled_variance: bool
    """True if the variance of differences was taken to be twice that of scores, which the average pair does not exceed:
    two runs share the hard and the easy topics. A single pair of unlike runs may.
    """
    topics_alone: int | None = None
    """The topics that people alone would need, with a cheap judge; None if these are more than `MOST_TOPICS`."""


def design_topics(asked: DesignQuestion) -> NeededTopics:
    """Return the design. Raise InvalidRequest if parameters are missing, out of range, or not the method's."""
    _require_own_parameters(asked)
    power = asked.power if asked.power is not None else POWER
    for name, value in (("alpha", asked.alpha), ("power", power)):
        if not 0 < value < 1:
            raise _refuse(name, "out-of-range", f"{name} is {value:g}. Give a number between 0 and 1.")
    variance = _variance(asked)
    if asked.correlation is not None:
        return _with_cheap_judge(asked, asked.correlation, variance)
    if asked.method == "interval":
        assert asked.width is not None
        found = interval_design(asked.width, variance, asked.alpha)
    elif asked.method == "anova":
        assert asked.difference is not None
        assert asked.runs is not None
        found = anova_design(asked.difference, variance, asked.runs, asked.alpha, power)
    else:
        assert asked.difference is not None
        found = t_test_design(asked.difference, variance, asked.alpha, power)
    if found is None:
        wanted = "width" if asked.method == "interval" else "difference"
        message = f"More than {MOST_TOPICS:,} topics are needed for this {wanted}. Choose a larger {wanted}."
        raise _refuse(wanted, "too-small", message)
    if asked.method == "interval":
        return NeededTopics(found.topics, None, found.reached, variance, asked.difference_variance is None)
    is_doubled = asked.method == "t-test" and asked.difference_variance is None
    return NeededTopics(found.topics, found.reached, None, variance, is_doubled)


def _with_cheap_judge(asked: DesignQuestion, correlation: float, variance: float) -> NeededTopics:
    """Return how many topics people must judge. A correction needs some least number of them, and of the others."""
    assert asked.width is not None
    found = corrected_interval_design(asked.width, variance, asked.alpha, correlation, asked.topics)
    if found is None:
        most = asked.topics or MOST_TOPICS
        message = (
            f"If people judge all {most:,} topics, the interval is wider than {asked.width:g}. Choose a larger width."
        )
        raise _refuse("width", "too-small", message)
    trusted = max(found.topics, LEAST_TRUSTED)
    if asked.topics and trusted > asked.topics - LEAST_OTHERS:
        trusted = asked.topics
    share = correlation**2 * (1 - (trusted / asked.topics if asked.topics else 0))
    width = interval_width(trusted, variance * (1 - share), asked.alpha)
    alone = interval_design(asked.width, variance, asked.alpha)
    is_doubled = asked.difference_variance is None
    return NeededTopics(trusted, None, width, variance, is_doubled, alone and alone.topics)


def _require_own_parameters(asked: DesignQuestion) -> None:
    taken = TAKEN[asked.method]
    for name in ("difference", "width", "runs", *OPTIONAL):
        value = getattr(asked, name)
        if value is not None and name not in taken:
            raise _refuse(name, "not-used", f"The method {asked.method} takes no {name}. Leave it out.")
        if value is None and name in taken and name not in OPTIONAL:
            raise _refuse(name, "missing", f"The method {asked.method} needs {name}. Example: {_EXAMPLES[name]}.")
    for name, (low, high) in _RANGES.items():
        value = getattr(asked, name)
        if value is not None and not low <= value <= high:
            raise _refuse(name, "out-of-range", f"{name} is {value:g}. Give a number from {low:g} to {high:g}.")
    if asked.topics is not None and asked.correlation is None:
        raise _refuse("topics", "not-used", "topics are those of a cheap judge. Give `correlation` as well.")
    if asked.runs is not None and not 2 <= asked.runs <= MOST_RUNS:
        raise _refuse("runs", "out-of-range", f"runs is {asked.runs}. Give a whole number from 2 to {MOST_RUNS:,}.")


_EXAMPLES = {"difference": "0.1", "width": "0.2", "runs": "10"}


def _variance(asked: DesignQuestion) -> float:
    """Return the variance that the method takes. That of a paired difference is twice that of scores (Sakai 2016)."""
    own, of_differences = asked.variance, asked.difference_variance
    if asked.method == "anova":
        if of_differences is not None:
            message = "The method anova takes the variance of scores within runs. Give `variance` instead."
            raise _refuse("difference_variance", "not-used", message)
        if own is None:
            raise _refuse("variance", "missing", "The method anova needs variance. Example: 0.05.")
        return own
    if (own is None) == (of_differences is None):
        message = "Give one of `variance`, of scores within runs, and `difference_variance`, of two runs' differences."
        raise _refuse("variance", "missing" if own is None else "ambiguous", message)
    return of_differences if own is None else 2 * own  # type: ignore[return-value]


def _refuse(name: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest.at(f"body.{name}", code, message)
