"""rank-correlation, against the definitions worked with loops over runs."""

from itertools import combinations
from statistics import stdev

import numpy as np
import pytest
from scipy import stats

from gainboard.exhibits import Table
from gainboard.statistics.draws import Draws
from tests.analyses.plain_correlation import rbo, sign, tau, tau_ap, tau_ap_b
from tests.world.groves import NO_RELEVANT, ONLY_LOW, tables_of

METRICS = ["AP", "Q", "P@5", "RR", "nDCG@10"]


def matrix(laboratory, coefficient, runs=None):
    """A coefficient between every two of the metrics."""
    means = [laboratory.means(metric) for metric in METRICS]
    chosen = [{run: mean for run, mean in each.items() if runs is None or run in runs} for each in means]
    return [[coefficient(one, other) for other in chosen] for one in chosen]


def flat(values):
    return [value for row in values for value in row]


def assert_close(ours, theirs):
    for one, other in zip(flat(ours), flat(theirs), strict=True):
        assert one == (other if other is None else pytest.approx(other, abs=1e-12))


@pytest.mark.parametrize(("name", "variant"), [("kendall", "b"), ("kendall_a", "a")])
def test_kendalls_tau_counts_pairs_of_runs(answer, laboratory, name, variant):
    found = answer("rank-correlation", metrics=METRICS, coefficients=[name])
    assert_close(found["coefficients"][name], matrix(laboratory, lambda one, other: tau(one, other, variant)))
    assert found["metrics"] == [laboratory.label(metric) for metric in METRICS]


def test_spearmans_rho_and_both_significance_levels_are_scipys(answer, laboratory):
    found = answer("rank-correlation", metrics=METRICS)

    def level(test):
        return lambda x, y: test(*(np.round(list(each.values()), 12) for each in (x, y)))

    rho, tau_b = level(stats.spearmanr), level(stats.kendalltau)
    assert_close(found["coefficients"]["spearman"], matrix(laboratory, lambda x, y: float(rho(x, y).statistic)))
    assert_close(found["p_values"]["spearman"], matrix(laboratory, lambda x, y: float(rho(x, y).pvalue)))
    assert_close(found["p_values"]["kendall"], matrix(laboratory, lambda x, y: float(tau_b(x, y).pvalue)))


def test_the_row_is_the_reference_of_tau_ap(answer, laboratory):
    runs = ["maple", "oak", "zelkova", "alder", "birch", "yew"]
    found = answer("rank-correlation", metrics=METRICS, runs=runs, coefficients=["tau_ap"])["coefficients"]["tau_ap"]
    assert_close(found, matrix(laboratory, tau_ap, runs))
    assert found != [list(column) for column in zip(*found, strict=True)]
    assert None in flat(found)


def test_ties_leave_tau_ap_undefined_unless_their_form_is_asked_for(answer, laboratory):
    asked = {"metrics": METRICS, "coefficients": ["tau_ap"]}
    plain = answer("rank-correlation", **asked)
    tied = answer("rank-correlation", **asked, tau_ap_ties="b")
    assert set(flat(plain["coefficients"]["tau_ap"])) == {None}
    assert min(plain["ties"].values()) >= 1
    assert_close(tied["coefficients"]["tau_ap"], matrix(laboratory, tau_ap_b))


@pytest.mark.parametrize("p", [0.9, 0.5])
def test_rank_biased_overlap_is_defined_where_there_are_no_ties(answer, laboratory, p):
    runs = ["maple", "oak", "zelkova", "alder", "birch", "yew"]
    found = answer("rank-correlation", metrics=METRICS, runs=runs, coefficients=["rbo"], p=p)
    assert_close(found["coefficients"]["rbo"], matrix(laboratory, lambda one, other: rbo(one, other, p), runs))
    assert len(set(flat(found["coefficients"]["rbo"])) - {None}) > 1
    assert found["p"] == p


@pytest.mark.parametrize("name", ["tau_ap", "rbo"])
def test_a_table_says_why_a_coefficient_is_undefined_and_counts_the_tied_pairs(answer, name):
    found = answer("rank-correlation", metrics=["AP", "RR"], coefficients=["kendall", name])
    assert set(flat(found["coefficients"][name])) == {None}
    kendall, other, *_ = tables_of(found)
    assert isinstance(kendall, Table)
    assert isinstance(other, Table)
    assert (len(kendall.notes), len(other.notes)) == (0, 1)
    assert f"Tied pairs: AP ({found['ties']['AP']}), RR ({found['ties']['RR']})." in other.notes[0]


def test_means_follow_the_order_of_the_first_metric(answer, laboratory):
    found = answer("rank-correlation", metrics=METRICS)
    first = laboratory.means("AP")
    assert found["runs"] == sorted(first, key=lambda run: (-round(first[run], 12), run))
    assert found["runs"] != sorted(first)
    for metric in METRICS:
        theirs = laboratory.means(metric)
        assert found["means"][laboratory.label(metric)] == pytest.approx(
            [theirs[run] for run in found["runs"]], abs=1e-12
        )


def test_ties_and_swops_are_counted_pair_by_pair(answer, laboratory):
    found = answer("rank-correlation", metrics=METRICS, against="nDCG@5")
    reference = laboratory.means("nDCG@5")
    assert found["against"] == found["metrics"][-1] == laboratory.label("nDCG@5")
    for metric in [*METRICS, "nDCG@5"]:
        label, means = laboratory.label(metric), laboratory.means(metric)
        signs = {(x, y): (sign(means[x] - means[y]), sign(reference[x] - reference[y])) for x, y in pairs(means)}
        assert found["ties"][label] == sum(own == 0 for own, _ in signs.values())
        swops = [[*pair] for pair, (own, other) in signs.items() if own * other < 0]
        assert found["swops"][label] == swops
        assert found["half_ties"][label] == sum((own == 0) != (other == 0) for own, other in signs.values())
    assert any(found["swops"].values())
    assert any(found["half_ties"].values())


