"""stability, against trials counted one by one."""

from itertools import pairwise

import pytest

from gainboard.exhibits import Table
from tests.analyses.plain_trials import SEED, TRIALS, outcomes
from tests.world.groves import NO_RELEVANT, tables_of

METRICS = ["Q", "P@5", "nDCG@10"]
ASKED = {"metrics": METRICS, "trials": TRIALS, "seed": SEED}


def test_every_trial_counts_for_every_pair(answer, laboratory):
    found = answer("stability", **ASKED, per_pair=True, fuzziness=[0.1, 0, 0.02])
    assert found["subset_size"] == 5
    for metric in found["metrics"]:
        rows = laboratory.common(*METRICS)[metric["metric"]]
        assert [point["fuzziness"] for point in metric["curve"]] == [0, 0.02, 0.1]
        for place, point in enumerate(metric["curve"]):
            counts = outcomes(rows, point["fuzziness"], 5)
            every = len(counts) * TRIALS
            minority = sum(min(count["greater"], count["less"]) for count in counts.values())
            assert point["minority_rate"] == minority / every
            assert point["proportion_of_ties"] == sum(count["equal"] for count in counts.values()) / every
            for pair, (runs, count) in zip(metric["pairs"], counts.items(), strict=True):
                assert pair["runs"] == [*runs]
                assert {name: pair[name][place] for name in count} == count


def test_another_size_of_subsets(answer, laboratory):
    found = answer("stability", **ASKED, subset_size=3, fuzziness=[0.05])
    for metric in found["metrics"]:
        counts = outcomes(laboratory.common(*METRICS)[metric["metric"]], 0.05, 3)
        ties = sum(count["equal"] for count in counts.values())
        assert metric["curve"][0]["proportion_of_ties"] == ties / (len(counts) * TRIALS)
    assert found["subset_size"] == 3


def at_5_percent(curve):
    """Where the curve first comes down to a minority rate of 5 %."""
    rates = [point["minority_rate"] for point in curve]
    ties = [point["proportion_of_ties"] for point in curve]
    if rates[0] <= 0.05:
        return ties[0], rates[0] == 0.05
    for place in range(1, len(curve)):
        if rates[place] <= 0.05:
            share = (rates[place - 1] - 0.05) / (rates[place - 1] - rates[place])
            return ties[place - 1] + share * (ties[place] - ties[place - 1]), True
    return None, False


CURVES = [
    {"runs": "all", "fuzziness": [0.01, 0.1, 0.3]},
    {"runs": ["maple", "yew", "alder"], "fuzziness": [0.01, 0.1, 0.3]},
    {"runs": ["zelkova", "birch"], "fuzziness": [0.01, 0.1]},
    {"runs": ["maple", "alder"], "fuzziness": [0, 0.001]},
]


@pytest.mark.parametrize("way", CURVES, ids=str)
def test_ties_at_5_percent_lie_on_the_curve(answer, way):
    found = answer("stability", metrics=[*METRICS, "RR", "P@1"], trials=200, **way)
    ties = {}
    for metric in found["metrics"]:
        proportion, crossed = at_5_percent(metric["curve"])
        ties[metric["metric"]] = proportion
        assert metric["ties_at_5_percent"] == (None if proportion is None else pytest.approx(proportion, abs=1e-12))
        assert metric["crossed"] == crossed
    across = {each["metric"]: ties[each["metric"]] for each in found["metrics"] if each["crossed"]}
    assert found["by_ties_at_5_percent"] == sorted(across, key=lambda label: across[label] or 0)
    ends = {each["metric"]: each["curve"] for each in found["metrics"] if not each["crossed"]}
    below = [label for label, curve in ends.items() if curve[0]["minority_rate"] < 0.05]
    above = [label for label, curve in ends.items() if curve[-1]["minority_rate"] > 0.05]
    assert (found["below_5_percent"], found["above_5_percent"]) == (below, above)
    assert len(across) + len(below) + len(above) == len(found["metrics"])


def at_rate(curve, rate):
    """The first proportion of ties at a minority rate, None if the curve does not have it."""
    points = [(point["minority_rate"], point["proportion_of_ties"]) for point in curve]
    for (high, fewer), (low, more) in pairwise([points[0], *points]):
        if low <= rate <= high:
            return more if high == low else fewer + (more - fewer) * (high - rate) / (high - low)
    return None


@pytest.mark.parametrize("way", CURVES, ids=str)
def test_metrics_are_compared_at_a_rate_that_the_most_curves_have(answer, way):
    found = answer("stability", metrics=[*METRICS, "RR", "P@1"], trials=200, **way)
    ties = {each["metric"]: at_rate(each["curve"], found["equal_minority_rate"]) for each in found["metrics"]}
    for each in found["metrics"]:
        expected = ties[each["metric"]]
        assert each["ties_at_equal_rate"] == (None if expected is None else pytest.approx(expected, abs=1e-12))
    known = {label: share for label, share in ties.items() if share is not None}
    assert found["by_ties_at_equal_rate"] == sorted(known, key=lambda label: known[label])
    rates = {point["minority_rate"] for each in found["metrics"] for point in each["curve"]} | {0.05}
    on = {rate: sum(at_rate(each["curve"], rate) is not None for each in found["metrics"]) for rate in rates}
    assert len(known) == max(on.values())


def test_the_table_has_labelled_groups_and_all_metrics_at_the_equal_rate(answer):
    sections = set()
    for way in CURVES:
        found = answer("stability", metrics=[*METRICS, "RR", "P@1"], trials=200, **way)
        table = tables_of(found)[0]
        assert isinstance(table, Table)
        own = {str(row[1]): str(row[0]) for row in table.rows}
        assert [label for label, group in own.items() if group == "crosses 5 %"] == found["by_ties_at_5_percent"]
        for name, group in (("below_5_percent", "below"), ("above_5_percent", "above")):
            assert {label for label in own if own[label].startswith(group)} == set(found[name])
        assert all((row[2] is None) == (row[0] != "crosses 5 %") for row in table.rows)
        metrics = {each["metric"]: each["ties_at_equal_rate"] for each in found["metrics"]}
        assert {str(row[1]): row[3] for row in table.rows} == metrics
        missing = [label for label, ties in metrics.items() if ties is None]
        assert table.notes[0].endswith("all metrics can be compared.") == (not missing)
        assert all(label in table.notes[0] for label in missing)
        sections.update(own.values())
    assert len(sections) == 3


def test_curves_cross_5_percent_or_lie_below_or_above_it(answer):
    ways = [answer("stability", metrics=[*METRICS, "RR", "P@1"], trials=200, **way) for way in CURVES]
    found = [(each["ties_at_5_percent"] is None, each["crossed"]) for way in ways for each in way["metrics"]]
    assert set(found) == {(False, True), (False, False), (True, False)}


def test_the_papers_fuzziness_and_trials_are_the_defaults(answer):
    found = answer("stability", metrics=["AP"])
    assert [point["fuzziness"] for point in found["metrics"][0]["curve"]] == [step / 100 for step in range(1, 11)]
    assert (found["trials"], found["seed"], found["topics"]) == (1000, 0, 11)
    assert (found["topics_left_out"], found["subset_size"]) == ([NO_RELEVANT], 5)


def test_runs_that_rank_alike_are_always_tied(answer):
    found = answer("stability", **ASKED, runs=["hazel", "yew"])
    for metric in found["metrics"]:
        assert all(point["proportion_of_ties"] == 1 and not point["minority_rate"] for point in metric["curve"])
