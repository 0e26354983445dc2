"""Values by ranking that do not follow from the relevant documents retrieved. NumPy computes them for both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.rankings import JudgedRun, JudgedRuns
from gainboard.metrics.retrieval import Scores, by_topic

Integers = NDArray[np.intp]
_Function = Callable[[JudgedRuns, Integers, Sequence[int], Sequence[Any]], Scores]


def values_by_ranking(
    operation: str, runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]
) -> Scores:
    """Return the value of an operation in BY_RANKING for the runs at the places `chosen`: float64 [chosen, n].

    `fixed` and `settings` are those of the operation. Raises ValueError if it needs scores that were not loaded.
    """
    values = BY_RANKING[operation](runs, chosen, fixed, settings)
    return np.ascontiguousarray(np.broadcast_to(values, (len(chosen), runs.judgments.topics)), np.float64)


def _distance(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    return runs.system_columns(bool(fixed[0]), bool(fixed[1])).distance[chosen]


def _documents(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    # In a condensed ranking, every document retrieved is judged.
    judged = runs.judgments.judged_count
    whole = [runs.whole[place][0] for place in chosen]
    every = [judged if fixed[0] else judged + run.retrieved - np.diff(run.starts) for run in whole]
    return np.array(every, np.float64).reshape(len(chosen), len(judged))


def _judged_at_zero(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    return runs.judgments.level_counts[:, 0].astype(np.float64)


def _retrieved(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    whole = runs.whole
    every = [np.diff(whole[place][0].starts) if fixed[0] else whole[place][0].retrieved for place in chosen]
    return np.array(every, np.float64).reshape(len(chosen), runs.judgments.topics)


def _judged_weight(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    whole, (condensed, upto), (discount,) = runs.whole, fixed, settings

    def of_run(run: JudgedRun) -> Scores:
        counts = np.diff(run.starts)
        rank = np.arange(1, len(run.rank) + 1) - np.repeat(run.starts[:-1], counts) if condensed else run.rank
        return by_topic(np.add, np.where(rank <= upto, discount.at(rank.astype(np.intp)), 0.0), counts)

    every = [of_run(whole[place][0]) for place in chosen]
    return np.array(every, np.float64).reshape(len(chosen), runs.judgments.topics)


BY_RANKING: Final[Mapping[str, _Function]] = {
    "system_distance": _distance,
    "documents": _documents,
    "judged_at_zero": _judged_at_zero,
    "retrieved": _retrieved,
    "judged_weight": _judged_weight,
}
"""The functions of the operations, by name."""
