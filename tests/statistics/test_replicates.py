"""Replicates of systems: their means in each topic."""

import numpy as np
from scipy import stats

from gainboard.statistics.bootstrap_range import bootstrap_ranges
from gainboard.statistics.means import collapse, mean_intervals, noise_of_replicates, widen

GROUPS = np.array([1, 0, 1, 1, 2])


def table_with_gaps(topics=7):
    table = np.random.default_rng(5).random((len(GROUPS), topics))
    table[0, 0] = table[2, 0] = table[3, 1] = np.nan
    table[4, 2] = np.nan
    return table


def test_a_systems_score_is_the_mean_of_the_replicates_that_are_there():
    table = table_with_gaps()
    systems = collapse(table, GROUPS)
    for system in range(3):
        for topic in range(table.shape[1]):
            there = [x for x in table[system == GROUPS, topic].tolist() if x == x]
            expected = sum(there) / len(there) if there else np.nan
            np.testing.assert_allclose(systems[system, topic], expected, rtol=1e-15)
    assert np.argwhere(np.isnan(systems)).tolist() == [[2, 2]]


def test_rows_that_are_systems_keep_their_bytes():
    table = table_with_gaps()
    assert collapse(table, None) is table
    assert collapse(table[None], np.arange(5))[0].tobytes() == table.tobytes()


def drawn_anew(table, groups, resamples=20_000):
    """Return the variance of each system's mean over topics if the replicates of each topic are drawn anew."""
    draws, means = np.random.default_rng(3), np.zeros((resamples, groups.max() + 1))
    for system in range(groups.max() + 1):
        by_topic = [column[~np.isnan(column)] for column in table[groups == system].T]
        by_topic = [there for there in by_topic if len(there)]
        drawn = [draws.choice(there, (resamples, len(there))).mean(axis=1) for there in by_topic]
        means[:, system] = np.mean(drawn, axis=0)
    return means.var(axis=0)


def test_the_noise_of_replicates_is_the_variance_of_drawing_them_anew():
    table = table_with_gaps()
    noise = noise_of_replicates(table, GROUPS)
    np.testing.assert_allclose(noise, drawn_anew(table, GROUPS), rtol=0.03, atol=1e-12)
    assert noise[2] == 0  # a system with one row


def test_an_interval_with_noise_adds_it_to_the_variance_of_the_mean():
    scores = np.random.default_rng(1).random((2, 9))
    low, high = mean_intervals(scores, noise=np.array([0.0, 0.01]))
    expected = stats.t.ppf(0.975, 8) * np.sqrt(scores.var(axis=1, ddof=1) / 9 + [0, 0.01])
    np.testing.assert_allclose((high - low) / 2, expected, rtol=1e-12)


def test_ranges_with_noise_vary_as_much_more_as_the_noise():
    scores = np.vstack([np.random.default_rng(2).random(40), np.full(40, 0.5)])
    plain, noisy = (bootstrap_ranges(scores, 10_000, 0, noise) for noise in (None, np.array([0.0, 0.004])))
    # Both means are normal, so the squared range of two is the variance of their difference, in any stretch.
    added = np.median(noisy) ** 2 / np.median(plain) ** 2
    assert abs(added - (scores[0].var(ddof=1) / 40 + 0.004) / (scores[0].var(ddof=1) / 40)) < 0.15
    assert bootstrap_ranges(scores, 10_000, 0, np.zeros(2)).tobytes() == plain.tobytes()


def test_widened_differences_keep_their_means_and_have_the_noise_in_the_variance_of_these():
    differences = np.random.default_rng(4).normal(size=(3, 7))
    differences[2] = 0.25
    noise = np.array([0.0, 0.03, 0.03])
    widened = widen(differences, noise)
    np.testing.assert_allclose(widened.mean(axis=1), differences.mean(axis=1), rtol=1e-12)
    expected = differences.var(axis=1, ddof=1) / 7 + noise
    np.testing.assert_allclose(widened.var(axis=1, ddof=1) / 7, expected, rtol=1e-12)
    np.testing.assert_allclose(widened[0], differences[0], rtol=1e-12)
