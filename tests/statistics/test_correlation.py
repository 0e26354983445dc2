"""Rank correlation of metrics: Kendall, Spearman, AP correlation, rank-biased overlap, and swops."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.agreement import discordant_pairs
from gainboard.statistics.correlation import (
    kendall_asls,
    kendall_matrix,
    least_significant_tau,
    rbo_matrix,
    spearman_asls,
    spearman_matrix,
    tau_ap_matrix,
)
from gainboard.statistics.means import round_scores, tied_pairs

from .reliability import GOLDEN


def tied_means(seed=3, metrics=6, runs=17):
    """Means in tenths: many ties, some over three runs and more."""
    return np.random.default_rng(seed).integers(0, 10, (metrics, runs)) / 10


def untied_means(seed=4, metrics=6, runs=17):
    return np.random.default_rng(seed).random((metrics, runs))


def golden_means(name):
    return np.array([GOLDEN[name]["x"], GOLDEN[name]["y"]])


def tau_ap_b(means):
    return tau_ap_matrix(means, ties="b")


COEFFICIENTS = (kendall_matrix, spearman_matrix, tau_ap_matrix, tau_ap_b, rbo_matrix)


@pytest.mark.parametrize("name", ["corr_ties", "corr_noties"])
def test_the_worked_examples_come_out(name):
    means, expected = golden_means(name), GOLDEN[name]
    assert kendall_matrix(means)[0, 1] == expected["tau_b"]
    assert kendall_matrix(means, "a")[0, 1] == expected["tau_a"]
    assert spearman_matrix(means)[0, 1] == pytest.approx(expected["spearman"], abs=1e-15)
    if name == "corr_noties":
        tau = tau_ap_matrix(means)
        assert [tau[1, 0], tau[0, 1]] == pytest.approx(
            [expected[f"tauAP_est_{each}"] for each in ("x_truth_y", "y_truth_x")]
        )


@pytest.mark.parametrize("means", [tied_means(), untied_means(), tied_means(9, 3, 50)])
def test_tau_and_rho_are_scipys_with_their_significance(means):
    ours = (kendall_matrix(means), kendall_asls(means), spearman_matrix(means), spearman_asls(means))
    for i, j in np.ndindex(len(means), len(means)):
        tau, rho = stats.kendalltau(means[i], means[j]), stats.spearmanr(means[i], means[j])
        expected = (tau.statistic, tau.pvalue, rho.statistic, rho.pvalue)
        assert [matrix[i, j] for matrix in ours] == pytest.approx(expected, rel=1e-9 if i == j else 1e-12, abs=1e-12)


@pytest.mark.parametrize("runs", [2, 3, 17, 33, 34, 170, 171])
def test_the_levels_of_tau_are_scipys_for_any_number_of_runs_with_and_without_ties(runs):
    swapped = np.arange(runs)[::-1].copy()
    swapped[:2] = swapped[:2][::-1]
    means = np.vstack((untied_means(5, 2, runs), tied_means(5, 2, runs), np.arange(runs), swapped, np.zeros(runs)))
    for i, row in enumerate(kendall_asls(means.astype(np.float64))):
        with np.errstate(all="ignore"):
            expected = [stats.kendalltau(means[i], other).pvalue for other in means]
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-300)


def test_ap_correlation_takes_the_row_as_the_reference():
    means = untied_means()
    tau = tau_ap_matrix(means)
    for i, j in np.ndindex(tau.shape):
        assert tau[i, j] == pytest.approx(plain_tau_ap(means[i], means[j]), abs=1e-12)
    assert not np.allclose(tau, tau.T)


def test_ap_correlation_with_ties_is_the_mean_of_both_directions():
    means = np.vstack((tied_means(), untied_means()))
    tau = tau_ap_b(means)
    for i, j in np.ndindex(tau.shape):
        both = (plain_tau_ap_ties(means[i], means[j]) + plain_tau_ap_ties(means[j], means[i])) / 2
        assert tau[i, j] == pytest.approx(both, abs=1e-12)


def test_ap_correlation_is_undefined_where_there_are_ties():
    found = tau_ap_matrix(np.vstack((untied_means(metrics=2), tied_means(metrics=1))))
    np.testing.assert_array_equal(np.isnan(found), [[False, False, True], [False, False, True], [True, True, True]])


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_rank_biased_overlap_is_its_definition(p):
    means = untied_means()
    overlap = rbo_matrix(means, p)
    listed = [np.argsort(-row).tolist() for row in means]
    for i, j in np.ndindex(overlap.shape):
        assert overlap[i, j] == pytest.approx(plain_rbo(listed[i], listed[j], p), abs=1e-12)


def test_rank_biased_overlap_with_ties_is_that_of_its_authors_program():
    """Two hundred pairs of score lists with the values of Corsi and Urbano's program, in each of its three forms."""
    for row in json.loads((Path(__file__).parents[1] / "golden" / "rbo-ties.json").read_text())["rows"]:
        means = np.array([row["x"], row["y"]], np.float64)
        found = [rbo_matrix(means, row["p"], form)[0, 1] for form in ("w", "a", "b")]
        assert found == pytest.approx([row["w"], row["a"], row["b"]], abs=1e-12)


