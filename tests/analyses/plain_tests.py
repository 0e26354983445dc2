"""Significance tests of one pair of runs after the other, with loops over resamples, from their definitions."""

import math
from collections import Counter
from itertools import combinations, product

from scipy import stats

from gainboard.statistics.draws import Draws

B = 120
SEED = 11


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def stdev(values):
    return math.sqrt(variance(values))


def differences(x, y):
    return [round(a - b, 12) for a, b in zip(x, y, strict=True)]


def t_of(z):
    """Student's t; of a constant infinite, unless it is 0."""
    centre, spread = mean(z), stdev(z)
    if abs(centre) <= 1e-12:
        return 0.0
    return abs(centre) / (spread / math.sqrt(len(z))) if spread > 1e-12 else math.inf


def resampled_t(x, y):
    """|t| of the pair; and |t| and |mean| of each resample under the null hypothesis."""
    z = differences(x, y)
    w = [value - mean(z) for value in z]
    drawn = Draws(SEED, "paired-bootstrap").resamples(B, len(z)).tolist()
    samples = [[w[topic] for topic in topics] for topics in drawn]
    return t_of(z), [(t_of(sample), abs(mean(sample))) for sample in samples]


def welch(x, y):
    spread = math.sqrt(variance(x) / len(x) + variance(y) / len(y))
    difference = abs(mean(x) - mean(y))
    if difference <= 1e-12:
        return 0.0
    return difference / spread if spread > 1e-12 else math.inf


def resampled_welch(x, y):
    """As `resampled_t`, each run's topics drawn by themselves."""
    u, v = [value - mean(x) for value in x], [value - mean(y) for value in y]
    first, second = (
        Draws(SEED, f"unpaired-bootstrap: {run}").resamples(B, len(x)).tolist() for run in ("first", "second")
    )
    found = []
    for own, other in zip(first, second, strict=True):
        a, b = [u[topic] for topic in own], [v[topic] for topic in other]
        found.append((welch(a, b), abs(mean(a) - mean(b))))
    return welch(x, y), found


def reaches(t, observed):
    return t >= observed * (1 - 1e-9)


def bootstrap_asl(observed, resampled):
    return sum(reaches(t, observed) for t, _ in resampled) / len(resampled)


def estimated(resampled, alpha):
    """|mean| of the resample with the k-th largest |t|."""
    place = max(1, math.ceil(len(resampled) * alpha - 1e-9))
    return sorted(resampled, key=lambda each: -min(each[0], 1e9))[place - 1][1]


def classical(name, x, y):
    z = differences(x, y)
    if name == "t-test":
        return 1.0 if not any(z) else 0.0 if stdev(z) <= 1e-12 else float(stats.ttest_rel(x, y).pvalue)
    if name == "wilcoxon":
        return wilcoxon([value for value in z if value])
    above, below = sum(value > 0 for value in z), sum(value < 0 for value in z)
    return float(stats.binomtest(above, above + below).pvalue) if above + below else 1.0


def wilcoxon(z):
    """The exact level, from the number of ways to get each sum of positive midranks."""
    ranks = [int(2 * rank) for rank in stats.rankdata([abs(value) for value in z])]
    ways = Counter({0: 1})
    for rank in ranks:
        ways += Counter({total + rank: number for total, number in ways.items()})
    own = sum(rank for rank, value in zip(ranks, z, strict=True) if value > 0)
    smaller = min(own, sum(ranks) - own)
    reached = sum(number for total, number in ways.items() if total <= smaller)
    return min(1.0, 2 * reached / 2.0 ** len(z))


def randomisation(x, y):
    """All ways of swapping, or as many as are drawn."""
    z = differences(x, y)
    own = abs(mean(z)) - 1e-9
    enumerated = len(z) <= 13
    signs = product((-1, 1), repeat=len(z)) if enumerated else Draws(SEED, "randomisation").signs(B, len(z)).tolist()
    count = sum(abs(mean([s * v for s, v in zip(row, z, strict=True)])) >= own for row in signs)
    return count / 2 ** len(z) if enumerated else (1 + count) / (1 + B)


def largest_differences(rows):
    """The best mean less the worst, runs permuted within each topic."""
    topics = len(rows[0])
    found = []
    for permutation in Draws(SEED, "randomised-tukey-hsd").permutations(B, topics, len(rows)).tolist():
        means = [
            sum(rows[permutation[topic][run]][topic] for topic in range(topics)) / topics for run in range(len(rows))
        ]
        found.append(max(means) - min(means))
    return found


def ranges(rows):
    """The best mean less the worst of runs that are shifted to the same mean, over topics drawn for all of them."""
    topics = len(rows[0])
    shifted = [[value - mean(row) for value in row] for row in rows]
    drawn = Draws(SEED, "bootstrap-range").resamples(B, topics).tolist()
    means = [[mean([row[topic] for topic in sample]) for row in shifted] for sample in drawn]
    found = sorted((math.sqrt(topics / (topics - 1)) * (max(own) - min(own)) for own in means), reverse=True)
    tails = [min(place / (B + 1), 0.999) / 2 for place in range(1, B + 1)]
    return [
        each * stats.t.isf(tail, topics - 1) / stats.norm.isf(tail) for each, tail in zip(found, tails, strict=True)
    ]


def asls(name, rows):
    """The level of every pair under a test."""
    pairs = list(combinations(rows, 2))
    if name == "paired-bootstrap":
        return [bootstrap_asl(*resampled_t(x, y)) for x, y in pairs]
    if name == "unpaired-bootstrap":
        return [bootstrap_asl(*resampled_welch(x, y)) for x, y in pairs]
    if name == "randomised-tukey-hsd":
        largest = largest_differences(rows)
        return [sum(each >= abs(mean(x) - mean(y)) - 1e-9 for each in largest) / B for x, y in pairs]
    if name == "bootstrap-range":
        spread = ranges(rows)
        reached = [sum(each >= abs(mean(x) - mean(y)) - 1e-9 for each in spread) for x, y in pairs]
        return [(1 + count) / (1 + B) for count in reached]
    if name == "randomisation":
        return [randomisation(x, y) for x, y in pairs]
    return [classical(name, x, y) for x, y in pairs]


def holm(levels):
    """The largest of what comes out for the smaller ones, at most 1."""
    ordered = sorted(levels)
    adjusted = dict.fromkeys(ordered, 0.0)
    highest = 0.0
    for place, level in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - place) * level))
        adjusted[level] = max(adjusted[level], highest)
    return [adjusted[level] for level in levels]
