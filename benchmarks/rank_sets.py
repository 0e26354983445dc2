"""Shows how often each test of all pairs errs, what it finds, and how often the rank sets of all runs hold.

    GAINBOARD_REAL_DATA=FOLDER python -m benchmarks.rank_sets

draws samples of topics from populations in which it is known which runs are equally good: runs that vary alike; runs
of a cluster that are nearly alike beside different ones; and the fields of real campaigns, whose runs are shifted to
equal means, all of them or the better half. For each population and test it prints how often at least one pair of
equally good runs is told apart (at 0.05), which share of the other pairs is, and how often the rank sets of all runs
hold together. A second table has the errors for few runs and few topics. Each table is followed by the standard error
of its shares. Before them stands how much the differences of pairs of real runs vary. The exit code is 1 if the
bootstrap range errs in more than 10 % of the samples.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.means import pair_differences, pair_indices
from gainboard.statistics.multiple_comparisons import differing_pairs, rank_sets
from gainboard.statistics.significance import Correction, SignificanceSettings, find_test

ALPHA = 0.05
MOST_ERRORS = 0.10
TOPICS = 50
FEW_RUNS, FEW_TOPICS = (2, 3, 5, 10), (6, 10, 20, 50)
TESTS: Mapping[str, tuple[str, Correction, int | None]] = {
    "bootstrap range": ("bootstrap-range", "none", 2000),
    "randomised Tukey": ("randomised-tukey-hsd", "none", 1000),
    "max-T": ("paired-bootstrap", "max-t", 1000),
    "Holm on t": ("t-test", "holm", None),
}
MATRICES = ("web2012_err20", "web2012_ndcg20", "adhoc8_ap", "adhoc8_p10")
Sample = Callable[[np.random.Generator], Floats]


@dataclass(frozen=True)
class Population:
    """Runs with true means [runs], and samples of their scores, [runs, topics]."""

    name: str
    means: Floats
    sample: Sample


@dataclass(frozen=True)
class Row:
    """What a test did with the samples of a population: shares. The power is NaN if all runs are equally good."""

    population: str
    test: str
    error: float
    power: float
    hold: float


def alike(runs: int, means: Floats | None = None, topics: int = TOPICS) -> Population:
    """Runs that vary alike and are not correlated beyond the topic."""
    true = np.zeros(runs) if means is None else means

    def sample(drawn: np.random.Generator) -> Floats:
        return true[:, np.newaxis] + drawn.normal(0, 0.2, topics) + drawn.normal(0, 0.15, (runs, topics))

    which = "equal means" if means is None else "upper half equal"
    return Population(f"{runs} runs that vary alike, {which}", true, sample)


def clusters(near: int, others: int) -> Population:
    """Runs that share most of their noise beside others that share none, all equally good."""

    def sample(drawn: np.random.Generator) -> Floats:
        shared = drawn.normal(0, 0.2, TOPICS) + drawn.normal(0, 0.06, (near, TOPICS))
        return np.vstack((shared, drawn.normal(0, 0.2, (others, TOPICS))))

    return Population(f"{near} runs nearly alike beside {others}, equal means", np.zeros(near + others), sample)


def skewed(runs: int, topics: int) -> Population:
    """Runs nearly alike beside one whose differences from them are exponential, all equally good."""

    def sample(drawn: np.random.Generator) -> Floats:
        scores = drawn.normal(0, 0.2, topics) + drawn.normal(0, 0.02, (runs, topics))
        scores[0] += 0.2 * (drawn.exponential(1, topics) - 1)
        return np.asarray(scores)

    return Population(f"{runs} runs, skewed, {topics} topics", np.zeros(runs), sample)


def field(name: str, scores: Floats, upper_half: bool) -> Population:
    """The runs of a campaign over topics drawn from its own, shifted to equal means: all, or the better half."""
    own = scores.mean(axis=1)
    better = own >= np.median(own) if upper_half else np.ones(len(own), bool)
    true = np.where(better, own[better].mean(), own)
    shifted = scores + (true - own)[:, np.newaxis]

    def sample(drawn: np.random.Generator) -> Floats:
        return np.ascontiguousarray(shifted[:, drawn.integers(0, scores.shape[1], scores.shape[1])])

    return Population(f"{name}, {'upper half equal' if upper_half else 'equal means'}", true, sample)


def simulated() -> Iterator[Population]:
    """The populations that need no data."""
    yield alike(20)
    yield alike(20, np.minimum(np.linspace(0, 0.4, 20), 0.2))
    yield clusters(18, 2)
    yield clusters(30, 5)


def _fields(folder: Path) -> dict[str, Floats]:
    fields = {name: matrix(folder / "score-matrices" / f"{name}.csv") for name in MATRICES}
    return fields | {"trec-dl19-pass, nDCG@10": _scored(folder / "trec-dl19-pass")}


def real(folder: Path) -> Iterator[Population]:
    """The populations of the real fields."""
    for name, scores in _fields(folder).items():
        for upper_half in (False, True):
            yield field(name, scores, upper_half)


def matrix(file: Path) -> Floats:
    """Read a file of scores, [runs, topics]."""
    scores: Floats = np.loadtxt(file, delimiter=",", skiprows=1).T
    return np.unique(scores, axis=0)  # a run that is there twice differs from itself under no test


def _scored(folder: Path) -> Floats:
    files = sorted(map(str, (folder / "runs").iterdir()))
    command = [sys.executable, "-m", "gainboard", "score", str(folder / "qrels.dl19-passage.txt"), *files]
    found = subprocess.run([*command, "-m", "nDCG@10", "-q", "-f", "csv"], capture_output=True, text=True, check=True)
    by_run: dict[str, list[float]] = {}
    for row in csv.DictReader(StringIO(found.stdout)):
        if row["topic"] != "all" and row["value"]:
            by_run.setdefault(row["run"], []).append(float(row["value"]))
    return np.unique(np.array(list(by_run.values())), axis=0)


def tried(population: Population, trials: int, tests: Sequence[str] = tuple(TESTS)) -> list[Row]:
    """What each test does with so many samples of the population."""
    true = np.round(population.means, 12)
    first, second = pair_indices(len(true))
    is_equal = true[first] == true[second]
    least = 1 + (true > true[:, np.newaxis]).sum(axis=1)
    most = len(true) - (true < true[:, np.newaxis]).sum(axis=1)
    errors, found, holds = (dict.fromkeys(tests, 0.0) for _ in range(3))
    for trial in range(trials):
        scores = population.sample(np.random.default_rng(trial))
        for test in tests:
            asl = _levels(test, scores, trial)
            sets = rank_sets(scores.mean(axis=1), differing_pairs(asl, len(true), ALPHA))
            errors[test] += bool((asl[is_equal] < ALPHA).any())
            found[test] += _share(asl[~is_equal] < ALPHA)
            holds[test] += bool(((sets[:, 0] <= least) & (most <= sets[:, 1])).all())
    return [
        Row(population.name, test, errors[test] / trials, found[test] / trials, holds[test] / trials) for test in tests
    ]


def _levels(name: str, scores: Floats, seed: int) -> Floats:
    test, correction, resamples = TESTS[name]
    settings = SignificanceSettings(seed=seed, resamples=resamples, largest=correction == "max-t")
    found = find_test(test)
    return found.corrected(found.decide(scores, settings), correction)


def _share(which: NDArray[np.bool_]) -> float:
    return float(which.mean()) if which.size else np.nan


def main() -> int:
    """Simulates, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300, help="samples of each population")
    parser.add_argument("--few-trials", type=int, default=4000, help="samples of each population of few runs")
    asked = parser.parse_args()
    folder = os.environ.get("GAINBOARD_REAL_DATA")
    populations = [*simulated(), *(real(Path(folder)) if folder else ())]
    if folder:
        _print_pair_variances(Path(folder))
    else:
        print("GAINBOARD_REAL_DATA names no folder, so the real fields are left out.", file=sys.stderr)
    headings = [f"{test} {what}" for what in ("errs", "finds", "holds") for test in TESTS]
    print(f"| population | {' | '.join(headings)} |\n| --- |{' --- |' * len(headings)}")
    worst = 0.0
    for population in populations:
        rows = tried(population, asked.trials)
        numbers = [getattr(row, what) for what in ("error", "power", "hold") for row in rows]
        cells = ["–" if np.isnan(number) else f"{number:.2f}" for number in numbers]
        print(f"| {population.name} | {' | '.join(cells)} |", flush=True)
        worst = max(worst, rows[0].error)
    print(f"\nThe standard error of a share is {_error(asked.trials)}.\n")
    worst = max(worst, _print_few(asked.few_trials))
    return 0 if worst <= MOST_ERRORS else 1


