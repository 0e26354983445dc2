"""The score matrices of a settled request: the same for whoever asks for a job and for whoever works it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.evaluation.identical import identical_runs
from app.evaluation.matrices import Matrices
from app.evaluation.versions import JudgedVersion
from app.evaluation.workspace import Workspace
from app.jobs.params import Params
from app.store.records import Collection, Run


def matrices_of(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    others: Mapping[int, JudgedVersion],
    candidates: Sequence[Run],
    settled: Params,
) -> Matrices:
    """What the request's analysis starts from. `others` are the versions that it names beside its own, by number.

    It reads runs where identical ones are to be left out: outside of transactions.
    """
    drop = settled.drop_identical
    left_out = identical_runs(workspace, collection, version.qrels, candidates) if drop else {}
    kept = [run for run in candidates if run.name not in left_out]
    selection = settled.selection()
    return Matrices(workspace, collection, version.qrels, version.topics, kept, selection, others, left_out)
