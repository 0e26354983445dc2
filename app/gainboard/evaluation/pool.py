"""The pool: the documents that runs propose for judging, and the shares of judged ones by rank and in whole runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import NoQrels
from gainboard.evaluation.judged_runs import judged_runs
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.rereading import reread
from gainboard.evaluation.scoring import ScoreTable
from gainboard.evaluation.selection import visible_runs
from gainboard.evaluation.turns import spend
from gainboard.evaluation.versions import JudgedVersion, index_of, select
from gainboard.evaluation.visibility import View, open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import judged_share
from gainboard.store import qrels, runs
from gainboard.store.records import NEWEST, Run


def pool(workspace: Workspace, principal: Principal, name: str, depth: int) -> Iterator[str]:
    """Yield the documents to judge: sorted `topic document` lines.

    Judged documents have their level as a third column.
    """
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_organiser()
        collection = view.collection
        pooled = [run for run in runs.page(tx, collection.id) if run.pooled]
        newest = qrels.find(tx, collection.id)
    documents: set[tuple[bytes, bytes]] = set()
    # The files are read again, because stored rankings contain only the judged documents.
    for run in pooled:
        reread(
            workspace,
            collection,
            run,
            collection.order_by,
            lambda rankings: documents.update(
                (ranking.topic.encode(), document) for ranking in rankings for document in ranking.documents[:depth]
            ),
        )
    levels = index_of(workspace, collection, newest).levels if newest else {}
    for topic, document in sorted(documents):
        level = levels.get(topic.decode(), {}).get(document)
        mark = "" if level is None else f" {collection.level_name(level)}"
        yield f"{topic.decode()} {document.decode()}{mark}\n"


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
