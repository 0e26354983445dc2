"""The same run under other gains, beta and base: in process, beside pytrec_eval's evaluation of a parsed run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app.evaluation.judging import JudgedFile, JudgedTopics, QrelsIndex, judge
from app.metrics import BoundMetric, JudgedRankings, JudgedRun
from app.trec import RunReader, read_qrels
from benchmarks.expressions import SCALE, bound
from benchmarks.peers import PytrecEval
from benchmarks.report import Row, Target, speed, timed


def measure_rescoring(
    peer: PytrecEval | None, qrels: Path, run: Path, fresh: Iterator[dict[str, str]], repetitions: int
) -> list[Row]:
    """New parameters each time, scored alone and with their expressions read first; and what is kept in memory."""
    topics, judged = _joined(qrels, run)
    parsed = peer.parse(run) if peer else None
    scoring: list[float] = []
    reading: list[float] = []
    theirs: list[float] = []
    _score(bound(next(fresh)), judged.run, topics)
    for _ in range(repetitions):
        scoring.append(timed(_score, bound(next(fresh)), judged.run, topics))
        if peer:
            theirs.append(timed(peer.evaluate, parsed))
        reading.append(timed(_read_and_score, next(fresh), judged.run, topics))
    target = Target(12, at_most=False)
    return [
        speed("43 metrics rescored in process / pytrec_eval evaluate", scoring, theirs, target),
        speed("the same, expressions parsed too", reading, theirs),
        _memory(judged.run),
    ]


def _joined(qrels: Path, run: Path) -> tuple[JudgedTopics, JudgedFile]:
    file = read_qrels([qrels.read_bytes()], levels=SCALE.highest_level)
    topics = JudgedTopics.of(file.judgments, SCALE.highest_level)
    return topics, judge(RunReader([run.read_bytes()]), QrelsIndex(file.judgments, topics))


def _score(metrics: list[BoundMetric], run: JudgedRun, topics: JudgedTopics) -> list[float]:
    rankings = JudgedRankings(run, topics.judgments)
    return [metric.mean(metric.score(rankings)) for metric in metrics]


def _read_and_score(query: dict[str, str], run: JudgedRun, topics: JudgedTopics) -> list[float]:
    return _score(bound(query), run, topics)


def _memory(run: JudgedRun) -> Row:
    kept = sum(column.nbytes for column in (run.starts, run.rank, run.level, run.retrieved))
    return Row("memory of a run / judged document retrieved", kept / len(run.rank), target=Target(4), unit="B")
