"""Krippendorff's alpha from its definition, value by value."""

from collections import Counter
from itertools import permutations


def alpha(units, measurement):
    """1 minus observed over expected disagreement; `units` are the values that each unit has got."""
    used = [unit for unit in units if len(unit) > 1]
    counts = Counter(value for unit in used for value in unit)
    total = sum(counts.values())

    def disagreement(one, other):
        if measurement == "nominal":
            return float(one != other)
        if measurement == "interval":
            return float((one - other) ** 2)
        low, high = sorted((one, other))
        between = sum(count for value, count in counts.items() if low <= value <= high)
        return float((between - (counts[low] + counts[high]) / 2) ** 2) if low != high else 0.0

    pairs = [Counter(permutations(unit, 2)) for unit in used]
    observed = sum(
        count * disagreement(*pair) / (len(unit) - 1)
        for unit, each in zip(used, pairs, strict=True)
        for pair, count in each.items()
    )
    expected = sum(
        counts[one] * (counts[other] - (one == other)) * disagreement(one, other) for one in counts for other in counts
    )
    return 1 - observed / total / (expected / (total * (total - 1)))
