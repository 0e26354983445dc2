"""The scores that runs gave their documents, on each scale."""

from dataclasses import replace

import numpy as np
import pytest

from gainboard.metrics import JudgedRuns
from gainboard.metrics.columns import values_by_ranking

from .judged import joined, judged, judgments

QRELS = {"a": {"d0": 0, "d1": 2, "d2": -1}, "lacking": {"d0": 1}, "flat": {"d0": 3, "d1": 0}, "unjudged": {"d9": 1}}
RUN = {
    "a": {"u0": 9.0, "d1": 6.0, "d0": 5.0, "u1": 1.0, "d2": -1.0},
    "flat": {"d0": 2.0, "d1": 2.0},
    "unjudged": {"u0": 2.0, "u1": 1.0},
}
SCALES = {
    ("raw", "all"): ([6.0, 2.0], [9.0 + 6.0 + 5.0 + 1.0 + 1.0, 0.0, 4.0, 3.0]),
    ("raw", "condensed"): ([6.0, 2.0], [6.0 + 5.0 + 1.0, 0.0, 4.0, 0.0]),
    ("scaled", "all"): ([0.7, 1.0], [1.0 + 0.7 + 0.6 + 0.2, 0.0, 2.0, 1.0]),
    ("scaled", "condensed"): ([1.0, 1.0], [1.0 + 6.0 / 7.0, 0.0, 2.0, 0.0]),
}


@pytest.mark.parametrize(("key", "expected"), SCALES.items())
def test_scores_and_distances_are_those_of_the_scale(key, expected):
    system, distance, _ = judged(QRELS, RUN).system_columns(key[0] == "raw", key[1] == "condensed")
    np.testing.assert_allclose(system, expected[0], rtol=1e-14)
    np.testing.assert_allclose(distance, [expected[1]], rtol=1e-14)


@pytest.mark.parametrize(("condensed", "documents"), [(0, [5, 1, 2, 3]), (1, [3, 1, 2, 1])])
@pytest.mark.parametrize("raw", [0, 1])
def test_documents_are_judged_or_retrieved(condensed, documents, raw):
    found = values_by_ranking("documents", judged(QRELS, RUN), np.arange(1), [raw, condensed], [])
    np.testing.assert_array_equal(found, [documents])


def test_those_of_several_runs_stand_one_behind_the_other():
    other = {"flat": {"d1": 4.0, "d0": 1.0}}
    runs = JudgedRuns.of([joined(QRELS, RUN), joined(QRELS, other)], judgments(QRELS))
    system, distance, documents = runs.system_columns(True, True)
    assert system.tolist() == [6.0, 2.0, 1.0]
    assert distance.tolist() == [[12.0, 0.0, 4.0, 0.0], [0.0, 0.0, 5.0, 0.0]]
    assert documents.tolist() == [[3.0, 1.0, 2.0, 1.0]] * 2


def test_scores_beyond_all_numbers_are_infinitely_far_off():
    far = judged({"t": {"d0": 0, "d1": 0}}, {"t": {"d0": 1.7e308, "d1": -1.7e308}})
    np.testing.assert_array_equal(far.system_columns(True, False).distance, [[np.inf]])
    np.testing.assert_array_equal(far.system_columns(False, False).distance, [[1.0]])


def test_without_the_scores_of_a_run_there_are_none():
    bare = replace(joined(QRELS, RUN), retrieval_scores=None)
    runs = JudgedRuns.of([joined(QRELS, RUN), bare], judgments(QRELS))
    with pytest.raises(ValueError, match="needs the run's retrieval scores"):
        runs.system_columns(True, True)
