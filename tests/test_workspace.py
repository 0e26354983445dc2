"""What is kept in memory between requests."""

import numpy as np

from gainboard.evaluation.scoring.scorer import MOST_SCORED_BYTES, SCORED_RUNS
from gainboard.evaluation.scoring.scores import ScoreArrays
from gainboard.evaluation.workspace import LRUCache, Workspace
from gainboard.store.database import Database


def test_the_longest_unused_value_goes_first_and_all_are_bounded_by_their_weight_but_for_the_last():
    recent = LRUCache(2)
    for key in ("a", "b"):
        recent.keep(key, ord(key))
    assert recent.find("a") == ord("a")
    recent.keep("c", 0)
    assert [recent.find(key) for key in "abc"] == [ord("a"), None, 0]
    heavy = LRUCache(10, len)
    for key, size in (("a", 4), ("b", 5), ("b", 6), ("c", 3)):
        heavy.keep(key, "x" * size)
    assert [heavy.find(key) is not None for key in "abc"] == [False, True, True]
    heavy.keep("d", "x" * 99)
    assert [heavy.find(key) is not None for key in "abcd"] == [False, False, False, True]
    assert recent.get(1, lambda: [1]) is recent.get(1, lambda: [2]), "a value is made once"


def test_scores_of_few_topics_are_not_kept_by_the_million():
    workspace = Workspace(Database("sqlite://"))
    scored, few = (
        ScoreArrays(np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1), np.bool_), np.zeros(1, np.int64)),
        MOST_SCORED_BYTES >> 10,
    )
    for number in range(few):
        SCORED_RUNS.of(workspace).keep((number, b""), scored)
    kept = sum(SCORED_RUNS.of(workspace).find((number, b"")) is not None for number in range(few))
    assert few // 2 < kept < few
