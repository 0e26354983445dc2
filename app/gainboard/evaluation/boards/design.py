"""Topic set size design: the number of topics that a new collection needs, for a wanted power or interval.

With a cheap judge of all topics, it is the number of topics that people must judge. The reverse is the difference that
the topics of a collection show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gainboard.errors import InvalidRequest
from gainboard.statistics.corrected_means import LEAST_OTHERS, LEAST_TRUSTED
from gainboard.statistics.topic_sets import (
    LEAST_DETECTING,
    MOST_TOPICS,
    anova_design,
    corrected_interval_design,
    detectable_difference,
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
    "detect": ("topics", "power", "runs"),
}
"""The parameters of each method besides alpha and a variance."""
OPTIONAL: dict[DesignMethod, tuple[str, ...]] = {
    "t-test": ("power",),
    "anova": ("power",),
    "interval": ("correlation", "topics"),
    "detect": ("power", "runs"),
}
"""The parameters of each method that may be left out."""
POWER = 0.8
MOST_RUNS, MOST_FREEDOM = 10_000, 10**9
_SIZES, _VARIANCES = (1e-6, 1e6), (1e-12, 1e12)
_RANGES = {
    "difference": _SIZES,
    "width": _SIZES,
    "variance": _VARIANCES,
    "difference_variance": _VARIANCES,
    "noise": _VARIANCES,
}
_RANGES |= {"correlation": (0.0, 1.0)}
_LEAST_TOPICS = {"interval": LEAST_TRUSTED + LEAST_OTHERS, "detect": LEAST_DETECTING}
_EXAMPLES = {"difference": "0.1", "width": "0.2", "runs": "10", "topics": "50"}


def pool(variances: Sequence[tuple[float, int]]) -> float:
    """Return one variance from pairs of the variance and the degrees of freedom of a collection.

    Raise InvalidRequest if a number is out of range.
    """
    low, high = _VARIANCES
    for variance, freedom in variances:
        if not (low <= variance <= high and 1 <= freedom <= MOST_FREEDOM):
            message = (
                f"A variance is {variance:g} with {freedom} degrees of freedom. Give a variance from {low:g} to "
                f"{high:g}, and degrees of freedom from 1 to {MOST_FREEDOM:,}: runs x (topics - 1)."
            )
            raise _refuse("variance", "out-of-range", message)
    return pooled_variance(*np.array(variances, np.float64).T)


@dataclass(frozen=True, kw_only=True)
class DesignQuestion:
    """The wanted design. `variance` is that of scores within runs, `difference_variance` that of two runs' differences.

    `correlation` is that of a cheap judge's differences with those of people, by topic, and `topics` the number of
    topics that the cheap judge has; None for any number. For `detect`, they are those of the collection, and all pairs
    of its `runs` are compared, or one pair. `noise` is the further variance of means of replicates. Parameters that the
    method does not take are None.
    """

    method: DesignMethod
    difference: float | None = None
    width: float | None = None
    variance: float | None = None
    difference_variance: float | None = None
    noise: float | None = None
    runs: int | None = None
    alpha: float = 0.05
    power: float | None = None
    correlation: float | None = None
    topics: int | None = None


@dataclass(frozen=True)
class NeededTopics:
    """The smallest sufficient number of topics, and the power or the expected width of the interval with them.

    For `detect`, the number is given, and `difference` is the smallest one that so many topics show.
    """

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
    difference: float | None = None


def design_topics(question: DesignQuestion) -> NeededTopics:
    """Return the design. Raise InvalidRequest if parameters are missing, out of range, or not the method's."""
    _require_own_parameters(question)
    power = question.power if question.power is not None else POWER
    for name, value in (("alpha", question.alpha), ("power", power)):
        if not 0 < value < 1:
            raise _refuse(name, "out-of-range", f"{name} is {value:g}. Give a number between 0 and 1.")
    variance = _variance(question)
    is_doubled = question.method != "anova" and question.difference_variance is None
    if question.correlation is not None:
        return _with_cheap_judge(question, question.correlation, variance)
    if question.method == "detect":
        assert question.topics is not None
        alpha = question.alpha / math.comb(question.runs or 2, 2)
        shown = detectable_difference(question.topics, variance, alpha, power)
        return NeededTopics(question.topics, power, None, variance, is_doubled, difference=shown)
    name = "width" if question.method == "interval" else "difference"
    wanted: float = getattr(question, name)
    if question.method == "interval":
        design = interval_design(wanted, variance, question.alpha)
    elif question.method == "anova":
        design = anova_design(wanted, variance, question.runs or 2, question.alpha, power)
    else:
        design = t_test_design(wanted, variance, question.alpha, power)
    if design is None:
        message = f"More than {MOST_TOPICS:,} topics are needed for this {name}. Choose a larger {name}."
        raise _refuse(name, "too-small", message)
    width = design.reached if question.method == "interval" else None
    return NeededTopics(design.topics, design.reached if width is None else None, width, variance, is_doubled)


