"""Asking for a job: who may, what it comes to, and whether it is there already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.errors import BadExpression, BadGains, InvalidRequest, TooManyJobs
from app.evaluation import audit
from app.evaluation.matrices import Matrices
from app.evaluation.principals import Principal
from app.evaluation.versions import judged_topics, select
from app.evaluation.visibility import View, open_collection
from app.evaluation.workspace import Workspace
from app.jobs.kind import Kind
from app.jobs.labels import Labels
from app.jobs.params import Params
from app.jobs.places import located
from app.jobs.plan import CHUNK_SECONDS, sizes_of_chunks
from app.metrics import Scale
from app.store import jobs, runs
from app.store.database import Transaction
from app.store.records import Collection, Job, Qrels, Run

MOST_OPEN = 200
"""Jobs of one token that are queued or running: each look for work passes over all that are open."""
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
        """The job's id."""
        return identity(self.kind, self.params, self.collection, self.qrels, self.candidates)


def identity(
    kind: Kind[Any], settled: Params, collection: Collection, version: Qrels, candidates: Sequence[Run]
) -> str:
    """A job's id: SHA-256 of the algorithm's version, the settled request, and the files that it is about."""
    files = [[run.name, run.team, run.sha256] for run in candidates]
    judgments = [version.version, version.sha256]
    asked = [kind.name, settled.shown()]
    known = [ALGORITHM_VERSION, collection.uuid, collection.name, *asked, judgments, files]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def settle(collection: Collection, params: Params) -> Params:
    """The settled request, which may be asked as it is. Raises BadExpression or BadGains, with the place of what
    cannot be read, and InvalidRequest for what is within its limits only until it is settled."""
    defaults = params.defaults()
    labels = Labels(collection, defaults)
    try:
        return _askable(params.settled(labels))
    except (BadExpression, BadGains) as error:
        scale = Scale(collection.highest_level, collection.depth)
        raise located(error, labels, params.model_dump(), defaults, scale) from error


def _askable(settled: Params) -> Params:
    # Who works the job reads it as a request: a baseline may be one metric too many, and a label longer than its text.
    try:
        type(settled).model_validate(settled.shown())
    except ValidationError as error:
        (fault, *_) = error.errors(include_url=False, include_context=False)
        message = f"Once defaults and labels are filled in: {fault['msg']}."
        raise InvalidRequest.at(f"body.params.{fault['loc'][0]}", fault["type"].replace("_", "-"), message) from error
    return settled


def order(workspace: Workspace, tx: Transaction, view: View, kind: Kind[Any], params: Params) -> Order:
    """Settles a request for whoever may see the judgments; raises BadInput on what is asked."""
    view.require_free_scores()
    collection = view.collection
    settled = settle(collection, params)
    version = select(tx, view, params.qrels)
    selection = settled.selection()
    candidates = selection.candidates(runs.page(tx, collection.id, team_id=view.only_team), collection.name)
    judged = judged_topics(workspace, tx, version)
    matrices = Matrices(workspace, collection, version, judged, candidates, selection)
    return Order(kind, settled, collection, version, candidates, matrices)


def launch(
    workspace: Workspace,
    principal: Principal,
    name: str,
    kind: Kind[Any],
    params: Params,
    chunk_seconds: float = CHUNK_SECONDS,
) -> Job:
    """The job that answers this request: a new one, or that of an equal request on the same data."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        token = principal.require_token()
        asked = order(workspace, tx, view, kind, params)
        if (known := jobs.find(tx, asked.id)) and known.state in ("queued", "running", "succeeded"):
            return known
    sizes = sizes_of_chunks(kind.analysis(asked.matrices, asked.params).parts(), chunk_seconds)
    with workspace.database.writing() as tx:
        if (count := jobs.count_open(tx, token.id)) >= MOST_OPEN:
            raise TooManyJobs(f"This token has {count} jobs queued or running; at most {MOST_OPEN} at once.")
        job, is_queued = jobs.add(
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
        if is_queued:
            audit.record(tx, principal, "job-launched", job.id, asked.collection, kind=kind.name, params=job.params)
    return job
