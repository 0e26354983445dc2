"""What compiled code reads of a run is found once, and forgotten in time."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np
import pytest

from gainboard.metrics import JudgedRankings, columns
from gainboard.metrics.columns import CONDENSED_SCALE, columns_of

from .judged import judged, judgments

QRELS = {"a": {"d1": 3, "d2": 0, "d3": 1}, "b": {"d1": 1}, "c": {"d1": 1}}
RUN = {"a": ["u", "d3", "d2", "d1"], "c": ["d1"]}


def test_relevant_rows_come_after_a_row_of_zeros() -> None:
    rankings = judged(QRELS, RUN)
    found = columns_of(rankings.run, rankings.judgments).relevant
    assert found.first.tolist() == [1, 3, 3, 4]
    assert found.topic.tolist() == [0, 0, 0, 2]
    assert found.level.tolist() == [0, 1, 3, 1]
    assert found.rank.tolist() == [[0, 2, 4, 1], [0, 1, 3, 1]]
    assert found.counted[:, 0].tolist() == [[0, 2, 2, 1], [0, 1, 2, 1], [0, 1, 2, 1]]
    assert found.counted[:, 2].tolist() == [[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0]]
    assert found.deepest.tolist() == [4, 3, 2]


def test_topics_with_equal_judgments_are_one_class() -> None:
    rankings = judged(QRELS, RUN)
    found = columns_of(rankings.run, rankings.judgments).relevant
    assert found.counts[found.topic_class].tolist() == [[0, 1, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert len(found.counts) == 2


def test_distances_are_those_of_all_documents_judged_or_retrieved() -> None:
    rankings = judged(QRELS, {"a": {"u": 5.0, "d3": 3.0, "d2": 2.0, "d1": 1.0}, "c": {"d1": 1.0}})
    found = columns_of(rankings.run, rankings.judgments).distances(rankings.run, (0, CONDENSED_SCALE))
    np.testing.assert_allclose(found.system, [[0.0, 0.5, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
    np.testing.assert_allclose(found.distance, [[1.75, 0.0, 1.0], [1.5, 0.0, 1.0]])
    assert found.documents.tolist() == [[4, 0, 1], [3, 0, 1]]


def test_the_same_run_is_read_once_and_under_other_judgments_anew() -> None:
    rankings = judged(QRELS, RUN)
    first = columns_of(rankings.run, rankings.judgments)
    assert columns_of(rankings.run, rankings.judgments) is first
    other = columns_of(rankings.run, judgments(QRELS))
    assert other is not first
    assert other.judgments is not first.judgments


def test_what_is_remembered_of_a_run_goes_with_it() -> None:
    rankings = judged(QRELS, RUN)
    found = ref(columns_of(rankings.run, rankings.judgments))
    assert found() is not None
    del rankings
    gc.collect()
    assert found() is None


def test_no_more_is_remembered_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = judged(QRELS, RUN), judged(QRELS, RUN)
    first = _columns(one)
    monkeypatch.setattr(columns, "MOST_BYTES", 2 * first.nbytes - 1)
    _columns(other)
    assert _columns(one) is not first


def test_runs_that_are_gone_leave_their_room_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    one = judged(QRELS, RUN)
    first = _columns(one)
    monkeypatch.setattr(columns, "MOST_BYTES", 2 * first.nbytes)
    for _ in range(5):
        _columns(judged(QRELS, RUN))
    assert _columns(one) is first


def _columns(rankings: JudgedRankings) -> columns.RunColumns:
    return columns_of(rankings.run, rankings.judgments)
