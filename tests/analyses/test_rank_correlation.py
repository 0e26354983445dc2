"""rank-correlation: coefficients are those of the means of all runs, each metric's over its own topics."""

from itertools import combinations
from statistics import stdev

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics import correlation
from gainboard.statistics.draws import Draws
from tests.world.groves import NO_RELEVANT, ONLY_LOW, tables_of

KIND = "rank-correlation"
METRICS = ["AP", "Q", "P@5", "RR", "nDCG@10"]
UNTIED = ["maple", "oak", "zelkova", "alder", "birch", "yew"]


def sign(difference):
    """-1, 0 or 1, where means that agree to 12 decimals are equal."""
    rounded = round(difference, 12)
    return (rounded > 0) - (rounded < 0)


def tau(one, other):
    """SciPy's, of the means of two metrics by run."""
    return stats.kendalltau(*([round(each[run], 12) for run in one] for each in (one, other))).statistic


def expected_matrix(laboratory, coefficient, runs=None):
    means = [laboratory.means(metric) for metric in METRICS]
    found = coefficient(np.array([[each[run] for run in runs or each] for each in means]))
    return [[None if np.isnan(value) else pytest.approx(value, abs=1e-12) for value in row] for row in found]


@pytest.mark.parametrize(
    ("asked", "runs", "expected"),
    [
        ({"coefficients": ["kendall"]}, None, correlation.kendall_matrix),
        ({"coefficients": ["kendall_a"]}, None, lambda means: correlation.kendall_matrix(means, "a")),
        ({"coefficients": ["spearman"]}, None, correlation.spearman_matrix),
        ({"coefficients": ["tau_ap"]}, UNTIED, correlation.tau_ap_matrix),
        ({"coefficients": ["tau_ap"]}, None, correlation.tau_ap_matrix),
        ({"coefficients": ["tau_ap"], "tau_ap_ties": "b"}, None, lambda own: correlation.tau_ap_matrix(own, ties="b")),
        ({"coefficients": ["rbo"], "p": 0.9}, UNTIED, lambda means: correlation.rbo_matrix(means, 0.9)),
        ({"coefficients": ["rbo"], "p": 0.5}, UNTIED, lambda means: correlation.rbo_matrix(means, 0.5)),
        ({"coefficients": ["rbo"], "rbo_ties": "a"}, None, lambda means: correlation.rbo_matrix(means, 0.9, "a")),
    ],
)
def test_a_coefficient_is_that_of_the_means_of_the_runs(answer, laboratory, asked, runs, expected):
    found = answer(KIND, metrics=METRICS, runs=runs or "all", **asked)
    assert found["metrics"] == [laboratory.label(metric) for metric in METRICS]
    (name,) = asked["coefficients"]
    assert found["coefficients"][name] == expected_matrix(laboratory, expected, runs)
    if name in ("kendall", "spearman"):
        asls = getattr(correlation, f"{name}_asls")
        assert found["p_values"][name] == expected_matrix(laboratory, asls, runs)


def test_a_table_says_why_a_coefficient_is_undefined_and_counts_the_tied_pairs(answer):
    found = answer(KIND, metrics=["AP", "RR"], coefficients=["kendall", "tau_ap"])
    assert found["coefficients"]["tau_ap"] == [[None, None]] * 2
    kendall, other, *_ = tables_of(found)
    assert (len(kendall.notes), len(other.notes)) == (0, 1)
    assert f"Tied pairs: AP ({found['ties']['AP']}), RR ({found['ties']['RR']})." in other.notes[0]


def test_ties_and_swops_are_counted_pair_by_pair(answer, laboratory):
    found = answer(KIND, metrics=METRICS, against="nDCG@5")
    reference = laboratory.means("nDCG@5")
    assert found["against"] == found["metrics"][-1] == laboratory.label("nDCG@5")
    for metric in [*METRICS, "nDCG@5"]:
        label, means = laboratory.label(metric), laboratory.means(metric)
        pairs = combinations(sorted(means), 2)
        signs = {(x, y): (sign(means[x] - means[y]), sign(reference[x] - reference[y])) for x, y in pairs}
        assert found["ties"][label] == sum(own == 0 for own, _ in signs.values())
        assert found["swops"][label] == [[*pair] for pair, (own, other) in signs.items() if own * other < 0]
        assert found["half_ties"][label] == sum((own == 0) != (other == 0) for own, other in signs.values())
    assert any(found["swops"].values())
    assert any(found["half_ties"].values())


