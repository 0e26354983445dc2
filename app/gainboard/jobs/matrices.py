"""The score matrices of a settled request: the same for whoever asks for a job and for whoever works it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gainboard.evaluation.identical import identical_runs
from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.versions import JudgedVersion
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.params import Params
from gainboard.store.records import Collection, Run


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
