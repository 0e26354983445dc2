"""Shows that intervals and letters keep their promise where systems have replicates, and what those do that forget it.

    python -m tests.proofs.replicates

draws 10,000 samples of 50 topics from each of 30 populations: those of `tests.proofs.gate` whose differences are not
skewed, and the scores of one system, with 2, 5 and 10 replicates and noise that is larger on some topics than on
others. On half of the topics some replicates are missing. A nominal 95 % interval is Student's of the means over
replicates, as on a board. Beside it stands the interval that takes each replicate for a topic. Populations with skewed
differences are printed apart, as in the proof of the gate. Then follow the letters:
how often the bootstrap range tells any two of equally good systems apart, over whole topics, and over replicates taken
for topics. Last come the intervals of variance components. The exit code is 1 if an interval over topics holds the mean
in less than 94 % or more than 96 % of a population's samples, or if letters err in more than 5 % and two standard
errors.
"""

import sys

import numpy as np

from gainboard.statistics.bootstrap_range import bootstrap_ranges, critical_difference
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import collapse, mean_intervals
from gainboard.statistics.topic_sets import component_intervals, replicate_components
from tests.proofs import asked
from tests.proofs.gate import POPULATIONS, SKEWED

REPLICATES = (2, 5, 10)
TOPICS = 50
ALPHA, LEAST, MOST = 0.05, 0.94, 0.96
ONE_SYSTEM = {"scores of one system": lambda drawn, size: drawn.beta(2, 2, size) - 0.5}
"""A population whose mean is 0, as those of differences."""
COMPONENTS = {
    "normal": lambda drawn, size: drawn.normal(0, 1, size),
    "skewed": lambda drawn, size: drawn.exponential(1, size),
}
VARIANCES = np.array([0.2, 0.1, 0.08]) ** 2
"""Those of topics, of systems x topics and of replicates. Both shapes have the variance 1."""


def noise(drawn, cells, replicates):
    """The scores of replicates [..., replicates, topics] of these cells [..., topics], NaN where one is missing."""
    shape = (*cells.shape[:-1], replicates, cells.shape[-1])
    spread = 0.2 * drawn.lognormal(-0.2, 0.6, (*cells.shape[:-1], 1, cells.shape[-1]))
    scores = cells[..., np.newaxis, :] + spread * drawn.normal(0, 1, shape)
    is_missing = (drawn.random(shape) < 0.3) & (np.arange(cells.shape[-1]) % 2 == 0)
    is_missing[..., 0, :] = False
    return np.where(is_missing, np.nan, scores)


def holds(scores):
    """The share of samples [samples, topics] whose interval holds the mean, which is 0."""
    low, high = mean_intervals(scores)
    return float(np.mean((low <= 0) & (high >= 0)))


def coverage(sample, replicates, samples, topics=TOPICS):
    """How often the intervals over topics, and those that forget the replicates, hold the true mean."""
    drawn = np.random.default_rng([replicates, topics])
    found = []
    for _ in range(max(1, samples // 500)):
        scores = noise(drawn, sample(drawn, (min(samples, 500), topics)), replicates)
        found.append(
            (holds(collapse(scores, np.zeros(replicates, np.intp))[:, 0]), holds(scores.reshape(len(scores), -1)))
        )
    return np.mean(found, axis=0)


def letters(systems, replicates, samples):
    """How often any two of equally good systems are told apart, over topics and over replicates taken for topics."""
    drawn = np.random.default_rng([systems, replicates])
    errors = np.zeros(2)
    for _ in range(samples):
        cells = drawn.normal(0, 0.2, TOPICS) + drawn.normal(0, 0.1, (systems, TOPICS))
        scores = cells[:, np.newaxis] + drawn.normal(0, 0.15, (systems, replicates, TOPICS))
        for which, table in enumerate((scores.mean(axis=1), scores.reshape(systems, -1))):
            ranges = bootstrap_ranges(table, 1000, 0)
            errors[which] += np.ptp(table.mean(axis=1)) > critical_difference(ranges, ALPHA)
    return errors / samples


def component_coverage(shape, replicates, samples):
    """How often intervals hold the variances of topics, of systems x topics and of replicates."""
    drawn, groups, held = np.random.default_rng(replicates), np.repeat(np.arange(5), replicates), np.zeros(3)
    sizes = ((1, TOPICS), (5, TOPICS), (len(groups), TOPICS))
    for seed in range(samples):
        parts = [np.sqrt(of) * shape(drawn, size) for of, size in zip(VARIANCES, sizes, strict=True)]
        scores = (parts[0] + parts[1])[groups] + parts[2]
        counts = resample_counts(Draws(seed, "proof").resamples(1000, TOPICS), TOPICS).T
        every = replicate_components(scores, groups, np.hstack((np.ones((TOPICS, 1)), counts)))[1:4]
        low, high = component_intervals(every[:, 0], every[:, 1:], TOPICS)
        held += (low <= VARIANCES) & (high >= VARIANCES)
    return held / samples


def main():
    options = asked(__doc__, samples=10_000, boards=1000)
    outside, heads = [], " | ".join(f"{number} replicates" for number in REPLICATES)
    for title, populations in (("95 % intervals", POPULATIONS | ONE_SYSTEM), ("skewed differences", SKEWED)):
        print(f"| {title}: over topics / each replicate a topic, in % | {heads} |\n| --- |{' --- |' * len(REPLICATES)}")
        for name, sample in populations.items():
            found = [coverage(sample, number, options.samples) for number in REPLICATES]
            outside += [name for share, _ in found if populations is not SKEWED and not LEAST <= share <= MOST]
            print(
                f"| {name} | {' | '.join(f'{100 * one:.1f} / {100 * other:.1f}' for one, other in found)} |", flush=True
            )
        print()
    print(f"| letters err: over topics / each replicate a topic | {heads} |\n| --- |{' --- |' * len(REPLICATES)}")
    worst = 0.0
    for systems in (2, 5, 20):
        found = [letters(systems, number, options.boards) for number in REPLICATES]
        worst = max(worst, *(over_topics for over_topics, _ in found))
        print(f"| {systems} systems | {' | '.join(f'{one:.3f} / {other:.3f}' for one, other in found)} |", flush=True)
    print(
        "\n| variances in their intervals, in % | topics | systems x topics | replicates |\n| --- | --- | --- | --- |"
    )
    for name, shape in COMPONENTS.items():
        for number in REPLICATES:
            held = component_coverage(shape, number, options.boards)
            print(f"| {name}, {number} replicates | {' | '.join(f'{100 * share:.1f}' for share in held)} |", flush=True)
    most = ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / options.boards)
    print(f"\nOutside of 94 to 96 %: {', '.join(outside) or 'none'}.")
    print(f"Letters err in {worst:.3f} at most; {most:.3f} are allowed.")
    return 1 if outside or worst > most else 0


if __name__ == "__main__":
    sys.exit(main())
