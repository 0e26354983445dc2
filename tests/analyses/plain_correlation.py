"""Rank correlation of two metrics, with loops over runs, from the definitions."""

from itertools import combinations


def sign(difference):
    """-1, 0 or 1, where means that agree to 12 decimals are equal."""
    rounded = round(difference, 12)
    return (rounded > 0) - (rounded < 0)


def tau(one, other, variant="b"):
    """Kendall's tau by counting pairs."""
    signs = [(sign(one[x] - one[y]), sign(other[x] - other[y])) for x, y in combinations(one, 2)]
    untied = [sum(pair[side] != 0 for pair in signs) for side in (0, 1)] if variant == "b" else [len(signs)] * 2
    product = sum(first * second for first, second in signs)
    return product / (untied[0] * untied[1]) ** 0.5 if all(untied) else None


def tau_ap(reference, estimate):
    """Yilmaz and others, by positions in the estimate; None where there are ties."""
    if has_ties(reference) or has_ties(estimate):
        return None
    order = sorted(estimate, key=lambda run: -estimate[run])
    shares = [
        sum(reference[above] > reference[run] for above in order[:place]) / place
        for place, run in enumerate(order)
        if place
    ]
    return 2 / (len(order) - 1) * sum(shares) - 1


def tau_ap_b(one, other):
    """Urbano and Marrero: runs strictly above only, both directions."""
    values = []
    for reference, estimate in ((one, other), (other, one)):
        above = {run: [up for up in estimate if sign(estimate[up] - estimate[run]) > 0] for run in estimate}
        below_first = [run for run in estimate if above[run]]
        agreed = {
            run: sum(sign(reference[up] - reference[run]) for up in above[run]) / len(above[run]) for run in below_first
        }
        untied = {
            run: sum(sign(reference[up] - reference[run]) != 0 for up in above[run]) / len(above[run])
            for run in below_first
        }
        concordant = sum((agreed[run] + untied[run]) / 2 for run in below_first)
        values.append(2 / len(below_first) * concordant - 1)
    return sum(values) / 2


def has_ties(means):
    """Whether two runs have equal means."""
    return any(sign(means[x] - means[y]) == 0 for x, y in combinations(means, 2))


def rbo(one, other, p):
    """Webber, Moffat and Zobel, extrapolated; None where there are ties."""
    if has_ties(one) or has_ties(other):
        return None
    first, second = (sorted(each, key=lambda run: -each[run]) for each in (one, other))
    runs = len(first)
    overlap = [len({*first[:depth]} & {*second[:depth]}) for depth in range(1, runs + 1)]
    series = sum(shared / depth * p**depth for depth, shared in enumerate(overlap, start=1))
    return overlap[-1] / runs * p**runs + (1 - p) / p * series
