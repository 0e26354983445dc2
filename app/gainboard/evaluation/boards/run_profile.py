"""One run by rank: how much of it is judged, what it gains, and its precision by recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.judgments.versions import JudgedVersion, select
from gainboard.evaluation.scoring.binding import scale_of
from gainboard.evaluation.scoring.judged_runs import judged_runs
from gainboard.evaluation.scoring.selection import visible_runs
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import CurvesOfRun, JudgedRuns, judged_share, query_parameters
from gainboard.store.records import NEWEST, Collection, Qrels, Run, VersionName

Floats = NDArray[np.float64]
DEPTH: Final = 100
"""The deepest rank that is shown unless the request names another."""


@dataclass(frozen=True)
class RunProfile:
    """The curves of a run under one gain setting. All are means over topics, NaN if no topic counts.

    - `judged_share` float64 [depth]: the share of judged documents among the first r (see the function `judged_share`).
    - `gain` and `ideal_gain` float64 [depth]: the cumulated gain at rank r, and that of the ideal ranking.
    - `precision` float64 [11]: the interpolated precision at recall 0, 0.1, ..., 1.
    """

    collection: Collection
    qrels: Qrels
    run: Run
    gains: str
    rel: int
    topics_scored: int
    """The number of topics with a document of level `rel` or a higher one, which `precision` is about."""
    judged_share: Floats
    gain: Floats
    ideal_gain: Floats
    precision: Floats


def run_profile(
    workspace: Workspace,
    principal: Principal,
    name: str,
    run: str,
    *,
    gains: str | None = None,
    rel: str = "1",
    depth: int = DEPTH,
    qrels: VersionName = NEWEST,
) -> RunProfile:
    """Return the curves of a run; by default under the collection's gains.

    Raise JudgmentsHidden unless the judgments are shown, NotFound for an unknown run, and BadGains or BadExpression for
    a bad gain setting or threshold.
    """
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        collection = view.collection
        scale, parameters = scale_of(collection), query_parameters()
        setting = parameters["gains"].read(gains or collection.gains, scale)
        lowest = parameters["rel"].read(rel, scale)
        version = JudgedVersion.of(workspace, tx, select(tx, view, qrels))
        (chosen,) = visible_runs(workspace, tx, view, [run])
    (judged,) = judged_runs(workspace, collection, version, [chosen], exact=False)
    judgments = version.topics.judgments
    curves = CurvesOfRun(JudgedRuns.of([judged], judgments), 0, lowest)
    return RunProfile(
        collection,
        version.qrels,
        chosen,
        setting.label,
        lowest,
        int(np.count_nonzero(judgments.level_counts[:, lowest:].any(axis=1))),
        judged_share(judged, depth),
        curves.gain(setting, 2.0, depth)["CG"],
        curves.ideal_gain(setting, depth),
        curves.precision_recall(),
    )