def _print_pair_variances(folder: Path) -> None:
    """Print how much the differences of pairs vary, in shares of twice the variance of scores."""
    print("| field | average pair | most unlike pair |\n| --- | --- | --- |")
    for name, scores in _fields(folder).items():
        shares = pair_differences(scores).var(axis=1, ddof=1) / (2 * scores.var(axis=1, ddof=1).mean())
        print(f"| {name} | {shares.mean():.2f} | {shares.max():.2f} |")
    print()


def _print_few(trials: int) -> float:
    """Print how often equally good runs are told apart, few of them, on few topics. Return the worst share of normal
    ones: the t-test errs where two runs' differences are skewed, too.
    """
    tests, worst = ("bootstrap range", "Holm on t"), 0.0
    headings = [f"{test}, {topics} topics" for test in tests for topics in FEW_TOPICS]
    print(f"| runs | {' | '.join(headings)} |\n| --- |{' --- |' * len(headings)}")
    for name, made in (("normal", partial(alike, means=None)), ("skewed", skewed)):
        for runs in FEW_RUNS:
            errors = [[row.error for row in tried(made(runs, topics=topics), trials, tests)] for topics in FEW_TOPICS]
            columns = [error for own in zip(*errors, strict=True) for error in own]
            print(f"| {runs}, {name} | {' | '.join(f'{error:.3f}' for error in columns)} |", flush=True)
            worst = max(worst, *(own[0] for own in errors)) if name == "normal" else worst
    print(f"\nThe standard error of a share is {_error(trials)}.")
    return worst


def _error(trials: int) -> str:
    """Say how far a share of so many samples may be off."""
    at = {share: np.sqrt(share * (1 - share) / trials) for share in (0.05, 0.5)}
    return f"{at[0.05]:.3f} for one of 0.05, and at most {at[0.5]:.3f} ({trials:,} samples)"


if __name__ == "__main__":
    sys.exit(main())
