"""Metrics in bands of their proportion of ties, and ranked at an equal minority rate."""

from gainboard.analyses.reports.reliability_of_graded_metrics import bands, ranked
from gainboard.analyses.stability import StabilityOfMetric, StabilityResult

BELOW, ABOVE = "below 5 % at every fuzziness", "above 5 % at every fuzziness"


def metric(name, ties, crossed=True, equal=None):
    return StabilityOfMetric.model_construct(
        metric=name, curve=[], ties_at_5_percent=ties, crossed=crossed, ties_at_equal_rate=equal
    )


FOUND = [
    metric("P@10", 1.0, equal=1.0),
    metric("AP", 0.05, equal=0.11),
    metric("RR", None, False, 0.4),
    metric("ERR", None, False),
    metric("Q", 0.049, equal=0.12),
    metric("P@5", 0.96, False, 0.3),
    metric("nDCG@5", 0.97, False, 0.2),
    metric("AWP", 0.96),
]


def test_a_band_has_its_lower_end_and_only_the_last_one_its_upper_end():
    assert bands(FOUND, "web").rows == [
        ("web", "0.00 to 0.05", "Q 0.049"),
        ("web", "0.05 to 0.10", "AP 0.050"),
        ("web", "0.95 to 1.00", "AWP 0.960, P@10 1.000"),
        ("web", BELOW, "nDCG@5, P@5"),
        ("web", ABOVE, "RR, ERR"),
    ]


def test_all_metrics_are_ranked_at_the_equal_rate_and_those_without_it_are_last():
    assert ranked(StabilityResult.model_construct(equal_minority_rate=0.04, metrics=FOUND), "web").rows == [
        ("web", "AP", "0.05 to 0.10", 0.05, 0.04, 0.11),
        ("web", "Q", "0.00 to 0.05", 0.049, 0.04, 0.12),
        ("web", "nDCG@5", BELOW, None, 0.04, 0.2),
        ("web", "P@5", BELOW, None, 0.04, 0.3),
        ("web", "RR", ABOVE, None, 0.04, 0.4),
        ("web", "P@10", "0.95 to 1.00", 1.0, 0.04, 1.0),
        ("web", "AWP", "0.95 to 1.00", 0.96, None, None),
        ("web", "ERR", ABOVE, None, None, None),
    ]
