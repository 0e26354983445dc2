"""Shows that the gate never cries wolf: how often it says `worse` of a run that is as good, and `not worse` of one that
is worse by the margin.

    GAINBOARD_REAL_DATA=FOLDER python -m tests.proofs.gate

draws 10,000 changes that change nothing from each of 12 populations of differences, with 20, 50, 100 and 200 topics,
and gives each to the tests of the gate: Student's below 50 topics, and from there on the studentised bootstrap beside
it. A change whose true loss is the margin is such a change, less the margin. With real data, 10,000 pairs of runs of
each of five campaigns follow, shifted to equal means, on topics drawn from the campaign's own. The exit code is 1 if a
population whose differences are not skewed has a share above 5.5 %, which is 5 % and two standard errors. Those with
skewed differences are printed apart.
"""

import os
import sys
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from gainboard.statistics.gates import ALPHA, one_sided_tests
from gainboard.statistics.means import TINY
from tests.proofs import asked

MOST = 0.055
TOPICS = (20, 50, 100, 200)


def _scores_of(two):
    """The difference of two runs whose scores are drawn alike, and share how hard a topic is."""
    return two[0] - two[1]


POPULATIONS = {
    "runs that vary alike, normal": lambda drawn, size: drawn.normal(0, 0.2, size),
    "some topics vary more": lambda drawn, size: drawn.normal(0, 1, size) * drawn.lognormal(-2, 0.7, size),
    "heavy tails": lambda drawn, size: drawn.standard_t(3, size) / 10,
    "nDCG-like": lambda drawn, size: _scores_of(_beta(drawn, size, 4)),
    "AP-like": lambda drawn, size: _scores_of(_beta(drawn, size, 1.5)),
    "P@5": lambda drawn, size: _scores_of(drawn.binomial(5, drawn.beta(1, 1, size), (2, *size)) / 5),
    "P@10, nearly alike": lambda drawn, size: drawn.integers(-1, 2, size) * drawn.binomial(1, 0.5, size) / 10,
    "RR": lambda drawn, size: _scores_of(1 / drawn.geometric(drawn.beta(2, 2, size), (2, *size))),
    "a fifth of the topics differ": lambda drawn, size: drawn.normal(0, 0.2, size) * drawn.binomial(1, 0.2, size),
}
"""The populations whose differences are as likely above 0 as below."""
SKEWED = {
    "exponential, fails on some": lambda drawn, size: 0.2 * (1 - drawn.exponential(1, size)),
    "exponential, excels on some": lambda drawn, size: 0.2 * (drawn.exponential(1, size) - 1),
    "wins 0.01 on most, loses on a tenth": lambda drawn, size: np.where(drawn.random(size) < 0.9, 0.01, -0.09),
}


def _beta(drawn, size, shape):
    hard = drawn.beta(1, 1, size).clip(0.05, 0.95)
    return drawn.beta(shape * hard, shape * (1 - hard), (2, *size))


def fields(folder):
    """The fields of `benchmarks.rank_sets`, by name: the scores of their runs [runs, topics]."""
    from benchmarks.rank_sets import _fields  # noqa: PLC0415 (only with real data)

    return _fields(Path(folder))


def pairs_of(scores):
    """The population of pairs of these runs, each shifted to equal means, on topics drawn from their own."""

    def sample(drawn, size):
        one, other = (drawn.integers(0, len(scores), size[0]) for _ in range(2))
        other = np.where(one == other, (one + 1) % len(scores), other)
        differences = scores[one] - scores[other]
        differences -= differences.mean(axis=1, keepdims=True)
        return np.take_along_axis(differences, drawn.integers(0, scores.shape[1], size), axis=1)

    return sample


def shares(sample, topics, changes, seed=0):
    """The share of changes that are called worse, and that of those, less the margin, that are called not worse."""
    differences = sample(np.random.default_rng([seed, topics]), (changes, topics))
    # No level is below Student's, so the bootstrap can change nothing where that is above 5 %: nine tenths of all.
    t = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) + TINY) * np.sqrt(topics)
    doubtful = differences[np.abs(t) > stdtrit(topics - 1, 1 - ALPHA) - TINY]
    # A difference less the margin, with the margin added again: the test is that of the difference and no margin.
    tests = one_sided_tests(doubtful, np.zeros(len(doubtful)))
    return [np.count_nonzero(levels < ALPHA) / changes for levels in (tests.worse, tests.not_worse)]


def rows(populations, changes, topics=TOPICS):
    """The shares of each population, for each number of topics."""
    for name, sample in populations.items():
        yield name, [shares(sample, number, changes) for number in topics]


def main():
    options = asked(__doc__, changes=10_000)
    folder = os.environ.get("GAINBOARD_REAL_DATA")
    real = {f"pairs of {name}": pairs_of(scores) for name, scores in fields(folder).items()} if folder else {}
    worst = 0.0
    heads = [f"{number} topics" for number in TOPICS]
    for title, populations in (("differences", POPULATIONS), ("skewed differences", SKEWED), ("real pairs", real)):
        print(f"| {title}: `worse` / `not worse`, in % | {' | '.join(heads)} |\n| --- |{' --- |' * len(heads)}")
        for name, found in rows(populations, options.changes):
            cells = [f"{100 * worse:.1f} / {100 * lost:.1f}" for worse, lost in found]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
            if populations is POPULATIONS:
                worst = max(worst, *(max(both) for both in found))
        print()
    print(f"The largest share where differences are not skewed is {100 * worst:.2f} %; {100 * MOST:.1f} % are allowed.")
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
