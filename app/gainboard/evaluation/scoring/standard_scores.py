"""Scores standardised by topic over reference runs that the request names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.evaluation.scoring.requests import ScoreTable
from gainboard.evaluation.scoring.scorer import ScoredRuns
from gainboard.metrics import mean_all
from gainboard.statistics.means import Standardisation, standardised

LEAST_REFERENCE = 2
"""Fewer runs have no spread."""
MOST_REFERENCE = 200
"""An address holds about so many names."""


@dataclass(frozen=True)
class Standard:
    """A form of standardised scores, and the names of the reference runs.

    The request names them, so the scores of a run do not change when another run arrives.
    """

    form: Standardisation
    reference: Sequence[str]


def standard_of(form: Standardisation | None, reference: Sequence[str]) -> Standard | None:
    """Return the standard that a request asks for; None if it asks for none.

    Raise InvalidRequest for a form without reference runs, and for reference runs without a form.
    """
    names = list(dict.fromkeys(reference))
    if form is None and not names:
        return None
    if form is None:
        raise InvalidRequest.at(
            "query.standardise", "missing", "Reference runs need a form: standardise=normal, linear or empirical."
        )
    if len(names) < LEAST_REFERENCE:
        raise InvalidRequest.at(
            "query.reference",
            "too-few-runs",
            f"Standardised scores need at least {LEAST_REFERENCE} reference runs; the request names {len(names)}. Name "
            "them, each with reference=RUN. Keep the list: with another one, all scores change.",
        )
    return Standard(form, names)


def standardise(scores: ScoreTable, standard: Standard) -> tuple[ScoreTable, Mapping[str, list[str]]]:
    """Return the table with standardised scores, and by label the topics on which the reference runs score alike.

    These topics have no standardised scores. Raise InvalidRequest if a reference run is not among the runs, or has no
    scores, and if a mean is geometric.
    """
    places = _places(scores, standard)
    table, undefined, alike = scores.scored.scores.copy(), scores.undefined.copy(), {}
    for row, metric in enumerate(scores.metrics):
        if metric.is_geometric:
            message = f"Standardised scores have no geometric mean. Leave out mean=geometric of {metric.label}."
            raise InvalidRequest.at("query.metric", "geometric-mean", message)
        defined = np.flatnonzero(~scores.undefined[row])
        own = scores.scored.scores[row][:, defined]
        if (lacking := np.isnan(own[places]).any(axis=1)).any():
            name = standard.reference[int(np.argmax(lacking))]
            message = f"{name!r} has no scores under {metric.label}, so it cannot be a reference run."
            raise InvalidRequest.at("query.reference", "no-scores", message)
        found = np.where(np.isnan(own), np.nan, standardised(own, places, standard.form))
        table[row][:, defined] = found
        lost = defined[np.isnan(found[places[0]])]
        undefined[row, lost] = True
        alike[metric.label] = [scores.topics[topic] for topic in lost]
    scored = ScoredRuns(table, mean_all(scores.metrics, table), scores.scored.topics_missing)
    return replace(scores, scored=scored, undefined=undefined), alike


def _places(scores: ScoreTable, standard: Standard) -> NDArray[np.intp]:
    place = {run.name: number for number, run in enumerate(scores.runs)}
    if absent := [name for name in standard.reference if name not in place]:
        message = f"The reference run {absent[0]!r} is not on this board. Name runs of the board: reference=RUN."
        raise InvalidRequest.at("query.reference", "unknown-run", message)
    return np.array([place[name] for name in standard.reference], np.intp)
