"""Stability and swap rates, with loops over trials and pairs of runs, from their definitions."""

import math
from itertools import combinations

from gainboard.statistics.draws import Draws
from tests.statistics.plain_swaps import plain_bin

TRIALS, SEED = 60, 5


def mean_over(row, topics):
    return math.fsum(row[topic] for topic in topics) / len(topics)


def topics_of(rows):
    return len(next(iter(rows.values())))


def outcomes(rows, fuzziness, size):
    counts = {pair: {"greater": 0, "less": 0, "equal": 0} for pair in combinations(rows, 2)}
    for topics in Draws(SEED, "stability subsets").subsets(TRIALS, topics_of(rows), size).tolist():
        means = {run: mean_over(row, topics) for run, row in rows.items()}
        for (x, y), count in counts.items():
            difference, margin = means[x] - means[y], fuzziness * max(means[x], means[y])
            is_equal = abs(difference) < margin - 1e-9 or abs(difference) <= 1e-9
            count["equal" if is_equal else "greater" if difference > 0 else "less"] += 1
    return counts


def halves(topics, size, replacement):
    """The two sets of each trial."""
    draws = Draws(SEED, "swap subsets")
    if replacement:
        first, second = (draws.resamples(TRIALS, topics)[:, :size].tolist() for _ in range(2))
        return list(zip(first, second, strict=True))
    both = draws.subsets(TRIALS, topics, 2 * size).tolist()
    return [(row[:size], row[size:]) for row in both]


def sign(difference):
    return (difference > 1e-9) - (difference < -1e-9)


class Swaps:
    """Comparisons and swaps by bin, swaps by pair, and the largest mean."""

    def __init__(self, rows, size, *, replacement=False, strict=True):
        self.comparisons, self.swaps, self.largest = [0] * 21, [0] * 21, 0.0
        self.by_pair = dict.fromkeys(combinations(rows, 2), 0)
        for sets in halves(topics_of(rows), size, replacement):
            one, other = ({run: mean_over(row, topics) for run, row in rows.items()} for topics in sets)
            self.largest = max(self.largest, *one.values(), *other.values())
            for x, y in self.by_pair:
                difference = one[x] - one[y]
                signs = sign(difference), sign(other[x] - other[y])
                place = min(20, int((abs(difference) + 1e-9) * 100))
                is_swap = signs[0] != signs[1] if strict else signs[0] * signs[1] < 0
                self.comparisons[place] += 1
                self.swaps[place] += is_swap
                self.by_pair[x, y] += is_swap

    def required(self, rule="first"):
        """The lower edge of the bin that decides."""
        place = plain_bin(self.comparisons, self.swaps, rule)
        return None if place is None else place / 100
