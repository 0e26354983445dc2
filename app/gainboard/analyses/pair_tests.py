"""A significance test of every pair of runs under several metrics, as several kinds need it, and the tested pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gainboard.analyses.common import MOST_KEPT, MOST_TESTED_PAIRS, PAIRS, common_topics, refuse, require_at_most
from gainboard.analyses.job_kinds import Arrays
from gainboard.analyses.result_models import Number, ResultRow, Shown
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.statistics import every_test
from gainboard.statistics.draws import Indices, successive_seeds
from gainboard.statistics.means import (
    NUMBERS_AT_ONCE,
    pair_count,
    pair_differences,
    pair_indices,
    pair_number,
    pieces,
    unit_of,
)
from gainboard.statistics.significance import Correction, Outcome, SignificanceSettings, doubtful_levels, find_test

MOST_LISTED = 100_000
"""The most pairs over all metrics that a result lists: about 17 MB of JSON. The other pairs are available in pages."""
PAIRS_AT_ONCE = 5_000
KEPT = "numbers are kept of all resamples"
Test = Literal[tuple(test.name for test in every_test())]  # type: ignore[valid-type]
CORRECTION = (
    "Correction for many comparisons: `holm` and `max-t` control any false discovery, and `benjamini-hochberg` the "
    "false discovery rate; the bootstrap range and Tukey's test need none"
)
CORRECTION_TITLES: Mapping[Correction, str] = {
    "none": "",
    "holm": ", corrected by Holm's method",
    "benjamini-hochberg": ", corrected by Benjamini and Hochberg's method (false discovery rate)",
    "max-t": ", corrected by max-T",
}
"""The part of a caption that names the correction."""
Alpha = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True)
class Decision:
    """The findings about one metric's scores."""

    label: str
    scores: Floats
    outcome: Outcome
    asl: Floats
    """[pairs]: corrected if that was asked for. These levels are compared with alpha."""
    doubtful: int
    """The number of pairs with a level below all levels of the exact randomisation test."""


