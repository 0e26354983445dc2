"""The compiled twin of the kernels: metrics as rows of numbers, which one call scores together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, auto
from struct import pack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gainboard.compiled import Twin
from gainboard.metrics.arrays import Scores
from gainboard.metrics.columns import CONDENSED_SCALE, RAW_SCALE, columns_of
from gainboard.metrics.rankings import JudgedRun, Judgments

if TYPE_CHECKING:
    from gainboard.metrics.views import Reading

KIND, CUTOFF, OPTIONS, BETA, BASE, SHIFT, REL, CONDENSED, ADJUSTED, GRADED, FIXED = range(11)
"""The fields of a row; from FIXED on, the gains of levels 1 to h, and then what each takes off a reciprocal rank."""
CUT_RECALL, RAW_GAINS, RAW_SCORES = 1, 2, 4
"""The bits of OPTIONS."""
NO_CUTOFF: Final = 1 << 40


class Kind(IntEnum):
    """Whose formula a row is worked by; there are fewer than metrics, for a base may stand for a discount."""

    AP = auto()
    RPREC = auto()
    P = auto()
    RECALL = auto()
    RR = auto()
    Q = auto()
    RMEASURE = auto()
    O = auto()  # noqa: E741
    PMEASURE = auto()
    PPLUS = auto()
    AWP = auto()
    RWP = auto()
    GENAP = auto()
    GENP = auto()
    CG = auto()
    NCG = auto()
    ANCG = auto()
    WRR = auto()
    NWRR = auto()
    ADM = auto()


_KINDS: Final[Mapping[str, Kind]] = {
    **{name: Kind[name.upper()] for name in ("AP", "Rprec", "P", "Recall", "RR", "Q", "Rmeasure", "Pplus")},
    **{name: Kind[name.upper()] for name in ("AWP", "RWP", "genAP", "genP", "CG", "nCG", "AnCG", "WRR", "NWRR", "ADM")},
    **{"O-measure": Kind.O, "P-measure": Kind.PMEASURE},
    **{"DCG": Kind.CG, "nDCG": Kind.NCG, "MSnDCG": Kind.NCG, "AnDCG": Kind.ANCG},
}


def as_numbers(name: str, graded: bool, reading: Reading, arguments: Mapping[str, Any], levels: int) -> bytes:
    """The row of a metric on a scale of so many levels above 0, float64; empty where it has no twin."""
    if (kind := _KINDS.get(name)) is None:
        return b""
    options = (
        CUT_RECALL * (arguments.get("recall_base") == "cutoff")
        + RAW_GAINS * (arguments.get("urs") == "raw")
        + RAW_SCORES * (arguments.get("srs") == "raw")
    )
    base, shift = (2.0, 1) if name == "MSnDCG" else (arguments.get("base", math.inf), 0)
    gains = reading.gains.values if graded else (0.0,) * levels
    bonus = [1.0 / b for b in reversed(arguments.get("b", (math.inf,) * levels))]
    cutoff = arguments.get("cutoff") or NO_CUTOFF
    fields = (kind, cutoff, options, arguments.get("beta", 0.0), base, shift)
    read = (reading.rel, reading.condensed, reading.gains.adjusted, graded)
    return pack(f"{FIXED + 2 * levels}d", *fields, *read, *gains, *bonus)


_ADM: Final = float(Kind.ADM)


class _Kernels(NamedTuple):
    score: Callable[..., None]
    mean: Callable[..., None]


def _load() -> _Kernels:
    from gainboard.metrics import kernels  # noqa: PLC0415 (it imports the compiler)

    loaded = _Kernels(kernels.score, kernels.mean)
    _warm(loaded)
    return loaded


SCORING: Final = Twin("scoring", _load)
"""What is compiled of this, if it is."""


def score_together(records: Sequence[bytes], run: JudgedRun, judgments: Judgments) -> Scores | None:
    """The scores of metrics, each written `as_numbers`, float64 [metrics, topics]; None where that is left to the
    plain code, because nothing is compiled or one of the metrics has no twin."""
    return _score(kernels, records, run, judgments) if (kernels := SCORING.get()) else None


def mean_together(geometric: Sequence[bool], table: Scores) -> Scores | None:
    """The means over the last axis of a float64 table [metrics, ..., topics]; None where that is left to plain code."""
    if (kernels := SCORING.get()) is None:
        return None
    means = np.empty((len(table), math.prod(table.shape[1:-1])))
    flat = np.ascontiguousarray(table, np.float64).reshape(*means.shape, table.shape[-1])
    kernels.mean(np.frombuffer(bytearray(geometric), np.bool_), _own(flat), means)
    return means.reshape(table.shape[:-1])


def _score(kernels: _Kernels, records: Sequence[bytes], run: JudgedRun, judgments: Judgments) -> Scores | None:
    width = 8 * (FIXED + 2 * (judgments.level_counts.shape[1] - 1))
    # Ranks below 65,536 take two bytes; for deeper runs nothing is compiled.
    if run.rank.dtype != np.uint16 or not judgments.topics or {*map(len, records)} != {width}:
        return None
    plan = np.frombuffer(bytearray().join(records)).reshape(len(records), -1)
    scales = tuple({_scale(plan[row].tolist()) for row in (plan[:, KIND] == _ADM).nonzero()[0].tolist()})
    if scales and run.retrieval_scores is None:
        return None
    columns = columns_of(run, judgments)
    table = np.empty((len(records), judgments.topics))
    kernels.score(plan, *columns.relevant, *columns.distances(run, scales), table)
    return table


def _scale(record: Sequence[float]) -> int:
    """The number of the scale of system scores that a metric reads."""
    raw = RAW_SCALE if int(record[OPTIONS]) & RAW_SCORES else 0
    return raw + (CONDENSED_SCALE if record[CONDENSED] else 0)


def _own(table: Scores) -> Scores:
    """The table in the one form that was compiled for: what is read from a blob is neither writable nor aligned."""
    return table if table.flags.carray else table.copy()


def _warm(kernels: _Kernels) -> None:
    """Calls everything once with the types that may come."""
    judgments = Judgments(np.ones((1, 2), np.int64), np.zeros(1, np.int64))
    record = pack(f"{FIXED + 2}d", Kind.AP, NO_CUTOFF, *(0.0,) * 4, 1.0, *(0.0,) * 5)
    run = JudgedRun(np.array([0, 1]), np.ones(1, np.uint16), np.ones(1, np.int8), np.ones(1, np.int64))
    _score(kernels, [record], run, judgments)
    kernels.mean(np.zeros(1, np.bool_), np.ones((1, 1, 1)), np.empty((1, 1)))
