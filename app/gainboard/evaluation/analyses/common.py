"""What several analyses need: the topics that count, the forms of their answers, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.metrics import BoundMetric
from gainboard.statistics.draws import Draws, Indices

LEAST_TO_HALVE = 4
"""Topics without which two halves say nothing."""
MOST_KEPT = 40_000_000
"""Numbers of one kind that are in memory at once, such as draws x topics of resamples or subsets: 320 MB."""
MOST_PAIRS = 1_000_000
"""Pairs x metrics in one answer, which names each: 200 MB of JSON, a second to read."""
MOST_TESTED_PAIRS = 12_000_000
"""Pairs x metrics that one job tests, two bytes each: 1,000 runs under 24 metrics."""
PAIRS = "pairs of runs over all metrics"


def refuse(field: str, code: str, message: str) -> InvalidRequest:
    """The error of a job's parameter."""
    return InvalidRequest.at(f"body.params.{field}", code, message)


def require_at_most(most: int, number: int, what: str, field: str, code: str = "too-many") -> None:
    """Raises InvalidRequest, for this parameter, where there are more than `most` of something."""
    if number > most:
        raise refuse(field, code, f"{number:,} {what}; at most {most:,} in one job.")


class Scored(Protocol):
    """Scores of runs on topics, as `Matrices` has them over one qrels version, and `MixedMatrices` over several."""

    @property
    def run_count(self) -> int: ...
    @property
    def topics(self) -> list[str]: ...
    def metric(self, label: str) -> BoundMetric: ...
    def defined_for_all(self, labels: Sequence[str]) -> NDArray[np.bool_]: ...
    def scores(self, label: str) -> Floats: ...


@dataclass(frozen=True)
class CommonTopics:
    """The topics for which every one of the metrics is defined: one set of resamples then serves all of them."""

    matrices: Scored
    defined: NDArray[np.bool_]

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return int(self.defined.sum())

    def scores(self, label: str) -> Floats:
        """float64 [runs, count], without NaN."""
        return np.ascontiguousarray(self.matrices.scores(label)[:, self.defined])

    def described(self) -> dict[str, Any]:
        """For a result: how many topics count, and which do not, and why."""
        missing = [self.matrices.topics[topic] for topic in np.flatnonzero(~self.defined)]
        why = "not every metric is defined for them: nothing relevant, or an ideal ranking that is worth nothing"
        return {"topics": self.count, "topics_left_out": missing, "left_out_because": why if missing else None}

    def require_drawable(self, draws: int, field: str) -> None:
        """Raises InvalidRequest for more resamples or trials over these topics than fit into memory."""
        require_at_most(MOST_KEPT, draws * self.count, f"draws ({draws:,} {field} x {self.count:,} topics)", field)

    def subset_size(self, asked: int | None, most: int) -> int:
        """How many topics a trial draws: half of them, unless asked otherwise; raises InvalidRequest beyond `most`."""
        if asked is not None and asked > most:
            message = f"subset_size is {asked}; with {self.count} topics it is at most {most}."
            raise refuse("subset_size", "out-of-range", message)
        return asked if asked is not None else self.count // 2


def common_topics(matrices: Scored, labels: Sequence[str], least: int = 2) -> CommonTopics:
    """The topics of resampling analyses. Raises InvalidRequest for fewer than `least`, for fewer than two runs,
    and for geometric means: an analysis that draws topics compares arithmetic ones."""
    if matrices.run_count < 2:
        raise refuse("runs", "too-few-runs", f"{matrices.run_count} runs are selected; comparing takes at least 2.")
    for label in labels:
        if matrices.metric(label).parameters["mean"] != "arithmetic":
            message = f"{label} is averaged geometrically; this analysis draws topics and compares arithmetic means."
            raise refuse("metrics", "geometric-mean", message)
    defined = matrices.defined_for_all(labels)
    if (count := int(defined.sum())) < least:
        message = f"{count} of {len(defined)} topics have a score under every metric; this takes at least {least}."
        raise refuse("metrics", "too-few-topics", message)
    return CommonTopics(matrices, defined)


def topics_for_halves(matrices: Matrices, labels: Sequence[str]) -> CommonTopics:
    """The topics of stability and swap rate, which count differences in hundredths. Raises InvalidRequest for
    metrics whose scores do not lie in [0, 1] as well."""
    for label in labels:
        if not matrices.metric(label).is_bounded:
            message = (
                f"{label} has scores outside [0, 1], and differences are counted in hundredths of that range; take "
                "a normalised metric, such as nCG or nDCG."
            )
            raise refuse("metrics", "unbounded-metric", message)
    return common_topics(matrices, labels, LEAST_TO_HALVE)


def named_pairs(matrices: Matrices) -> list[tuple[str, str]]:
    """All pairs of runs, in the order of every list over pairs: the first with each later one, and so on."""
    names = [run.name for run in matrices.runs]
    return [(first, second) for place, first in enumerate(names) for second in names[place + 1 :]]


@lru_cache(maxsize=2)
def subsets(seed: int, purpose: str, trials: int, topics: int, size: int) -> Indices:
    """The one family of topic subsets of a job, kept for its next metric: intp [trials, size]."""
    drawn = Draws(seed, purpose).subsets(trials, topics, size)
    drawn.flags.writeable = False
    return drawn
