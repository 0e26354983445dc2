"""Do the intervals of judge-validity hold what they say? Judges with a known favour are simulated.

    python -m tests.proofs.validity            # a few minutes
    python -m tests.proofs.validity --trials 300

A trusted judge gives scores of 12 runs; another judge squeezes them, gives more to all, and favours the runs of a
family. A topic makes all runs better or worse, and the judge's errors are skewed. For each trial, the interval of the
family's shift beside the other runs either has the true favour or not.
"""

import argparse
from unittest.mock import patch

import numpy as np

from gainboard.statistics import validity
from gainboard.statistics.draws import Draws, resample_counts

RUNS, FAMILY = 12, np.arange(12) < 3
FAVOURS = (0.0, 0.03, 0.1)
RESAMPLES = 1000


def scored(random, topics, favour):
    """Scores by both judges, and by how much the family's mean truly shifts beside the others'."""
    quality = np.linspace(0.25, 0.6, RUNS)[random.permutation(RUNS)]
    trusted = quality[:, np.newaxis] + random.normal(0, 0.15, topics) + random.normal(0, 0.1, (RUNS, topics))
    errors = random.gamma(1.5, 0.06, (RUNS, topics)) - 0.09
    shifts = 0.9 * quality + 0.05 + favour * FAMILY - quality
    judged = trusted + shifts[:, np.newaxis] + errors
    return trusted, judged, shifts[FAMILY].mean() - shifts[~FAMILY].mean()


def coverage(topics, favour, trials, seed):
    """The share of trials whose interval has the truth, and of those in which the family is told from the others."""
    random, covered, told = np.random.default_rng(seed), 0, 0
    # Correlations and ranks take most of the time and have no part in this.
    nothing = dict.fromkeys(("tau", "tau_ap", "rbo"), 0.0)
    with patch.multiple(validity, correlations=lambda *_: nothing, competition_ranks=np.zeros_like):
        for trial in range(trials):
            trusted, judged, truth = scored(random, topics, favour)
            counts = resample_counts(Draws(trial, "proof").resamples(RESAMPLES, topics), topics)
            found = validity.compare_boards(trusted, judged, counts, FAMILY[np.newaxis])
            _, low, high = found["group_shift"][0]
            covered += low <= truth <= high
            told += found["group_asl"][0] < validity.ALPHA
    return covered / trials, told / trials


def main(trials):
    for topics in (10, 25, 50):
        for favour in FAVOURS:
            covered, told = coverage(topics, favour, trials, seed=topics)
            print(f"{topics} topics, favour {favour:.2f}: {covered:.1%} covered, {told:.1%} told apart", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How often intervals of a judge's favour have the truth.")
    parser.add_argument("--trials", type=int, default=2000)
    main(parser.parse_args().trials)
