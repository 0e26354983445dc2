"""Parts that several analyses share: the topics that count, the forms of answers, and the limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.analyses.job_kinds import Analysis, Arrays
from gainboard.analyses.params import MetricsParams
from gainboard.analyses.result_models import JobResult
from gainboard.errors import InvalidRequest
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.metrics import BoundMetric
from gainboard.statistics.draws import Draws, Indices
from gainboard.statistics.means import pair_blocks, pair_count, pieces

P = TypeVar("P", bound=MetricsParams)
R = TypeVar("R", bound=JobResult)
C = TypeVar("C")
LEAST_TO_HALVE = 4
"""The least number of topics from which two halves tell anything."""
MOST_KEPT = 40_000_000
"""The most numbers of one kind in memory at once, such as draws x topics of resamples or subsets: 320 MB."""
MOST_PAIRS = 1_000_000
"""The most pairs x metrics in an answer that names each of them: 200 MB of JSON, a second to read."""
MOST_TESTED_PAIRS = 12_000_000
"""The most pairs x metrics that one job tests, two bytes each: 1,000 runs under 24 metrics."""
PAIRS = "pairs of runs over all metrics"
PART_SECONDS = 2.0
"""The most seconds of a part, approximately: a chunk, after which others have their turn, has whole parts."""
# The SECONDS_A_... of the kinds are rough times of one core of an ordinary machine. They decide where parts are cut,
# which is stored with the job, and never what is computed. Twice too small ones make parts of twice the time.


def refuse(field: str, code: str, message: str) -> InvalidRequest:
    """Return the error about a job's parameter."""
    return InvalidRequest.at(f"body.params.{field}", code, message)


def require_at_most(most: int, number: int, what: str, field: str, code: str = "too-many") -> None:
    """Raise InvalidRequest for this parameter if `number` exceeds `most`."""
    if number > most:
        raise refuse(
            field, code, f"{number:,} {what}; one job may have at most {most:,}. Select fewer runs, metrics or draws."
        )


class Scored(Protocol):
    """The scores of runs on topics. `Matrices` has them over one qrels version, `MixedMatrices` over several."""

    @property
    def run_count(self) -> int: ...
    @property
    def topics(self) -> list[str]: ...
    def metric(self, label: str) -> BoundMetric: ...
    def defined_for_all(self, labels: Sequence[str]) -> NDArray[np.bool_]: ...
    def scores(self, label: str) -> Floats: ...


@dataclass(frozen=True)
class CommonTopics:
    """The topics for which every one of the metrics is defined. One set of resamples then serves all metrics."""

    matrices: Scored
    defined: NDArray[np.bool_]
    in_unit: bool = False
    """True if scores are mapped to [0, 1]: all are in it but uploaded ones."""

    @cached_property
    def count(self) -> int:
        """The number of these topics."""
        return int(self.defined.sum())

    def scores(self, label: str) -> Floats:
        """Return the scores without NaN: float64 [runs, count]."""
        scores = self.matrices.scores(label)[:, self.defined]
        # Chosen columns lie in memory topic by topic, where NumPy would add the topics of a run in another order.
        return np.ascontiguousarray(self.matrices.metric(label).in_unit(scores) if self.in_unit else scores)

    def described(self) -> dict[str, Any]:
        """Return what a result says of its topics: how many count, and which do not, and why."""
        missing = [self.matrices.topics[topic] for topic in np.flatnonzero(~self.defined)]
        why = "not every metric is defined for them: nothing relevant, or an ideal ranking that is worth nothing"
        if isinstance(self.matrices, Matrices) and self.matrices.custom.are_all:
            why = "not every chosen run has a score on them under every metric"
        elif isinstance(self.matrices, Matrices) and self.matrices.custom.stored:
            why += ", or no uploaded scores"
        return {"topics": self.count, "topics_left_out": missing, "left_out_because": why if missing else None}

    def require_drawable(self, draws: int, field: str) -> None:
        """Raise InvalidRequest if the resamples or trials over these topics do not fit into memory."""
        require_at_most(MOST_KEPT, draws * self.count, f"draws ({draws:,} {field} x {self.count:,} topics)", field)

    def subset_size(self, size: int | None, most: int) -> int:
        """Return the number of topics that a trial draws, by default half.

        Raise InvalidRequest if it exceeds `most`.
        """
        if size is not None and size > most:
            message = f"subset_size is {size}, but with {self.count} topics it may be at most {most}."
            raise refuse("subset_size", "out-of-range", message)
        return size if size is not None else self.count // 2


