"""Replicates of systems: their means in each topic."""

import numpy as np

from gainboard.statistics.means import collapse

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
