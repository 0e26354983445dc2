"""Depth of a pool, and documents of one team alone, against sets."""

from __future__ import annotations

import numpy as np

from gainboard.statistics.runs import NOBODY, SEVERAL, judged_depth, sole_owners


def depth_of(judged: list[list[bool]]) -> int | None:
    """The depth of rankings that are given as whether each document is judged."""
    ranks = [np.flatnonzero(each) + 1 for each in judged]
    starts = np.cumsum([0, *map(len, ranks)])
    return judged_depth(starts, np.concatenate(ranks), np.array(list(map(len, judged))))


def test_the_depth_ends_before_the_first_unjudged_document_of_any_topic() -> None:
    assert depth_of([[True] * 5 + [False], [True, True, True, False, True, True]]) == 3
    assert depth_of([[False, True, True], [True]]) == 0


def test_short_and_missing_topics_set_no_bound() -> None:
    assert depth_of([[True, True], [], [True] * 4 + [False]]) == 4
    assert depth_of([[True], []]) is None


def test_owners_are_the_teams_that_pool_a_document_alone() -> None:
    drawn = np.random.default_rng(1)
    document, team = drawn.integers(0, 40, 60), drawn.integers(0, 4, 60)
    teams = [set(team[document == each].tolist()) for each in range(50)]
    expected = [NOBODY if not each else SEVERAL if len(each) > 1 else min(each) for each in teams]
    assert sole_owners(document, team, 50).tolist() == expected
    assert {NOBODY, SEVERAL} < set(expected)