def _with_cheap_judge(question: DesignQuestion, correlation: float, variance: float) -> NeededTopics:
    """Return how many topics people must judge. A correction needs some least number of them, and of the others."""
    assert question.width is not None
    design = corrected_interval_design(question.width, variance, question.alpha, correlation, question.topics)
    if design is None:
        most = question.topics or MOST_TOPICS
        wider = f"If people judge all {most:,} topics, the interval is wider than {question.width:g}"
        raise _refuse("width", "too-small", f"{wider}. Choose a larger width.")
    trusted = max(design.topics, LEAST_TRUSTED)
    if question.topics and trusted > question.topics - LEAST_OTHERS:
        trusted = question.topics
    share = correlation**2 * (1 - (trusted / question.topics if question.topics else 0))
    width = interval_width(trusted, variance * (1 - share), question.alpha)
    alone = interval_design(question.width, variance, question.alpha)
    is_doubled = question.difference_variance is None
    return NeededTopics(trusted, None, width, variance, is_doubled, alone and alone.topics)


def _require_own_parameters(question: DesignQuestion) -> None:
    taken, optional = TAKEN[question.method], OPTIONAL[question.method]
    for name in ("difference", "width", "runs", "power", "correlation", "topics"):
        value = getattr(question, name)
        if value is not None and name not in taken:
            raise _refuse(name, "not-used", f"The method {question.method} takes no {name}. Leave it out.")
        if value is None and name in taken and name not in optional:
            raise _refuse(name, "missing", f"The method {question.method} needs {name}. Example: {_EXAMPLES[name]}.")
    ranges = _RANGES | {"topics": (_LEAST_TOPICS.get(question.method, 2), MOST_TOPICS)}
    for name, (low, high) in ranges.items():
        value = getattr(question, name)
        if value is not None and not low <= value <= high:
            raise _refuse(name, "out-of-range", f"{name} is {value:g}. Give a number from {low:g} to {high:g}.")
    if question.method == "interval" and question.topics is not None and question.correlation is None:
        raise _refuse("topics", "not-used", "topics are those of a cheap judge. Give `correlation` as well.")
    if question.runs is not None and not 2 <= question.runs <= MOST_RUNS:
        raise _refuse("runs", "out-of-range", f"runs is {question.runs}. Give a whole number from 2 to {MOST_RUNS:,}.")


def _variance(question: DesignQuestion) -> float:
    """Return the variance that the method takes. That of a paired difference is twice that of scores (Sakai 2016)."""
    of_scores, of_differences = question.variance, question.difference_variance
    if question.method == "anova":
        if of_differences is not None or question.noise is not None:
            message = "The method anova takes the variance of scores within runs. Give `variance` instead."
            raise _refuse("difference_variance", "not-used", message)
        if of_scores is None:
            raise _refuse("variance", "missing", "The method anova needs variance. Example: 0.05.")
        return of_scores
    if (of_scores is None) == (of_differences is None):
        message = "Give one of `variance`, of scores within runs, and `difference_variance`, of two runs' differences."
        raise _refuse("variance", "missing" if of_scores is None else "ambiguous", message)
    # Both runs vary with their replicates.
    return (of_differences or 2 * (of_scores or 0.0)) + 2 * (question.noise or 0.0)


def _refuse(name: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest.at(f"body.{name}", code, message)
