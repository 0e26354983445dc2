"""Shows how often the 95 % intervals of corrected means hold the true mean, for cheap judges of known bias and noise.

    GAINBOARD_REAL_DATA=FOLDER python -m benchmarks.coverage

The fields of real campaigns are the truth: their scores are what people give, and the mean of a run over all their
topics is its true mean. Each trial draws the topics of a collection, 50 or 200, with replacement, lets a judge score
them, and takes the scores of people on a random part: 10, 20 or 40 topics. Printed are the shares of the intervals that
hold the truth, over fields, trials and runs: of corrected means, with the standard error of that share, with the lowest
of a field and of a single run, of corrected differences, of people alone and of the judge alone. The last column is the
worth: how many topics of people alone would give such an interval. The exit code is 1 unless `LEAST_TRUSTED` is the
least of the numbers of trusted topics from which on the coverage is at least 92 % for every judge and number of topics.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.rank_sets import MATRICES, matrix
from gainboard.statistics.corrected_means import LEAST_TRUSTED, Estimates, TwiceJudged
from gainboard.statistics.draws import Floats
from gainboard.statistics.means import pair_indices

LEAST_COVERAGE = 0.92
TRUSTED, ALL = (10, 20, 40), (50, 200)
PAIRS = 60
"""The pairs of runs of a trial: random ones, as all of them take longer and are not independent."""
Judge = Callable[[Floats, np.random.Generator], Floats]


def lenient(scores: Floats, drawn: np.random.Generator) -> Floats:
    """A judge who finds everything better, and errs a little."""
    return _within(scores + 0.15 + drawn.normal(0, 0.05, scores.shape))


def noisy(scores: Floats, drawn: np.random.Generator) -> Floats:
    """A judge who errs much, on topics and on runs."""
    return _within(scores + drawn.normal(0, 0.15, scores.shape[1]) + drawn.normal(0, 0.15, scores.shape))


def partial(scores: Floats, drawn: np.random.Generator) -> Floats:
    """A judge who favours a third of the runs, as a model may favour runs that use it."""
    favoured = np.arange(len(scores)) % 3 == 0
    return _within(scores + 0.2 * favoured[:, np.newaxis] + drawn.normal(0, 0.05, scores.shape))


def flat(scores: Floats, drawn: np.random.Generator) -> Floats:
    """A judge who tells good from bad less than people do."""
    return _within(0.3 + 0.4 * scores + drawn.normal(0, 0.05, scores.shape))


def passing(scores: Floats, drawn: np.random.Generator) -> Floats:
    """A judge who only says pass or fail."""
    return np.where(scores + drawn.normal(0, 0.05, scores.shape) >= 0.5, 1.0, 0.0)


def blind(scores: Floats, drawn: np.random.Generator) -> Floats:
    """A judge whose scores say nothing."""
    return drawn.uniform(0, 1, scores.shape)


JUDGES: Mapping[str, Judge] = {each.__name__: each for each in (lenient, noisy, partial, flat, passing, blind)}


def _within(scores: Floats) -> Floats:
    return np.minimum(np.maximum(scores, 0.0), 1.0)


@dataclass(frozen=True)
class Row:
    """What came of the trials with one judge, and so many topics: shares, and the mean worth in topics.

    `worst_run` is the coverage of the run that is covered least, and `error` the standard error of `coverage`.
    """

    coverage: float
    error: float
    worst_run: float
    differences: float
    people_alone: float
    judge_alone: float
    worth: float


def tried(field: Floats, judge: str, trusted: int, topics: int, trials: int) -> Row:
    """Return what so many trials show for a field, [runs, topics]."""
    truth, found, held = field.mean(axis=1), [], np.zeros((trials, len(field)))
    first, second = pair_indices(len(field))
    for trial in range(trials):
        drawn = np.random.default_rng([trial, trusted, topics, *judge.encode()])
        scores = field[:, drawn.integers(0, field.shape[1], topics)]
        cheap = JUDGES[judge](scores, drawn)
        # The topics of a collection are drawn in no order, so the first ones are a random sample.
        sample = TwiceJudged(scores[:, :trusted], cheap[:, :trusted], cheap[:, trusted:])
        weight = sample.weight()
        corrected = sample.corrected(weight)
        some = drawn.choice(len(first), min(PAIRS, len(first)), replace=False)
        pairs = sample.differences(first[some], second[some]).corrected(weight)
        held[trial] = _held(corrected, truth, trusted - 1)
        found.append(
            (
                _held(pairs, (truth[first] - truth[second])[some], trusted - 1).mean(),
                _held(sample.by_trusted(), truth, trusted - 1).mean(),
                _held(sample.by_cheap(), truth, topics - 1).mean(),
                float(np.nanmedian(sample.worth(corrected))),
            )
        )
    # Runs of one trial share its topics, so the trials are the sample.
    error = held.mean(axis=1).std(ddof=1) / np.sqrt(trials)
    return Row(held.mean(), error, held.mean(axis=0).min(), *np.array(found).mean(axis=0).tolist())


def _held(estimates: Estimates, truth: Floats, freedom: int) -> NDArray[np.bool_]:
    """Return which intervals hold the truth."""
    low, high = estimates.intervals(freedom)
    return np.asarray((low <= truth) & (truth <= high))


def real(folder: Path) -> list[Floats]:
    """Return the real fields, [runs, topics] each."""
    return [matrix(folder / "score-matrices" / f"{name}.csv") for name in MATRICES]


def main() -> int:
    """Simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="collections that are drawn for each row and field")
    asked = parser.parse_args()
    if not (folder := os.environ.get("GAINBOARD_REAL_DATA")):
        print("GAINBOARD_REAL_DATA names no folder with the real fields.", file=sys.stderr)
        return 2
    fields, lowest = real(Path(folder)), dict.fromkeys(TRUSTED, 1.0)
    headings = "judge | topics | people | corrected | error | worst field | worst run | differences | people alone | "
    headings += "judge alone | worth"
    print(f"| {headings} |\n|{' --- |' * 11}")
    for judge, topics, trusted in product(JUDGES, ALL, TRUSTED):
        rows = [tried(field, judge, trusted, topics, asked.trials) for field in fields]
        coverage, _, _, *others, worth = np.array([astuple(row) for row in rows]).mean(axis=0).tolist()
        error = np.sqrt(sum(row.error**2 for row in rows)) / len(rows)
        worst = (min(row.coverage for row in rows), min(row.worst_run for row in rows))
        shares = (coverage, error, *worst, *others)
        cells = (judge, topics, trusted, *(f"{100 * share:.1f}" for share in shares), f"{worth:.0f}")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        lowest[trusted] = min(lowest[trusted], coverage)
    enough = next(
        (each for each in TRUSTED if min(lowest[more] for more in TRUSTED[TRUSTED.index(each) :]) >= LEAST_COVERAGE),
        None,
    )
    print(f"\nAt least 92 %, and 10 topics, from {enough} trusted topics on.")
    return 0 if enough == LEAST_TRUSTED else 1


if __name__ == "__main__":
    sys.exit(main())
