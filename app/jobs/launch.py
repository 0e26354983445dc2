"""Asking for a job: who may, what it comes to, and whether it is there already."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from app.evaluation.matrices import Matrices
from app.evaluation.principals import Principal
from app.evaluation.versions import judged_topics, select
from app.evaluation.visibility import View, open_collection
from app.evaluation.workspace import Workspace
from app.jobs.kind import Kind
from app.jobs.labels import Labels
from app.jobs.params import Params
from app.jobs.plan import sizes_of_chunks
from app.store import jobs, runs
from app.store.database import Transaction
from app.store.records import Collection, Job, Qrels, Run

ALGORITHM_VERSION = 1
"""Counted on whenever a result may come out differently: then what was computed before no longer answers."""


@dataclass(frozen=True)
class Order:
    """A settled request, with all that its result depends on. Equal orders have equal ids."""

    kind: Kind[Any]
    params: Params
    collection: Collection
    qrels: Qrels
    candidates: list[Run]
    matrices: Matrices

    @property
    def id(self) -> str:
        """The job's id: SHA-256 of the algorithm's version, the request, and the files that it is about."""
        files = [[run.name, run.team, run.sha256] for run in self.candidates]
        judgments = [self.qrels.version, self.qrels.sha256]
        asked = [self.kind.name, self.params.shown()]
        known = [ALGORITHM_VERSION, self.collection.uuid, self.collection.name, *asked, judgments, files]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def order(workspace: Workspace, tx: Transaction, view: View, kind: Kind[Any], params: Params) -> Order:
    """Settles a request for whoever may see the judgments; raises BadInput on what is asked."""
    view.require_judgments()
    collection = view.collection
    settled = params.settled(Labels(collection, params.defaults()))
    version = select(tx, view, params.qrels)
    selection = settled.selection()
    candidates = selection.candidates(runs.page(tx, collection.id, team_id=view.only_team), collection.name)
    judged = judged_topics(workspace, tx, version)
    matrices = Matrices(workspace, collection, version, judged, candidates, selection)
    return Order(kind, settled, collection, version, candidates, matrices)


def launch(workspace: Workspace, principal: Principal, name: str, kind: Kind[Any], params: Params) -> Job:
    """The job that answers this request: a new one, or that of an equal request on the same data."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        token = principal.require_token()
        asked = order(workspace, tx, view, kind, params)
        if (known := jobs.find(tx, asked.id)) and known.state in ("queued", "running", "succeeded"):
            return known
    sizes = sizes_of_chunks(kind.analysis(asked.matrices, asked.params).parts())
    with workspace.database.writing() as tx:
        return jobs.add(
            tx,
            workspace.now(),
            sizes,
            id=asked.id,
            collection_id=asked.collection.id,
            kind=kind.name,
            params=asked.params.shown(),
            qrels_id=asked.qrels.id,
            run_ids=[run.id for run in asked.candidates],
            token_id=token.id,
        )
