"""What is remembered of the scores that a run gave its documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gainboard.metrics import JudgedRun

from .judged import judged

QRELS = {"a": {"d0": 0, "d1": 2, "d2": -1}, "lacking": {"d0": 1}, "flat": {"d0": 3, "d1": 0}, "unjudged": {"d9": 1}}
RUN = {
    "a": {"u0": 9.0, "d1": 6.0, "d0": 5.0, "u1": 1.0, "d2": -1.0},
    "flat": {"d0": 2.0, "d1": 2.0},
    "unjudged": {"u0": 2.0, "u1": 1.0},
}
DISTANCES = {
    ("raw", "all"): [6.0 + 5.0 + 1.0, 0.0, 4.0, 0.0],
    ("raw", "condensed"): [6.0 + 5.0 + 1.0, 0.0, 4.0, 0.0],
    ("scaled", "all"): [0.7 + 0.6 + 0.0, 0.0, 2.0, 0.0],
    ("scaled", "condensed"): [1.0 + 6.0 / 7.0 + 0.0, 0.0, 2.0, 0.0],
}


def run() -> JudgedRun:
    return judged(QRELS, RUN).run


@pytest.mark.parametrize(("key", "expected"), DISTANCES.items())
def test_the_system_distance_is_the_sum_over_the_judged_documents_retrieved(
    key: tuple[str, str], expected: list[float]
) -> None:
    found = run().system_distance(key[0] == "raw", key[1] == "condensed")
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_it_is_found_once_for_each_way_to_read_the_scores() -> None:
    each = run()
    ways = [(raw, condensed) for raw in (True, False) for condensed in (True, False)]
    first = {way: each.system_distance(*way) for way in ways}
    assert all(each.system_distance(*way) is first[way] for way in ways)
    assert len({id(sums) for sums in first.values()}) == 3, "as they are, scores do not depend on the ranking"


def test_a_run_weighs_from_the_start_what_it_will_remember() -> None:
    each = run()
    bare = replace(each, retrieval_scores=None)
    weight = each.nbytes
    for raw, condensed in ((True, True), (False, True), (False, False)):
        each.system_distance(raw, condensed)
    by_topic = 4 + 3 + 2 * 3  # as stored, the sums, and what scales the scores of either ranking
    assert each.retrieval_scores is not None
    assert weight == each.nbytes == bare.nbytes + each.retrieval_scores.judged.nbytes + by_topic * 8 * len(QRELS)


def test_scores_beyond_all_numbers_are_infinitely_far_off() -> None:
    far = judged({"t": {"d0": 0, "d1": 0}}, {"t": {"d0": 1.7e308, "d1": -1.7e308}}).run
    np.testing.assert_array_equal(far.system_distance(True, False), [np.inf])
    np.testing.assert_array_equal(far.system_distance(False, False), [1.0])


def test_without_the_scores_there_is_no_distance() -> None:
    with pytest.raises(ValueError, match="needs the run's retrieval scores"):
        replace(run(), retrieval_scores=None).system_distance(True, True)
