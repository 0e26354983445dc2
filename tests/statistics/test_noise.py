"""Variance components with replicates, and what a reproduction keeps: by loops, planted noise, and `repro_eval`."""

from statistics import fmean, variance

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.classical import reproduced_scores
from gainboard.statistics.means import reproduced_effect
from gainboard.statistics.topic_sets import component_intervals, interval_width, replicate_components, replicated_widths

GROUPS = np.array([0, 0, 1, 1, 1, 2])


def planted(drawn, topics=40, groups=GROUPS):
    """Scores of replicates, of which some are missing, and the variances that they have."""
    systems = groups.max() + 1
    cells = drawn.normal(0, 0.2, topics) + drawn.normal(0, 0.1, (systems, topics))
    scores = (drawn.normal(0, 0.05, (systems, 1)) + cells)[groups] + drawn.normal(0, 0.08, (len(groups), topics))
    scores[0, ::3] = np.nan
    return scores


def test_components_are_those_of_a_loop_over_cells():
    scores = planted(np.random.default_rng(3), topics=7)
    cells = [[scores[system == GROUPS, topic] for topic in range(7)] for system in range(3)]
    there = [[[score for score in cell.tolist() if score == score] for cell in row] for row in cells]
    squares = sum((len(cell) - 1) * variance(cell) for row in there for cell in row if len(cell) > 1)
    noise = squares / sum(len(cell) - 1 for row in there for cell in row)
    share = fmean(1 / len(cell) for row in there for cell in row)
    means = np.array([[fmean(cell) for cell in row] for row in there])
    left = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0) + means.mean()
    residual = (left**2).sum() / (2 * 6)
    by_system, by_topic = variance(means.mean(axis=1).tolist()), variance(means.mean(axis=0).tolist())
    expected = [by_system - residual / 7, by_topic - residual / 3, residual - share * noise, noise, share]
    found = replicate_components(scores, GROUPS, np.ones((7, 1)))
    assert found[:, 0].tolist() == pytest.approx(expected)
    # A sample that has a topic twice is the table with this column twice.
    order = [0, 0, 2, 3, 4, 5, 5]
    sample = replicate_components(scores, GROUPS, np.bincount(order, minlength=7)[:, np.newaxis].astype(float))
    assert sample[:, 0] == pytest.approx(replicate_components(scores[:, order], GROUPS, np.ones((7, 1)))[:, 0])


def test_unequal_numbers_of_replicates_give_no_bias():
    drawn = np.random.default_rng(4)
    found = [replicate_components(planted(drawn), GROUPS, np.ones((40, 1)))[:4, 0] for _ in range(2000)]
    errors = np.std(found, axis=0) / np.sqrt(2000)
    assert (np.abs(np.mean(found, axis=0) - [0.05**2, 0.2**2, 0.1**2, 0.08**2]) < 3 * errors).all()


def test_one_system_tells_topics_and_replicates_alone_and_without_replicates_nothing_is_known():
    scores = planted(np.random.default_rng(5), topics=9)[2:5]
    systems, topics, both, noise, share = replicate_components(scores, np.zeros(3, np.intp), np.ones((9, 1)))[:, 0]
    assert np.isnan([systems, both]).all()
    assert noise == pytest.approx(scores.var(axis=0, ddof=1).mean())
    assert topics == pytest.approx(scores.mean(axis=0).var(ddof=1) - noise * share)
    assert np.isnan(replicate_components(scores, np.arange(3), np.ones((9, 1)))[:4, 0]).tolist() == [
        False,
        False,
        True,
        True,
    ]


def test_widths_are_those_of_students_interval_of_means_over_replicates():
    mean, difference = replicated_widths(np.array([0.1, 0.04, 0.01, 0.02, 0.25]), 50)
    assert mean == pytest.approx(
        [interval_width(50, 0.055, 0.05), interval_width(100, 0.055, 0.05), interval_width(50, 0.0525, 0.05)]
    )
    assert difference[2] == pytest.approx(interval_width(50, 0.025, 0.05))
    alone = replicated_widths(np.array([np.nan, 0.04, np.nan, 0.02, 0.25]), 50)
    assert alone[0][0] == pytest.approx(interval_width(50, 0.045, 0.05))
    assert np.isnan(alone[1]).all()


def test_a_negative_estimate_has_an_interval_from_0():
    low, high = component_intervals(np.array([-0.1, 4.0]), np.array([[-0.2, 0.1, 0.3], [2.0, 4.0, 8.0]]), 11)
    assert (low[0], high[0]) == (0, pytest.approx(0.29))
    assert low[1] * high[1] == pytest.approx(16)
    assert high[1] / 4 == pytest.approx(np.exp(stats.t.ppf(0.975, 10) * np.log([2, 4, 8]).std()))


A, B = np.array([0.3, 0.6, 0.3, 0.8]), np.array([0.2, 0.5, 0.3, 0.6])
AGAIN, BASE_AGAIN = np.array([0.3, 0.5, 0.4, 0.7]), np.array([0.25, 0.45, 0.35, 0.6])


def test_reproduced_scores_are_those_of_repro_eval():
    # By repro_eval 0.5.0 (pip install repro_eval): ER(a, b, a2, b2), DRI(a, b, a2, b2), RMSE(a, a2) and nRMSE(a, a2) of
    # repro_eval.measure, on {"0": {"ndcg": 0.3}, "1": {"ndcg": 0.6}, ...}. Levels are those of SciPy, which it calls.
    left = reproduced_scores(A, AGAIN, is_paired=True)
    means = [(float(first.mean()), float(again.mean())) for first, again in ((A, AGAIN), (B, BASE_AGAIN))]
    assert reproduced_effect(*means) == (pytest.approx(0.625), pytest.approx(0.0984848485))
    assert (left["rmse"], left["nrmse"]) == (pytest.approx(0.0866025404), pytest.approx(0.1230914910))
    assert (left["means"], left["change"]) == ((0.5, pytest.approx(0.475)), pytest.approx(-0.05))
    assert left["asl"] == pytest.approx(stats.ttest_rel(A, AGAIN).pvalue)
    other = reproduced_scores(A, BASE_AGAIN[:3], is_paired=False)
    assert other["asl"] == pytest.approx(stats.ttest_ind(A, BASE_AGAIN[:3]).pvalue)
    assert np.isnan([other["rmse"], other["nrmse"]]).all()


def test_what_divides_by_nothing_or_has_no_range_is_undefined():
    assert np.isnan(reproduced_effect((0.3, 0.4), (0.3, 0.2))[0])
    assert np.isnan(reproduced_effect((0.3, 0.4), (0.0, 0.2))[1])
    assert np.isnan(reproduced_scores(A * 10, AGAIN * 10, is_paired=True)["nrmse"])
    assert np.isnan(reproduced_scores(A[:1], AGAIN, is_paired=False)["asl"])
    assert reproduced_scores(A * 1e-20, AGAIN * 1e-20, is_paired=True)["asl"] == pytest.approx(
        reproduced_scores(A, AGAIN, is_paired=True)["asl"]
    )
