"""Depth of a pool, and documents of one team alone, against sets."""

import numpy as np

from gainboard.statistics.draws import Draws
from gainboard.statistics.judging import (
    NOBODY,
    SEVERAL,
    count_documents,
    judged_depth,
    order_documents,
    sole_owners,
    take_turns,
)


def depth_of(judged):
    """The depth of rankings that are given as whether each document is judged."""
    ranks = [np.flatnonzero(each) + 1 for each in judged]
    starts = np.cumsum([0, *map(len, ranks)])
    return judged_depth(starts, np.concatenate(ranks), np.array(list(map(len, judged))))


def test_the_depth_ends_before_the_first_unjudged_document_of_any_topic():
    assert depth_of([[True] * 5 + [False], [True, True, True, False, True, True]]) == 3
    assert depth_of([[False, True, True], [True]]) == 0


def test_short_and_missing_topics_set_no_bound():
    assert depth_of([[True, True], [], [True] * 4 + [False]]) == 4
    assert depth_of([[True], []]) is None


def test_owners_are_the_teams_that_pool_a_document_alone():
    drawn = np.random.default_rng(1)
    document, team = drawn.integers(0, 40, 60), drawn.integers(0, 4, 60)
    teams = [set(team[document == each].tolist()) for each in range(50)]
    expected = [NOBODY if not each else SEVERAL if len(each) > 1 else min(each) for each in teams]
    assert sole_owners(document, team, 50).tolist() == expected
    assert {NOBODY, SEVERAL} < set(expected)


def test_ranks_that_are_equal_but_for_their_order_leave_the_decision_to_the_id():
    """1/61 + 1/62 + 1/64 has other last bits in another order, which would rank the runs' order above the id."""
    document = np.array([0, 1, 0, 1, 0, 1])
    for rank in ([1, 4, 2, 1, 4, 2], [4, 1, 1, 2, 2, 4]):
        found = count_documents(document, np.array(rank), 2)
        assert found.fused[0] == found.fused[1]
        assert [*order_documents(found, "rrf", Draws(0, "pool"))] == [0, 1]


def test_turns_are_as_taken_one_by_one():
    drawn = np.random.default_rng(2)
    for budget in (0, 1, 7, 40, 1000):
        sizes = drawn.integers(0, 12, 9)
        taken, left = np.zeros(9, np.int64), budget
        while left and (taken < sizes).any():
            for topic in range(9):
                if left and taken[topic] < sizes[topic]:
                    taken[topic], left = taken[topic] + 1, left - 1
        assert [*take_turns(sizes, budget)] == [*taken]
