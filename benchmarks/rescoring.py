"""The same run under other gains, beta and base: in process, beside pytrec_eval's evaluation of a parsed run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import MARCO, chunks
from benchmarks.expressions import SCALE, bound
from benchmarks.peers import PytrecEval
from benchmarks.report import Row, Target, costs, speed, timed
from benchmarks.servers import FAST, PLAIN
from gainboard import compiled
from gainboard.evaluation.judging import JudgedFile, JudgedTopics, QrelsIndex, judge
from gainboard.evaluation.reading import NO_LIMITS, read_run_file
from gainboard.metrics import BoundMetric, JudgedRankings, JudgedRun, mean_all, score_all
from gainboard.metrics.columns import columns_of
from gainboard.trec import RunReader, read_qrels


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
    theirs = (lambda: timed(peer.evaluate, parsed)) if peer else None
    case = _Case("43 metrics rescored in process / pytrec_eval evaluate", {PLAIN: 12, FAST: 150}, theirs)
    rows = _measure(case, topics, judged.run, fresh, repetitions, compiled_in)
    return [*rows, *_memory(judged.run, topics, compiled_in is not None)]


def measure_marco_rescoring(
    peer: PytrecEval | None,
    qrels: Path,
    run: Path,
    fresh: Iterator[dict[str, str]],
    repetitions: int,
    compiled_in: Path | None,
) -> list[Row]:
    """The same at MS MARCO's size, and from the file on; the peer, which has the same qrels, takes seconds and is timed
    once."""
    topics, judged = _joined(qrels, run)
    once: list[float] = []
    if peer:
        began = time.perf_counter()
        parsed = peer.parse(run)
        once = [time.perf_counter() - began, timed(peer.evaluate, parsed)]
        del parsed  # gigabytes, which nothing should be timed beside
    metrics = f"43 metrics of {MARCO.topics:,} topics"
    rows = _from_file(metrics, qrels, run, sum(once), fresh, compiled_in)
    what = f"{metrics} rescored in process / pytrec_eval evaluate, once"
    case = _Case(what, {PLAIN: 500, FAST: 1500}, (lambda: once[1]) if once else None)
    return rows + _measure(case, topics, judged.run, fresh, repetitions, compiled_in)


def _from_file(
    metrics: str, qrels: Path, run: Path, theirs: float, fresh: Iterator[dict[str, str]], compiled_in: Path | None
) -> list[Row]:
    """Reading, joining and scoring a run file, once."""
    file = read_qrels([qrels.read_bytes()], levels=SCALE.highest_level)
    topics = JudgedTopics.of(file.judgments, SCALE.highest_level)
    rows: list[Row] = []
    for column, most in ((PLAIN, 0.8), (FAST, 0.15))[: 2 if compiled_in else 1]:
        _switch(column, compiled_in)
        index = QrelsIndex(file.judgments, topics)

        def read_and_score(index: QrelsIndex = index) -> None:
            read = read_run_file(lambda: chunks(run), "score", SCALE.depth, NO_LIMITS, index)
            assert read.joined is not None
            _score(bound(next(fresh)), read.joined.run, topics)

        what = f"{column}: {metrics} from the file, in process / pytrec_eval parse + evaluate, once"
        rows.append(costs(what, [timed(read_and_score)], [theirs] if theirs else [], Target(most)))
    return rows


@dataclass(frozen=True)
class _Case:
    """What is measured, how many times faster than the peer it should be, and what tells the peer's seconds."""

    what: str
    targets: Mapping[str, float]
    theirs: Callable[[], float] | None


def _measure(
    case: _Case,
    topics: JudgedTopics,
    run: JudgedRun,
    fresh: Iterator[dict[str, str]],
    repetitions: int,
    compiled_in: Path | None,
) -> list[Row]:
    rows: list[Row] = []
    for column in (PLAIN, FAST) if compiled_in else (PLAIN,):
        _switch(column, compiled_in)
        scoring: list[float] = []
        reading: list[float] = []
        theirs: list[float] = []
        _score(bound(next(fresh)), run, topics)
        for _ in range(repetitions):
            scoring.append(timed(_score, bound(next(fresh)), run, topics))
            if case.theirs:
                theirs.append(case.theirs())
            reading.append(timed(_read_and_score, next(fresh), run, topics))
        target = Target(case.targets[column], at_most=False)
        what = f"{column}: {case.what}"
        rows += [speed(what, scoring, theirs, target), speed(f"{what}, expressions parsed too", reading, theirs)]
    return rows


def _switch(column: str, compiled_in: Path | None) -> None:
    """Scores plainly, or compiled."""
    if column == FAST:
        compiled.warm(compiled_in)
    else:
        for twin in compiled.Twin.every:
            twin.unload()


def _joined(qrels: Path, run: Path) -> tuple[JudgedTopics, JudgedFile]:
    file = read_qrels([qrels.read_bytes()], levels=SCALE.highest_level)
    topics = JudgedTopics.of(file.judgments, SCALE.highest_level)
    return topics, judge(RunReader([run.read_bytes()]), QrelsIndex(file.judgments, topics))


def _score(metrics: list[BoundMetric], run: JudgedRun, topics: JudgedTopics) -> list[float]:
    means: list[float] = mean_all(metrics, score_all(metrics, JudgedRankings(run, topics.judgments))).tolist()
    return means


def _read_and_score(query: dict[str, str], run: JudgedRun, topics: JudgedTopics) -> list[float]:
    return _score(bound(query), run, topics)


def _memory(run: JudgedRun, topics: JudgedTopics, is_compiled: bool) -> list[Row]:
    kept = sum(column.nbytes for column in (run.starts, run.rank, run.level, run.retrieved))
    rows = [Row("memory of a run / judged document retrieved", kept / len(run.rank), target=Target(4), unit="B")]
    if is_compiled:
        remembered = columns_of(run, topics.judgments).nbytes
        rows.append(Row(f"{FAST}: remembered besides of a run just scored", remembered / len(run.rank), unit="B"))
    return rows