def pairs(means):
    return list(combinations(sorted(means), 2))


SWEEPS = [
    {"metric": "Q", "parameter": "beta", "values": [0, 0.1, 1, 1000], "against": ["AP", "Q"]},
    {"metric": "nDCG@10", "parameter": "base", "values": [2, 2.5, 10], "against": ["nCG@10", "nDCG@10"]},
    {"metric": "Q", "parameter": "gains", "values": ["3:2:1", "exp", "1:1:1", "adjust(3:2:1)"], "against": ["AP"]},
]


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep["parameter"])
def test_a_sweep_is_a_correlation_for_each_value(answer, laboratory, sweep):
    found = answer("rank-correlation", metrics=["P@5"], sweep=sweep, coefficients=["kendall", "tau_ap"])["sweep"]
    assert found["values"] == sweep["values"]
    parameter = sweep["parameter"]
    for value, label in zip(sweep["values"], found["labels"], strict=True):
        assert f"{parameter}={value}" in label
    for against in sweep["against"]:
        curve = found["against"][laboratory.label(against)]
        means = [laboratory.means(label) for label in found["labels"]]
        theirs = [tau(laboratory.means(against), each) for each in means]
        assert curve["kendall"] == pytest.approx(theirs, abs=1e-12)
        assert curve["tau_ap"] == [tau_ap(laboratory.means(against), each) for each in means]


def test_the_accuracy_of_a_tau_is_its_spread_over_topic_resamples(answer, laboratory):
    runs = ["yew", "maple", "hazel", "oak"]
    asked = {"metrics": ["AP", "P@5", "RR"], "runs": runs, "accuracy": True, "resamples": 150, "seed": 7}
    found = answer("rank-correlation", **asked)
    scores = laboratory.common("AP", "P@5", "RR", runs=runs)
    topics = len(next(iter(scores["AP"].values())))
    taus = {pair: [] for pair in combinations(scores, 2)}
    for block, size in ((0, 100), (1, 50)):
        for drawn in Draws(7, "rank-correlation", block).resamples(size, topics).tolist():
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
        kept = [value for value in values if value is not None]
        assert accuracy["dropped"][row][column] == accuracy["dropped"][column][row] == 150 - len(kept)
        assert accuracy["standard_error"][row][column] == pytest.approx(stdev(kept), abs=1e-12)
        low, high = np.percentile(kept, [2.5, 97.5])
        assert (accuracy["low"][row][column], accuracy["high"][row][column]) == pytest.approx((low, high), abs=1e-12)
    assert accuracy["dropped"][0][2] > 0


def test_a_metric_that_ties_all_runs_correlates_with_nothing(answer):
    every = ["kendall", "kendall_a", "spearman", "tau_ap", "rbo"]
    asked = {"metrics": ["AP", "Q"], "runs": ["yew", "hazel"]}
    found = answer("rank-correlation", **asked, coefficients=every)
    for name in ("kendall", "spearman", "tau_ap"):
        assert found["coefficients"][name] == [[None, None]] * 2
    assert found["coefficients"]["kendall_a"] == [[0, 0]] * 2
    assert found["p_values"] == {"kendall": [[None, None]] * 2, "spearman": [[None, None]] * 2}
    assert found["ties"] == dict.fromkeys(found["metrics"], 1)


def test_topics_are_left_out_for_the_metric_that_is_undefined_there(answer, laboratory):
    sweep = {"metric": "Q", "parameter": "gains", "values": ["3:2:0"], "against": ["AP"]}
    found = answer("rank-correlation", metrics=["AP", "AP(rel=2)"], sweep=sweep)
    assert found["topics"] == 12
    assert found["topics_undefined"] == {
        "AP": [NO_RELEVANT],
        "AP(rel=2)": [ONLY_LOW, NO_RELEVANT],
        "Q(beta=1,gains=3:2:0)": [ONLY_LOW, NO_RELEVANT],
    }
    assert found["topics_scored"] == {"AP": 11, "AP(rel=2)": 10, "Q(beta=1,gains=3:2:0)": 10}


def test_geometric_means_rank_runs_too(answer, laboratory):
    found = answer("rank-correlation", metrics=["AP", "AP(mean=geometric)"])
    row = next(iter(laboratory.scores("AP").values()))
    for run, mean in zip(found["runs"], found["means"]["AP(mean=geometric)"], strict=True):
        logs = [np.log(max(value, 1e-5)) for value in row[run].values() if value is not None]
        assert mean == pytest.approx(np.exp(sum(logs) / len(logs)), abs=1e-12)


def test_an_increase_in_the_curve_of_means_is_a_swop(answer):
    found = answer("rank-correlation", metrics=METRICS, against="AP")
    first = found["means"]["AP"]
    for label, means in found["means"].items():
        for place, run in enumerate(found["runs"][1:], start=1):
            rises = sign(means[place] - means[place - 1]) > 0 > sign(first[place] - first[place - 1])
            assert rises == (sorted((found["runs"][place - 1], run)) in found["swops"][label])
    assert any(found["swops"].values())
