"""Shows how often each test of all pairs errs, what it finds, and how often the rank sets of all runs hold.

    GAINBOARD_REAL_DATA=FOLDER python -m tests.proofs.rank_sets

draws samples of topics from populations in which it is known which runs are equally good: runs that vary alike; runs
of a cluster that are nearly alike beside different ones; and the fields of real campaigns, whose runs are shifted to
equal means, all of them or the better half. For each population and test it prints how often at least one pair of
equally good runs is told apart (at 0.05), which share of the other pairs is, and how often the rank sets of all runs
hold together, and then the standard error of these shares. The exit code is 1 if the bootstrap range errs in more than
10 % of the samples.
"""

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np

from gainboard.statistics.draws import Floats
from gainboard.statistics.multiple_comparisons import differing_pairs, rank_sets
from gainboard.statistics.pairs import pair_indices
from gainboard.statistics.significance import SignificanceSettings, find_test
from tests.proofs import asked

ALPHA = 0.05
MOST_ERRORS = 0.10
TOPICS = 50
TESTS = {
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


def alike(runs, means=None):
    """Runs that vary alike and are not correlated beyond the topic."""
    true = np.zeros(runs) if means is None else means

    def sample(drawn):
        return true[:, np.newaxis] + drawn.normal(0, 0.2, TOPICS) + drawn.normal(0, 0.15, (runs, TOPICS))

    which = "equal means" if means is None else "upper half equal"
    return Population(f"{runs} runs that vary alike, {which}", true, sample)


def clusters(near, others):
    """Runs that share most of their noise beside others that share none, all equally good."""

    def sample(drawn):
        shared = drawn.normal(0, 0.2, TOPICS) + drawn.normal(0, 0.06, (near, TOPICS))
        return np.vstack((shared, drawn.normal(0, 0.2, (others, TOPICS))))

    return Population(f"{near} runs nearly alike beside {others}, equal means", np.zeros(near + others), sample)


def field(name, scores, upper_half):
    """The runs of a campaign over topics drawn from its own, shifted to equal means: all, or the better half."""
    own = scores.mean(axis=1)
    better = own >= np.median(own) if upper_half else np.ones(len(own), bool)
    true = np.where(better, own[better].mean(), own)
    shifted = scores + (true - own)[:, np.newaxis]

    def sample(drawn):
        return np.ascontiguousarray(shifted[:, drawn.integers(0, scores.shape[1], scores.shape[1])])

    return Population(f"{name}, {'upper half equal' if upper_half else 'equal means'}", true, sample)


def simulated():
    yield alike(20)
    yield alike(20, np.minimum(np.linspace(0, 0.4, 20), 0.2))
    yield clusters(18, 2)
    yield clusters(30, 5)


def real(folder):
    fields = {name: matrix(folder / "score-matrices" / f"{name}.csv") for name in MATRICES}
    for name, scores in {**fields, "trec-dl19-pass, nDCG@10": _scored(folder / "trec-dl19-pass")}.items():
        for upper_half in (False, True):
            yield field(name, scores, upper_half)


def matrix(file):
    """Read a file of scores, [runs, topics]."""
    scores = np.loadtxt(file, delimiter=",", skiprows=1).T
    return np.unique(scores, axis=0)  # a run that is there twice differs from itself under no test


def _scored(folder):
    files = sorted(map(str, (folder / "runs").iterdir()))
    command = [sys.executable, "-m", "gainboard", "score", str(folder / "qrels.dl19-passage.txt"), *files]
    found = subprocess.run([*command, "-m", "nDCG@10", "-q", "-f", "csv"], capture_output=True, text=True, check=True)
    by_run = {}
    for row in csv.DictReader(StringIO(found.stdout)):
        if row["topic"] != "all" and row["value"]:
            by_run.setdefault(row["run"], []).append(float(row["value"]))
    return np.unique(np.array(list(by_run.values())), axis=0)


def tried(population, trials, tests=tuple(TESTS)):
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


def _levels(name, scores, seed):
    test, correction, resamples = TESTS[name]
    settings = SignificanceSettings(seed=seed, resamples=resamples, largest=correction == "max-t")
    found = find_test(test)
    return found.corrected(found.decide(scores, settings), correction)


def _share(which):
    return float(which.mean()) if which.size else np.nan


def main():
    given = asked(__doc__, trials=300)
    folder = os.environ.get("GAINBOARD_REAL_DATA")
    populations = [*simulated(), *(real(Path(folder)) if folder else ())]
    if not folder:
        print("GAINBOARD_REAL_DATA names no folder, so the real fields are left out.", file=sys.stderr)
    headings = [f"{test} {what}" for what in ("errs", "finds", "holds") for test in TESTS]
    print(f"| population | {' | '.join(headings)} |\n| --- |{' --- |' * len(headings)}")
    worst = 0.0
    for population in populations:
        rows = tried(population, given.trials)
        numbers = [getattr(row, what) for what in ("error", "power", "hold") for row in rows]
        cells = ["–" if np.isnan(number) else f"{number:.2f}" for number in numbers]
        print(f"| {population.name} | {' | '.join(cells)} |", flush=True)
        worst = max(worst, rows[0].error)
    at = {share: np.sqrt(share * (1 - share) / given.trials) for share in (0.05, 0.5)}
    print(f"\nThe standard error of a share of 0.05 is {at[0.05]:.3f}, and of any other at most {at[0.5]:.3f}.")
    return 0 if worst <= MOST_ERRORS else 1


if __name__ == "__main__":
    sys.exit(main())
