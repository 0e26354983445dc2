"""The exact level of the signed-rank test of one pair of runs, from its definition."""

from collections import Counter

from scipy import stats


def wilcoxon(z):
    """The exact level, from the number of ways to get each sum of positive midranks."""
    ranks = [int(2 * rank) for rank in stats.rankdata([abs(value) for value in z])]
    ways = Counter({0: 1})
    for rank in ranks:
        ways += Counter({total + rank: number for total, number in ways.items()})
    own = sum(rank for rank, value in zip(ranks, z, strict=True) if value > 0)
    smaller = min(own, sum(ranks) - own)
    return min(1.0, 2 * sum(number for total, number in ways.items() if total <= smaller) / 2.0 ** len(z))
