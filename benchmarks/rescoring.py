"""The same run under other gains, beta and base: in process, beside pytrec_eval's evaluation of a parsed run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app import compiled
from app.evaluation.judging import JudgedFile, JudgedTopics, QrelsIndex, judge
from app.metrics import BoundMetric, JudgedRankings, JudgedRun, mean_all, score_all
from app.trec import RunReader, read_qrels
from benchmarks.expressions import SCALE, bound
from benchmarks.peers import PytrecEval
from benchmarks.report import Row, Target, speed, timed
from benchmarks.servers import FAST, PLAIN


def measure_rescoring(
    peer: PytrecEval | None,
    qrels: Path,
    run: Path,
    fresh: Iterator[dict[str, str]],
    repetitions: int,
    compiled_in: Path | None,
) -> list[Row]:
    """New parameters each time, scored alone and with their expressions read first, by plain code and then by that in
    this folder; and what is kept in memory."""
    topics, judged = _joined(qrels, run)
    parsed = peer.parse(run) if peer else None
    rows: list[Row] = []
    for column, bound_of_target in ((PLAIN, 12), (FAST, 150)) if compiled_in else ((PLAIN, 12),):
        if column == FAST:
            compiled.warm(compiled_in)
        scoring: list[float] = []
        reading: list[float] = []
        theirs: list[float] = []
        _score(bound(next(fresh)), judged.run, topics)
        for _ in range(repetitions):
            scoring.append(timed(_score, bound(next(fresh)), judged.run, topics))
            if peer:
                theirs.append(timed(peer.evaluate, parsed))
            reading.append(timed(_read_and_score, next(fresh), judged.run, topics))
        target = Target(bound_of_target, at_most=False)
        what = f"{column}: 43 metrics rescored in process / pytrec_eval evaluate"
        rows += [speed(what, scoring, theirs, target), speed(f"{column}: expressions parsed too", reading, theirs)]
    return [*rows, _memory(judged.run)]


def _joined(qrels: Path, run: Path) -> tuple[JudgedTopics, JudgedFile]:
    file = read_qrels([qrels.read_bytes()], levels=SCALE.highest_level)
    topics = JudgedTopics.of(file.judgments, SCALE.highest_level)
    return topics, judge(RunReader([run.read_bytes()]), QrelsIndex(file.judgments, topics))


def _score(metrics: list[BoundMetric], run: JudgedRun, topics: JudgedTopics) -> list[float]:
    means: list[float] = mean_all(metrics, score_all(metrics, JudgedRankings(run, topics.judgments))).tolist()
    return means


def _read_and_score(query: dict[str, str], run: JudgedRun, topics: JudgedTopics) -> list[float]:
    return _score(bound(query), run, topics)


def _memory(run: JudgedRun) -> Row:
    kept = sum(column.nbytes for column in (run.starts, run.rank, run.level, run.retrieved))
    return Row("memory of a run / judged document retrieved", kept / len(run.rank), target=Target(4), unit="B")
