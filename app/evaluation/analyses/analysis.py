"""What an analysis is: parts that can be worked anywhere and in any order, and a result made of what they found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidRequest
from app.evaluation.matrices import Matrices

Arrays = Mapping[str, NDArray[Any]]
"""What a part found: arrays by name."""


class Analysis(ABC):
    """One analysis of one selection of runs. Making one raises BadInput where it cannot be done as asked.

    What holds for every analysis: `parts` follows from parameters and sizes alone, without any score; `work`
    gives the same bytes for a part whoever works it, alone or after others, now or after a crash; and `result`
    depends on nothing but what was found. So a job is the same whatever the number of its processes.
    """

    def __init__(self, matrices: Matrices) -> None:
        self.matrices = matrices

    @abstractmethod
    def parts(self) -> Sequence[float]:
        """The parts, each as a rough estimate of its cost in seconds of one core."""

    @abstractmethod
    def work(self, part: int) -> Arrays:
        """What the part of this number comes to."""

    @abstractmethod
    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        """The answer, of JSON values (NaN for undefined), from what all parts found, in their order."""


def topics_of_all(matrices: Matrices, labels: Sequence[str], least: int = 1) -> NDArray[np.bool_]:
    """[topics]: those for which every metric is defined; what resampling analyses use, for one set of resamples
    serves all metrics. Raises InvalidRequest where there are fewer than `least`."""
    defined = matrices.defined_for_all(labels)
    if (count := int(defined.sum())) < least:
        raise InvalidRequest.at(
            "body.params.metrics",
            "too-few-topics",
            f"{count} of {len(defined)} topics have a score under every one of the metrics; this needs at least "
            f"{least}.",
        )
    return defined


def require_runs(matrices: Matrices, least: int = 2) -> None:
    """Raises InvalidRequest where fewer runs are selected than there must be."""
    if matrices.run_count < least:
        raise InvalidRequest.at(
            "body.params.runs", "too-few-runs", f"{matrices.run_count} runs are selected; this needs at least {least}."
        )


def require_bounded(matrices: Matrices, labels: Sequence[str]) -> None:
    """Raises InvalidRequest for metrics whose scores do not lie in [0, 1]: differences in hundredths of it are
    what the analysis is about."""
    if unbounded := [label for label in labels if not matrices.metric(label).is_bounded]:
        raise InvalidRequest.at(
            "body.params.metrics",
            "unbounded-metric",
            f"{unbounded[0]} has scores outside [0, 1], and this counts differences in hundredths of that range; "
            "take a normalised metric, such as nCG or nDCG.",
        )


def require_arithmetic(matrices: Matrices, labels: Sequence[str]) -> None:
    """Raises InvalidRequest for geometric means: an analysis that draws topics compares arithmetic ones."""
    if geometric := [label for label in labels if matrices.metric(label).parameters["mean"] != "arithmetic"]:
        raise InvalidRequest.at(
            "body.params.metrics",
            "geometric-mean",
            f"{geometric[0]} is averaged geometrically, and this analysis draws topics and compares arithmetic means.",
        )


def left_out(matrices: Matrices, defined: NDArray[np.bool_], why: str) -> dict[str, Any]:
    """For a result: how many topics count, and which do not, and why."""
    missing = [matrices.topics[topic] for topic in np.flatnonzero(~defined)]
    return {"topics": int(defined.sum()), "topics_left_out": missing, "left_out_because": why if missing else None}


def pairs_of(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """All pairs of runs, in the order of every list over pairs: the first with each later one, and so on."""
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            yield first, second
