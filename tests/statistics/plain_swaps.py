"""The rules by which a difference required is read off swap rates, in exact fractions and plain loops."""

from fractions import Fraction


def plain_isotonic(swaps, comparisons):
    """Each rate is the least, over starts up to it, of the greatest pooled rate to an end from it on (max-min)."""
    places = range(len(swaps))
    pooled = {
        (low, high): Fraction(sum(swaps[low : high + 1]), sum(comparisons[low : high + 1]))
        for low in places
        for high in places[low:]
    }
    return [min(max(pooled[low, high] for high in places[place:]) for low in places[: place + 1]) for place in places]


def plain_bin(comparisons, swaps, rule):
    """The bin that decides, from the words of the rule, in whole numbers."""
    limit = Fraction(1, 20)
    populated = [place for place in range(21) if comparisons[place]]
    dense = [place for place in populated if comparisons[place] >= 100]
    rates = {place: Fraction(swaps[place], comparisons[place]) for place in populated}
    smooth = dict(
        zip(dense, plain_isotonic([swaps[each] for each in dense], [comparisons[each] for each in dense]), strict=True)
    )
    for place in populated if rule == "all-higher" else dense:
        is_sure = {
            "first": rates[place] <= limit,
            "pooled": Fraction(sum(swaps[place:]), sum(comparisons[place:])) <= limit,
            "isotonic": smooth.get(place, 1) <= limit,
            "all-higher": all(rates[other] <= limit for other in populated if other >= place),
        }
        if is_sure[rule]:
            return place
    return None
