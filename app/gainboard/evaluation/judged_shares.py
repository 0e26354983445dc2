"""The shares of judged documents, by rank and in whole runs: where the pool is thin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import NoQrels
from gainboard.evaluation.judged_runs import judged_runs
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.scoring import ScoreTable
from gainboard.evaluation.selection import visible_runs
from gainboard.evaluation.turns import spend
from gainboard.evaluation.versions import JudgedVersion, select
from gainboard.evaluation.visibility import View, open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import judged_share
from gainboard.store import runs
from gainboard.store.records import NEWEST, Run

DEPTH: Final = 100
MOST_RUNS: Final = 500
"""The most runs in one request, the first by name: each takes about a millisecond on 50 topics."""
SHARE_SECONDS: Final = 2e-5
"""The approximate time for the shares of a run on one topic."""


@dataclass(frozen=True)
class JudgedShares:
    """`shares` float64 [runs, depth]: the share of judged documents among the first r (see `judged_share`)."""

    runs: Sequence[Run]
    shares: NDArray[np.float64]
    run_count: int
    """The number of runs of the collection, of which the first are here."""


def judged_shares(workspace: Workspace, principal: Principal, name: str) -> JudgedShares:
    """Return the shares of the runs: for organisers, and for all who see the judgments.

    Raise JudgmentsHidden for others, and NoQrels without judgments.
    """
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        version = JudgedVersion.of(workspace, tx, select(tx, view, NEWEST))
        every = visible_runs(workspace, tx, view, None)
    if not every:
        raise NoQrels(f"{name!r} has no runs yet, so nothing of them is judged.")
    chosen, depth = every[:MOST_RUNS], min(DEPTH, view.collection.depth)
    spend(len(chosen) * len(version.topics.topics) * SHARE_SECONDS, is_chosen=False)
    judged = judged_runs(workspace, view.collection, version, chosen, exact=False)
    return JudgedShares(chosen, np.stack([judged_share(run, depth) for run in judged]), len(every))


def whole_shares(workspace: Workspace, view: View, table: ScoreTable) -> dict[str, float]:
    """Return the share of judged documents of each run of a score table, to any rank, by the run's name.

    It is empty for those who do not see the judgments.
    """
    if not view.sees_judgments:
        return {}
    with workspace.database.reading() as tx:
        found = runs.judgings(tx, [run.id for run in table.runs], table.qrels.id)
    unjudged = {run.name: found[run.id].unjudged_share for run in table.runs if run.id in found}
    return {name: 1 - share for name, share in unjudged.items() if share is not None}