class PairTests:
    """A significance test for every pair of runs and every metric, in parts. One set of resamples serves all metrics.

    The constructor raises InvalidRequest if the test is impossible as asked. Differences that are needed at the
    `alphas` are estimated under the first of the seeds; under the others, only levels are computed.
    """

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        test: str,
        resamples: int | None,
        correction: Correction,
        seed: int,
        seeds: int = 1,
        alphas: Sequence[float] = (),
    ) -> None:
        self.matrices, self.metrics, self.correction = matrices, metrics, correction
        self.test = find_test(test)
        first = SignificanceSettings(
            seed=seed, resamples=resamples, alphas=tuple(alphas), largest=correction == "max-t"
        )
        self.settings = [
            first,
            *(replace(first, seed=next_seed, alphas=()) for next_seed in successive_seeds(seed, seeds)[1:]),
        ]
        self.topics = common_topics(matrices, metrics)
        if self.topics.count < self.test.least_topics:
            message = (
                f"{self.test.name} needs at least {self.test.least_topics} topics. {self.topics.count} have a score "
                'under every metric. Judge more topics, or choose "test": "t-test" with "correction": "holm".'
            )
            raise refuse("test", "too-few-topics", message)
        if resamples is not None and self.test.default_resamples is None:
            raise refuse("resamples", "not-used", f"{self.test.name} draws no resamples. Leave `resamples` out.")
        if correction == "max-t" and not self.test.gives_largest:
            message = f'{self.test.name} has no max-t correction. Use "correction": "holm".'
            raise refuse("correction", "not-available", message)
        runs = matrices.run_count
        require_at_most(MOST_KEPT, self.test.numbers_kept(runs, self.topics.count, resamples), KEPT, "resamples")
        tested = pair_count(runs) * len(metrics) * len(self.settings)
        require_at_most(MOST_TESTED_PAIRS, tested, PAIRS, "runs", "too-many-pairs")
        self._blocks = self.test.blocks(runs, self.topics.count, resamples)

    def parts(self) -> list[float]:
        # The parts are blocks of resamples, not metrics, because all metrics use the resamples that a block draws.
        runs, topics = self.matrices.run_count, self.topics.count
        seconds = self.test.seconds_of_block(runs, topics, self.settings[0].resamples)
        return [seconds] * (self._parts_a_seed * len(self.settings))

    @property
    def _parts_a_seed(self) -> int:
        return self._blocks * len(self.metrics)

    def work(self, part: int) -> Arrays:
        seed, rest = divmod(part, self._parts_a_seed)
        block, metric = divmod(rest, len(self.metrics))
        settings = self.settings[seed]
        scores = self.topics.scores(self.metrics[metric])
        # In a unit of the scores, because tests decide with absolute tolerances, and uploaded scores may be of any
        # size.
        findings = self.test.work(scores / unit_of(scores), block, settings)
        # What the result does not need is left out, which makes two bytes per pair for most tests. Only max-T needs the
        # observed t of each pair, which takes eight.
        kept = {name: array for name, array in findings.items() if name != "observed" or self.settings[0].largest}
        if "asl" in kept:
            kept["asl"] = as_counts(kept["asl"], self._drawn)
        if "count" in kept:
            kept["count"] = kept["count"].astype(np.min_scalar_type(int(kept["count"].max(initial=0))))
        if "estimated_differences" in kept:
            # A result shows only the largest difference over all pairs.
            kept["estimated_differences"] = kept["estimated_differences"].max(axis=-1, keepdims=True)
        return kept

    @property
    def _drawn(self) -> int | None:
        return self.test.drawn(self.settings[0].resamples) or None

    def decisions(self, findings: Sequence[Arrays]) -> Iterator[tuple[Decision, list[Floats]]]:
        """Yield for each metric the findings under the first seed, and the levels [pairs] under each further one.

        `findings` are those of all parts. It is one metric at a time: the arrays for half a million pairs need
        much memory while they are computed.
        """
        first, *further = self.settings
        for row, label in enumerate(self.metrics):
            levels = [
                self._decide(label, self._blocks_of(findings, seed, row), settings).asl
                for seed, settings in enumerate(further, start=1)
            ]
            yield self._decide(label, self._blocks_of(findings, 0, row), first), levels

    def _blocks_of(self, findings: Sequence[Arrays], seed: int, metric: int) -> Sequence[Arrays]:
        """Return the findings about a metric under one of the seeds, block by block."""
        start = seed * self._parts_a_seed
        return findings[start + metric : start + self._parts_a_seed : len(self.metrics)]

    def note(self, resamples: int | None, alphas: Sequence[float], doubtful: int) -> str | None:
        """Return sentences for readers: about too few resamples for Holm's correction, if it is wanted, and about
        `doubtful` levels under all metrics.
        """
        pairs, sentences = pair_count(self.matrices.run_count), []
        if self.correction == "holm" and (lost := self.test.holm_note(resamples, pairs, self.topics.count, alphas)):
            sentences.append(lost)
        if doubtful:
            sentences.append(
                f"{doubtful:,} of {pairs * len(self.metrics):,} levels are below all those of the exact randomisation "
                "test, because few topics differ or all differences are equal."
            )
        return " ".join(sentences) or None

    def _decide(self, label: str, findings: Sequence[Arrays], settings: SignificanceSettings) -> Decision:
        scores = self.topics.scores(label)
        scaled = scores / (unit := unit_of(scores))
        whole = [{**part, "asl": as_levels(part["asl"], self._drawn)} if "asl" in part else part for part in findings]
        outcome = self.test.outcome(scaled, whole, settings).times(unit)
        doubtful = 0
        if self.test.may_understate:
            levels = self.test.above_zero(outcome)
            for part in pieces(slice(0, len(levels)), NUMBERS_AT_ONCE // 4 // scaled.shape[1]):
                doubtful += int(doubtful_levels(levels[part], pair_differences(scaled, part)).sum())
        return Decision(label, scores, outcome, self.test.corrected(outcome, self.correction), doubtful)


class TestedPair(ResultRow):
    """The verdict of the test on two runs."""

    runs: Annotated[tuple[str, str], Shown(("first run", "second run"))]
    difference: Annotated[Number, Field(description="The first run's mean score minus the second's"), Shown(digits=4)]
    asl: Annotated[Number, Field(description="Achieved significance level"), Shown(digits=4, level=True)]
    asl_corrected: NotRequired[
        Annotated[
            Number,
            Field(description="After the correction; only with one"),
            Shown("corrected asl", digits=4, level=True),
        ]
    ]
    effect_size: Annotated[Number, Field(description="Null if the differences have no spread"), Shown(digits=3)]
    interval: Annotated[
        tuple[Number, Number],
        Field(description="95 % interval of the difference"),
        Shown(("low", "high"), digits=4, group="95 % interval"),
    ]


class ComparedPair(NamedTuple):
    """The verdict of a test on one pair. A member is None if there is no number."""

    runs: tuple[str, str]
    difference: float | None
    asl: float | None
    asl_corrected: float | None
    effect_size: float | None
    low: float | None
    high: float | None

    def as_json(self, is_corrected: bool) -> dict[str, Any]:
        """Return the pair in the form of results."""
        return {
            "runs": self.runs,
            "difference": self.difference,
            "asl": self.asl,
            **({"asl_corrected": self.asl_corrected} if is_corrected else {}),
            "effect_size": self.effect_size,
            "interval": (self.low, self.high),
        }


def as_counts(levels: Floats, resamples: int | None) -> NDArray[Any]:
    """Return levels as numbers of resamples, in the fewest bytes; unchanged if they are not such shares.

    `levels` is float64 [pairs]; `as_levels` returns exactly the same numbers.
    """
    if resamples is None:
        return levels
    counts = np.rint(levels * resamples)
    # Levels with one more than the count, and those of tests without draws, stay as they are.
    if not np.array_equal(counts / resamples, levels):
        return levels
    return counts.astype(np.min_scalar_type(resamples))


def as_levels(counts: NDArray[Any], resamples: int | None) -> Floats:
    """Return the levels that `as_counts` was given: float64 [pairs]."""
    if resamples is None or counts.dtype.kind == "f":
        return counts
    levels: Floats = counts / resamples
    return levels


@dataclass(frozen=True)
class ComparedPairs:
    """All pairs of the runs under one metric, in the order of `pairs`.

    `scores` is float64 [runs, topics], without NaN. `levels` and, with a correction, `corrected` are [pairs], as
    `as_counts` returns them.
    """

    metric: str
    test: str
    resamples: int | None
    runs: Sequence[str]
    scores: Floats
    levels: NDArray[Any]
    corrected: NDArray[Any] | None

    def __len__(self) -> int:
        return pair_count(len(self.runs))

    def __iter__(self) -> Iterator[ComparedPair]:
        for start in range(0, len(self), PAIRS_AT_ONCE):
            yield from self.at(np.arange(start, min(start + PAIRS_AT_ONCE, len(self))))

    def require_whole(self, topics: int) -> None:
        """Raise ValueError unless each run has a finite score on each topic, and each pair a level in [0, 1]."""
        if self.scores.shape != (len(self.runs), topics) or self.scores.dtype != np.float64:
            raise ValueError(f"the scores are {self.scores.shape}")
        for counts in (self.levels, *([self.corrected] if self.corrected is not None else [])):
            levels = as_levels(counts, self.resamples)
            is_level = ((levels >= 0) & (levels <= 1)).all()
            if counts.shape != (len(self),) or counts.dtype.kind not in "uf" or not is_level:
                raise ValueError("the levels are not one for each pair, from 0 to 1")
        if not np.isfinite(self.scores).all():
            raise ValueError("a score is not finite")

    @property
    def is_corrected(self) -> bool:
        """Return whether levels were corrected for many comparisons."""
        return self.corrected is not None

    def at(self, numbers: Indices) -> list[ComparedPair]:
        """Return the pairs with these numbers: intp [any], counted from 0."""
        # Effects are computed of the pairs that somebody reads. A job stores scores and levels, which are far fewer
        # numbers.
        unit = unit_of(self.scores)
        effects = find_test(self.test).effects(self.scores / unit, numbers)
        first, second = pair_indices(len(self.runs), numbers)
        corrected = self.corrected[numbers] if self.corrected is not None else np.full(len(numbers), np.nan)
        columns = (
            effects.difference * unit,
            as_levels(self.levels[numbers], self.resamples),
            as_levels(corrected, self.resamples),
            effects.size,
            effects.low * unit,
            effects.high * unit,
        )
        names = [(self.runs[one], self.runs[other]) for one, other in zip(first.tolist(), second.tolist(), strict=True)]
        return list(map(ComparedPair, names, *map(_numbers, columns)))

    def select(self, run: str | None, below: float | None) -> Indices:
        """Return the numbers of the pairs of a run with a level below this (None: any run or level): intp, sorted.

        The level is the corrected one, if there is a correction. A run that is not among `runs` has no pairs.
        """
        numbers: Indices = np.arange(len(self))
        if run is not None and run not in self.runs:
            return numbers[:0]
        if run is not None:
            row, every = self.runs.index(run), np.arange(len(self.runs))
            numbers = pair_number(len(self.runs), np.minimum(every, row), np.maximum(every, row))[every != row]
        if below is None:
            return numbers
        decisive = self.corrected if self.corrected is not None else self.levels
        return numbers[as_levels(decisive[numbers], self.resamples) < below]

    def least_levels(self) -> Floats:
        """Return the lowest level among each run's pairs, corrected if all of them are: float64 [runs]."""
        decisive = as_levels(self.corrected if self.corrected is not None else self.levels, self.resamples)
        least = np.full(len(self.runs), np.inf)
        for side in pair_indices(len(self.runs)):
            # An assignment by index would keep only the last of a run's many pairs.
            np.minimum.at(least, side, decisive)
        return least


def _numbers(column: Floats) -> list[float | None]:
    if np.isfinite(column).all():
        return column.tolist()  # type: ignore[no-any-return]
    return [number if finite else None for number, finite in zip(column.tolist(), np.isfinite(column), strict=True)]
