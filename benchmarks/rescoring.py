"""The same run under other gains, beta and base, in process, and what one metric adds to the time of many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.expressions import SCALE, bound
from benchmarks.peers import PytrecEval
from benchmarks.report import Row, Target, at_least, costs, cpu_timed, speed
from benchmarks.servers import FAST, PLAIN
from gainboard import acceleration
from gainboard.evaluation.runs.join import JudgedTopics, QrelsIndex, judge
from gainboard.metrics import BoundMetric, JudgedRun, JudgedRuns, Judgments, mean_all, resolve, score_all
from gainboard.metrics.scoring import SCORING
from gainboard.trec import RunReader, read_qrels

_WITHOUT_FORM = "cumulative_gain"
"""The operation that loses its compiled form where that of a metric is to be missing. Q is made of it, AP is not."""
_COMPANIONS = 22
_SHARE = Target(1.2)
"""One metric more should cost what it costs alone; the rest is noise."""


@dataclass(frozen=True)
class Rescoring:
    """A run that is judged, the same run as the peer parsed it, and parameters that nobody asked for."""

    run: JudgedRun
    judgments: Judgments
    peer: PytrecEval | None
    file: Path
    fresh: Iterator[dict[str, str]]
    repetitions: int
    compiled_in: Path | None

    @classmethod
    def of(
        cls,
        qrels: Path,
        run: Path,
        peer: PytrecEval | None,
        fresh: Iterator[dict[str, str]],
        repetitions: int,
        compiled_in: Path | None,
    ) -> Rescoring:
        """Read and join the files; `compiled_in` is the folder of compiled code, if there is any."""
        read = read_qrels([qrels.read_bytes()], levels=SCALE.highest_level)
        topics = JudgedTopics.of(read.judgments, SCALE.highest_level)
        judged = judge(RunReader([run.read_bytes()]), QrelsIndex(read.judgments, topics)).run
        return cls(judged, topics.judgments, peer, run, fresh, repetitions, compiled_in)


def measure_rescoring(case: Rescoring) -> Iterator[Row]:
    """Yield the rows of plain code, then those of compiled code, and the memory of a run."""
    runs = JudgedRuns.of([case.run], case.judgments)
    yield from _measure_column(case, runs, PLAIN, at_least(15))
    if case.compiled_in:
        acceleration.warm(case.compiled_in)
        try:
            yield from _measure_column(case, runs, FAST, at_least(80))
            yield from _measure_shares(case, runs)
        finally:
            for twin in acceleration.OptionalKernel.every:
                twin.unload()
    what, rows = "hot memory of a run / judged document retrieved", len(case.run.level)
    bare = JudgedRuns.of([replace(case.run, retrieval_scores=None)], case.judgments)
    yield Row(what, bare.nbytes / rows, target=Target(4), unit="B")
    yield Row("the same with retrieval scores, which ADM needs", runs.nbytes / rows, unit="B")


def _measure_column(case: Rescoring, runs: JudgedRuns, column: str, target: Target) -> Iterator[Row]:
    """Yield 43 metrics under new parameters, alone and with their expressions read first, in turn with the peer."""
    parsed = case.peer.parse(case.file) if case.peer else None
    scoring: list[float] = []
    reading: list[float] = []
    theirs: list[float] = []
    _score(bound(next(case.fresh)), runs)
    for _ in range(case.repetitions):
        scoring.append(cpu_timed(_score, bound(next(case.fresh)), runs))
        if case.peer:
            theirs.append(cpu_timed(case.peer.evaluate, parsed))
        reading.append(cpu_timed(lambda: _score(bound(next(case.fresh)), runs)))
    what = f"{column}: 43 metrics rescored in process / pytrec_eval evaluate"
    yield speed(what, scoring, theirs, target)
    yield speed(f"{what}, expressions parsed too", reading, theirs)


def _measure_shares(case: Rescoring, runs: JudgedRuns) -> Iterator[Row]:
    """Yield what one metric more costs: one that has no compiled form beside 22 that have one, and ERR beside 42."""
    kernels = SCORING.load()
    places = [place for place, metric in enumerate(bound({})) if _WITHOUT_FORM not in metric.formula.operations]

    def companions() -> list[BoundMetric]:
        metrics = bound(next(case.fresh))
        return [metrics[place] for place in places[:_COMPANIONS]]

    with _fewer_operations(kernels.operations - {_WITHOUT_FORM}):
        what = f"a metric without a compiled form beside {_COMPANIONS}: together / the two apart"
        yield _share(what, case, runs, companions, "Q")
    yield _share(
        "ERR beside 42 metrics: together / the two apart", case, runs, lambda: bound(next(case.fresh))[:42], "ERR"
    )


def _share(
    what: str, case: Rescoring, runs: JudgedRuns, companions: Callable[[], list[BoundMetric]], expression: str
) -> Row:
    """Return the time of all metrics in one call beside the sum of two calls."""
    together: list[float] = []
    apart: list[float] = []
    for _ in range(case.repetitions + 1):
        many, one = companions(), resolve(expression, SCALE, defaults=next(case.fresh))
        both = cpu_timed(_score, [*many, one], runs)
        many, one = companions(), resolve(expression, SCALE, defaults=next(case.fresh))
        together.append(both)
        apart.append(cpu_timed(_score, many, runs) + cpu_timed(_score, [one], runs))
    return costs(what, together[1:], apart[1:], _SHARE)  # the first time, programs are made


@contextmanager
def _fewer_operations(operations: frozenset[str]) -> Iterator[None]:
    """Score with compiled code that has these operations only."""
    kernels = SCORING.load()
    SCORING._loaded = kernels._replace(operations=operations)
    try:
        yield
    finally:
        SCORING._loaded = kernels


def _score(metrics: Sequence[BoundMetric], runs: JudgedRuns) -> list[float]:
    means: list[float] = mean_all(metrics, score_all(metrics, runs)[:, 0]).tolist()
    return means