def test_rank_biased_overlap_of_deep_rankings_is_taken_block_by_block():
    means = tied_means(metrics=3, runs=40_000)
    means[2] = means[0]
    overlap = rbo_matrix(means, 0.9)
    assert overlap[0, 2] == pytest.approx(1, abs=1e-15)
    # The first tie group is larger than any depth that counts, so each top holds the same share of all its runs.
    first, second = (means[row] == means[row].max() for row in (0, 1))
    assert overlap[0, 1] == pytest.approx((first & second).sum() / np.sqrt(first.sum() * second.sum()))


def test_a_metric_that_ties_all_runs_correlates_with_nothing_not_even_itself():
    means = np.vstack((np.full(17, 0.1), tied_means(metrics=2)))
    for matrix in (kendall_matrix(means), spearman_matrix(means), tau_ap_b(means), kendall_asls(means)):
        assert np.isnan(matrix[0]).all()
        assert np.isnan(matrix[:, 0]).all()
        assert not np.isnan(matrix[1:, 1:]).any()
    np.testing.assert_array_equal(np.isnan(spearman_asls(means)), np.isnan(spearman_matrix(means)))


def test_sums_in_another_order_are_ties():
    means = np.array([[(0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3, 0.3, 0.1]])
    assert means[0, 0] != means[0, 1]
    assert round_scores(means)[0, 0] == round_scores(means)[0, 1]
    assert (tied_pairs(means)[0], kendall_matrix(means, "a")[0, 0]) == (1, 5 / 6)


@pytest.mark.parametrize("coefficient", [*COEFFICIENTS, kendall_asls, spearman_asls])
def test_the_last_bits_of_a_mean_decide_nothing(coefficient):
    means = np.vstack((tied_means(), untied_means()))
    noisy = np.nextafter(means, np.random.default_rng(1).choice([-1.0, 2.0], means.shape))
    np.testing.assert_array_equal(coefficient(noisy), coefficient(means))
    noisy_swops, swops = discordant_pairs(*noisy[:2]), discordant_pairs(*means[:2])
    assert (noisy_swops.pairs.tolist(), noisy_swops.half_ties) == (swops.pairs.tolist(), swops.half_ties)


def test_the_worked_example_has_three_swops_and_two_half_ties():
    found = discordant_pairs(*golden_means("corr_ties"))
    assert (len(found.pairs), found.half_ties) == (GOLDEN["corr_ties"]["D"], 2)


@pytest.mark.parametrize("runs", [2, 4, 5, 6, 7, 12, 37])
def test_the_least_significant_tau_is_where_scipys_exact_test_turns(runs):
    asls = [exact_asl(runs, discordant) for discordant in range(runs * (runs - 1) // 4)]
    for alpha in (0.05, 0.01, 0.001):
        significant = [discordant for discordant, asl in enumerate(asls) if asl < alpha]
        expected = 1 - 2 * significant[-1] / (runs * (runs - 1) / 2) if significant else None
        assert least_significant_tau(runs, alpha) == pytest.approx(expected, abs=1e-12), alpha


def test_the_least_significant_tau_of_30_runs_is_within_a_pair_of_the_papers():
    # "Given 30 runs, significant at 0.01 if it is over 0.34" is the normal approximation, 0.338 with 144 pairs.
    assert least_significant_tau(30, 0.01) == pytest.approx(1 - 2 * 145 / 435)
    assert exact_asl(30, 145) < 0.01 <= exact_asl(30, 146)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
@pytest.mark.parametrize(("runs", "above"), [(200, 0), (210, 0.001)])
def test_the_least_significant_tau_of_many_runs_is_a_little_on_the_safe_side(runs, above, alpha):
    pairs = runs * (runs - 1) // 2
    tau = least_significant_tau(runs, alpha)
    discordant = round((1 - tau) * pairs / 2)
    assert exact_asl(runs, discordant) < alpha <= exact_asl(runs, discordant + max(1, int(above * pairs / 2)))


def exact_asl(runs, discordant):
    """SciPy's, of two orders of so many runs that differ in so many pairs."""
    left, order = list(range(runs)), []
    for place in range(runs):
        # To take the k-th of those left is k discordant pairs.
        skipped = min(discordant, runs - 1 - place)
        discordant -= skipped
        order.append(left.pop(skipped))
    return float(stats.kendalltau(range(runs), order, method="exact").pvalue)


def plain_tau_ap(reference, estimate):
    order = sorted(range(len(estimate)), key=lambda run: -estimate[run])
    shares = 0.0
    for i in range(1, len(order)):
        shares += sum(reference[above] > reference[order[i]] for above in order[:i]) / i
    return 2 / (len(order) - 1) * shares - 1


def plain_tau_ap_ties(reference, estimate):
    runs = range(len(estimate))
    first_place = [1 + sum(estimate[x] > estimate[y] for x in runs) for y in runs]
    shares = 0.0
    for run in runs:
        if first_place[run] > 1:
            above = [x for x in runs if estimate[x] > estimate[run]]
            shares += sum(reference[x] > reference[run] for x in above) / (first_place[run] - 1)
    return 2 / (len(estimate) - first_place.count(1)) * shares - 1


def plain_rbo(first, second, p):
    k = len(first)
    overlap = [len(set(first[:d]) & set(second[:d])) for d in range(k + 1)]
    assert all(below >= above for above, below in pairwise(overlap))
    return overlap[k] / k * p**k + (1 - p) / p * sum(overlap[d] / d * p**d for d in range(1, k + 1))
