"""What is remembered of a run from one request to the next changes no score and takes no more room than it is given."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

import numpy as np
import pytest

from gainboard.metrics import BoundMetric, JudgedRankings, JudgedRun, Judgments, Scale, every_metric, resolve
from gainboard.metrics import remembered as memory
from gainboard.metrics.remembered import rows_of

from .judged import judged

pytestmark = pytest.mark.outer

H = 3


def campaign(seed: int = 3, topics: int = 6) -> JudgedRankings:
    """Some relevant documents at every level, some topics that the run lacks."""
    rng = np.random.default_rng(seed)
    qrels = {str(topic): {f"d{i}": int(rng.integers(-1, H + 1)) for i in range(30)} for topic in range(topics)}
    documents = [*(f"d{i}" for i in range(30)), *(f"u{i}" for i in range(20))]
    run = {topic: [str(document) for document in rng.permutation(documents)[:40]] for topic in list(qrels)[1:]}
    return judged(qrels, run)


def fresh(rankings: JudgedRankings) -> JudgedRankings:
    """The same of which nothing is remembered."""
    run, judgments = rankings.run, rankings.judgments
    copied = JudgedRun(run.starts, run.rank, run.level, run.retrieved, run.retrieval_scores)
    return JudgedRankings(copied, Judgments(judgments.level_counts, judgments.negative_counts))


def all_ways() -> Iterator[BoundMetric]:
    """More cut-offs, thresholds and rankings than are remembered, twice over under different gains."""
    for gains in ("3:2:1", "adjust(10:5:1)"):
        for rel in "123":
            for condensed in ("true", "false"):
                query = {"gains": gains, "rel": rel, "condensed": condensed, "base": "2.5"}
                for metric in every_metric():
                    cutoffs = range(1, 41, 3) if metric.takes_cutoff else ()
                    names = [f"{metric.name}@{cutoff}" for cutoff in cutoffs] or [metric.name]
                    yield from (resolve(name, Scale(H), query=query) for name in names)


def test_scores_do_not_depend_on_what_is_remembered() -> None:
    rankings = campaign()
    for metric in all_ways():
        again = JudgedRankings(rankings.run, rankings.judgments)
        np.testing.assert_array_equal(metric.score(again), metric.score(fresh(rankings)), metric.label)


def test_threads_may_score_one_run_at_once() -> None:
    rankings, metrics = campaign(), list(all_ways())
    expected = [metric.score(fresh(rankings)) for metric in metrics]

    def scored(metric: BoundMetric) -> object:
        return metric.score(JudgedRankings(rankings.run, rankings.judgments))

    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_array_equal(list(pool.map(scored, metrics)), expected)


def test_rows_are_those_found_before_unless_the_qrels_are_others() -> None:
    rankings, others = campaign(), campaign(seed=4)
    rows = rows_of(rankings.run, rankings.judgments)
    assert rows_of(rankings.run, rankings.judgments) is rows
    assert rows_of(rankings.run, others.judgments) is not rows
    assert rows_of(rankings.run, others.judgments).relevant(rankings.run, 1).counts is others.judgments.counts(1)


def test_a_run_that_is_gone_is_forgotten() -> None:
    rankings = campaign()
    resolve("AP", Scale(H)).score(rankings)
    gone, rows = ref(rankings.run), ref(rows_of(rankings.run, rankings.judgments))
    del rankings
    assert (gone(), rows()) == (None, None)


def test_the_runs_longest_unused_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [campaign(seed) for seed in range(4)]
    found = [rows_of(each.run, each.judgments) for each in runs[:3]]
    assert all(rows.weight > 6 for rows in found), "topics count too"
    rows_of(runs[0].run, runs[0].judgments)
    monkeypatch.setattr(memory, "MOST_ROWS", sum(rows.weight for rows in found))
    newest = rows_of(runs[3].run, runs[3].judgments)
    assert newest.weight <= found[1].weight, "or more than the second run would have to go"
    kept = {0: found[0], 2: found[2], 3: newest}
    assert {number: rows_of(runs[number].run, runs[number].judgments) for number in kept} == kept
    assert rows_of(runs[1].run, runs[1].judgments) is not found[1]


def test_threads_that_remember_at_once_leave_no_more_than_is_dropped_at_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rankings = campaign()
    cuts = rows_of(rankings.run, rankings.judgments).cuts(rankings.run, 1, False)
    kept = [cuts.to(cutoff) for cutoff in range(1, 6)]
    # One more than these, as where two threads have looked before either put.
    monkeypatch.setattr("gainboard.metrics.rows._MOST_CUTS", 4)
    cuts.to(6)
    assert all(cuts.to(cutoff) is not before for cutoff, before in enumerate(kept, start=1))