def common_topics(matrices: Scored, labels: Sequence[str], least: int = 2, least_runs: int = 2) -> CommonTopics:
    """Return the topics of a resampling analysis.

    Raise InvalidRequest for fewer than `least` topics or `least_runs`, and for geometric means: an analysis that draws
    topics compares arithmetic means.
    """
    if matrices.run_count < least_runs:
        raise refuse("runs", "too-few-runs", f"Selected runs: {matrices.run_count}. A comparison needs at least 2.")
    for label in labels:
        if matrices.metric(label).parameters["mean"] != "arithmetic":
            message = (
                f"{label} has a geometric mean, but this analysis draws topics and compares arithmetic means. Choose "
                "another metric."
            )
            raise refuse("metrics", "geometric-mean", message)
    defined = matrices.defined_for_all(labels)
    lacks_scores = isinstance(matrices, Matrices) and matrices.custom.are_all
    if (count := int(defined.sum())) < least:
        message = (
            f"{count} of {len(defined)} topics have a score under every metric, but at least {least} are needed. "
            f"Leave out metrics, or {'runs whose scores are missing' if lacks_scores else 'judge more topics'}."
        )
        raise refuse("metrics", "too-few-topics", message)
    return CommonTopics(matrices, defined)


def topics_for_halves(matrices: Matrices, labels: Sequence[str]) -> CommonTopics:
    """Return the topics of stability and swap rate, which count differences in hundredths.

    Also raise InvalidRequest for metrics whose scores are not in [0, 1].
    """
    # Uploaded scores may have any range; those with a stated one are mapped to [0, 1].
    for label in labels:
        if not matrices.metric(label).is_bounded:
            message = (
                f"{label} has scores outside [0, 1], but differences are counted in hundredths of that range. Choose "
                "a normalised metric, for example nCG or nDCG, or upload scores with their range."
            )
            raise refuse("metrics", "unbounded-metric", message)
    return replace(common_topics(matrices, labels, LEAST_TO_HALVE), in_unit=True)


def named_pairs(matrices: Matrices) -> list[tuple[str, str]]:
    """Return all pairs of runs in the order of every list of pairs: the first run with each later one, and so on."""
    names = [run.name for run in matrices.runs]
    return [(first, second) for row, first in enumerate(names) for second in names[row + 1 :]]


class PairsOverHalves(Analysis[P, R], Generic[P, R, C]):
    """An analysis that counts for each pair of runs what drawn topics say of it, on topics that halve.

    A part is a block of the pairs under one metric, and blocks of a metric are neighbours. `C` are the counts of all.
    """

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: P, *, trials: int, seconds_a_pair: float) -> None:
        super().__init__(matrices, params)
        self.metrics, self.trials = params.metrics, trials
        self.topics = topics_for_halves(matrices, self.metrics)
        self.topics.require_drawable(self.trials, "trials")
        self.seconds_a_pair = seconds_a_pair

    @cached_property
    def blocks(self) -> list[slice]:
        """The pairs in blocks. A request that is refused for its size makes none."""
        runs = self.matrices.run_count
        return pair_blocks(runs, pair_count(runs) * self.seconds_a_pair, PART_SECONDS)

    @abstractmethod
    def join(self, blocks: Sequence[Arrays]) -> C:
        """Return the counts of all pairs, from those of the blocks."""

    def counts(self, findings: Sequence[Arrays]) -> list[C]:
        """Return the counts, metric by metric, from the findings of all parts."""
        blocks = len(self.blocks)
        return [self.join(findings[first : first + blocks]) for first in range(0, len(findings), blocks)]


def blocks_of_trials(trials: int, seconds: float) -> list[slice]:
    """Return the trials in blocks of at most `PART_SECONDS`, if all of them together take so many seconds."""
    return list(pieces(slice(0, trials), int(trials * PART_SECONDS / seconds)))


@lru_cache(maxsize=2)
def subsets(seed: int, purpose: str, trials: int, topics: int, size: int) -> Indices:
    """Return the family of topic subsets of a job, cached for its next metric: intp [trials, size]."""
    drawn = Draws(seed, purpose).subsets(trials, topics, size)
    # All callers share the array.
    drawn.flags.writeable = False
    return drawn


def unsure(mark: str, seeds: int) -> str:
    """Return the meaning of an uncertain mark."""
    return f"{mark}, but only under some of {seeds} seeds"
