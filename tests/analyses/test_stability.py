"""stability, against trials counted one by one."""

import numpy as np
import pytest

from gainboard.statistics.stability import shared_rate, ties_at
from tests.analyses.plain_trials import SEED, TRIALS, outcomes
from tests.world.groves import tables_of

METRICS = ["Q", "P@5", "nDCG@10"]
ASKED = {"metrics": METRICS, "trials": TRIALS, "seed": SEED}


@pytest.mark.parametrize("size", [5, 3])
def test_every_trial_counts_for_every_pair(answer, laboratory, size):
    found = answer("stability", **ASKED, per_pair=True, fuzziness=[0.1, 0, 0.02], subset_size=size)
    assert found["subset_size"] == size
    for metric in found["metrics"]:
        rows = laboratory.common(*METRICS)[metric["metric"]]
        assert [point["fuzziness"] for point in metric["curve"]] == [0, 0.02, 0.1]
        for place, point in enumerate(metric["curve"]):
            counts = outcomes(rows, point["fuzziness"], size)
            every = len(counts) * TRIALS
            minority = sum(min(count["greater"], count["less"]) for count in counts.values())
            assert point["minority_rate"] == minority / every
            assert point["proportion_of_ties"] == sum(count["equal"] for count in counts.values()) / every
            for pair, (runs, count) in zip(metric["pairs"], counts.items(), strict=True):
                assert pair["runs"] == [*runs]
                assert {name: pair[name][place] for name in count} == count


CURVES = [
    {"runs": "all", "fuzziness": [0.01, 0.1, 0.3]},
    {"runs": ["maple", "yew", "alder"], "fuzziness": [0.01, 0.1, 0.3]},
    {"runs": ["zelkova", "birch"], "fuzziness": [0.01, 0.1]},
    {"runs": ["maple", "alder"], "fuzziness": [0, 0.001]},
]


@pytest.mark.parametrize("way", CURVES, ids=str)
def test_metrics_are_compared_at_5_percent_and_at_a_rate_that_the_most_curves_have(answer, way):
    found = answer("stability", metrics=[*METRICS, "RR", "P@1"], trials=200, **way)
    metrics = {each["metric"]: each for each in found["metrics"]}
    curves = {
        label: np.array([(point["minority_rate"], point["proportion_of_ties"]) for point in each["curve"]]).T
        for label, each in metrics.items()
    }
    equal = shared_rate(np.array([rates for rates, _ in curves.values()]))
    assert found["equal_minority_rate"] == equal
    at_equal = {}
    for label, (rates, ties) in curves.items():
        proportion, crossed = ties_at(rates, ties)
        own = metrics[label]["ties_at_5_percent"]
        assert (own is None) == np.isnan(proportion)
        assert own is None or own == pytest.approx(proportion, abs=1e-12)
        assert metrics[label]["crossed"] == crossed
        if rates[-1] <= equal <= rates[0]:
            at_equal[label] = ties_at(rates, ties, equal).proportion
        assert metrics[label]["ties_at_equal_rate"] == at_equal.get(label)
    across = [label for label, each in metrics.items() if each["crossed"]]
    assert found["by_ties_at_5_percent"] == sorted(across, key=lambda label: metrics[label]["ties_at_5_percent"])
    assert found["by_ties_at_equal_rate"] == sorted(at_equal, key=lambda label: at_equal[label])
    ends = {label: curves[label][0] for label in curves if label not in across}
    assert found["below_5_percent"] == [label for label, rates in ends.items() if rates[0] < 0.05]
    assert found["above_5_percent"] == [label for label, rates in ends.items() if rates[-1] > 0.05]


def test_the_table_has_labelled_groups_and_all_metrics_at_the_equal_rate(answer):
    sections = set()
    for way in CURVES:
        found = answer("stability", metrics=[*METRICS, "RR", "P@1"], trials=200, **way)
        table = tables_of(found)[0]
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