SWEEPS = [
    {"metric": "Q", "parameter": "beta", "values": [0, 0.1, 1, 1000], "against": ["AP", "Q"]},
    {"metric": "nDCG@10", "parameter": "base", "values": [2, 2.5, 10], "against": ["nCG@10", "nDCG@10"]},
    {"metric": "Q", "parameter": "gains", "values": ["3:2:1", "exp", "1:1:1", "adjust(3:2:1)"], "against": ["AP"]},
]


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep["parameter"])
def test_a_sweep_is_a_correlation_for_each_value(answer, laboratory, sweep):
    found = answer(KIND, metrics=["P@5"], sweep=sweep, coefficients=["kendall", "tau_ap"])["sweep"]
    assert found["values"] == sweep["values"]
    for value, label in zip(sweep["values"], found["labels"], strict=True):
        assert f"{sweep['parameter']}={value}" in label
    for against in sweep["against"]:
        curve = found["against"][laboratory.label(against)]
        theirs = [tau(laboratory.means(against), laboratory.means(label)) for label in found["labels"]]
        assert curve["kendall"] == pytest.approx(theirs, abs=1e-12)
        assert set(curve["tau_ap"]) == {None}  # two runs are always tied


def test_the_accuracy_of_a_tau_is_its_spread_over_topic_resamples(answer, laboratory):
    runs = ["yew", "maple", "hazel", "oak"]
    asked = {"metrics": ["AP", "P@5", "RR"], "runs": runs, "accuracy": True, "resamples": 150, "seed": 7}
    found = answer(KIND, **asked)
    scores = laboratory.common("AP", "P@5", "RR", runs=runs)
    topics = len(next(iter(scores["AP"].values())))
    taus = {pair: [] for pair in combinations(scores, 2)}
    for block, size in ((0, 100), (1, 50)):
        for drawn in Draws(7, KIND, block).resamples(size, topics).tolist():
            means = {
                label: {run: sum(row[topic] for topic in drawn) / topics for run, row in rows.items()}
                for label, rows in scores.items()
            }
            for (one, other), values in taus.items():
                values.append(tau(means[one], means[other]))
    accuracy = found["accuracy"]
    assert (found["resamples"], found["seed"], accuracy["topics"]) == (150, 7, topics)
    for (one, other), values in taus.items():
        row, column = found["metrics"].index(one), found["metrics"].index(other)
        kept = [value for value in values if not np.isnan(value)]
        assert accuracy["dropped"][row][column] == accuracy["dropped"][column][row] == 150 - len(kept)
        assert accuracy["standard_error"][row][column] == pytest.approx(stdev(kept), abs=1e-12)
        low, high = np.percentile(kept, [2.5, 97.5])
        assert (accuracy["low"][row][column], accuracy["high"][row][column]) == pytest.approx((low, high), abs=1e-12)
    assert accuracy["dropped"][0][2] > 0


def test_topics_are_left_out_for_the_metric_that_is_undefined_there(answer):
    sweep = {"metric": "Q", "parameter": "gains", "values": ["3:2:0"], "against": ["AP"]}
    found = answer(KIND, metrics=["AP", "AP(rel=2)"], sweep=sweep)
    undefined = {
        "AP": [NO_RELEVANT],
        "AP(rel=2)": [ONLY_LOW, NO_RELEVANT],
        "Q(beta=1,gains=3:2:0)": [ONLY_LOW, NO_RELEVANT],
    }
    assert (found["topics"], found["topics_undefined"]) == (12, undefined)
    assert found["topics_scored"] == {label: 12 - len(topics) for label, topics in undefined.items()}
