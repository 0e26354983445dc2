"""Identical runs of a team, of which the papers keep only one, and runs that nearly repeat another one."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from gainboard.evaluation.judgments.versions import JudgedVersion
from gainboard.evaluation.runs.stored_files import reread
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.evaluation.scoring.scorer import judged_runs
from gainboard.evaluation.workspace import Workspace, WorkspaceCache
from gainboard.metrics import JudgedRun
from gainboard.statistics.agreement import NONE, repeated_runs
from gainboard.store.records import Collection, Run
from gainboard.trec import Ranking
from gainboard.vocabulary import RunOrder

FIRST_RANKS = 10
"""The ranks on which runs may repeat each other although they differ below."""
RANKED_DIGESTS: WorkspaceCache[tuple[int, RunOrder], bytes] = WorkspaceCache(10_000)
"""A cache of hashes of rankings, by the run's id and the order of its documents."""


def identical_runs(
    workspace: Workspace, collection: Collection, version: JudgedVersion, candidates: Sequence[Run]
) -> dict[str, str]:
    """Map each duplicate run to the earlier run of its team that it repeats, by name, in order of name.

    Identical runs rank the same documents alike for every topic, in the order of `version` and cut to the collection's
    depth. Tags, retrieval scores and bytes may differ. Runs whose joins with `version` differ cannot be identical, so
    files are read only for the others.
    """
    ordered = sorted(candidates, key=lambda run: run.name)
    several = [run for group in _alike(ordered, lambda run: run.team_id) for run in group]
    # Cheap comparisons come first: only runs with equal joins can be identical, and only their files are read.
    joined = judged_runs(workspace, collection, version, several, exact=False)
    judged = {run.id: _judged_digest(judged_run) for run, judged_run in zip(several, joined, strict=True)}
    suspects = [run for group in _alike(several, lambda run: (run.team_id, judged[run.id])) for run in group]
    ranked = {run.id: _ranked_digest(workspace, collection, run, version.qrels.order) for run in suspects}
    groups = _alike(suspects, lambda run: (run.team_id, ranked[run.id]))
    return {run.name: first.name for first, *others in groups for run in others}


def near_duplicates(matrices: Matrices) -> list[dict[str, Any]]:
    """Return the runs that nearly repeat an earlier one of an analysis, of any team, and on which topics they differ.

    They have the same levels at the same ranks on nearly all topics, so that all metrics score them alike there
    (`repeated_runs`): at all ranks, or at the first `FIRST_RANKS`, which decide most metrics. Unlike `identical_runs`,
    this does not look at documents that are not relevant.
    """
    names, repetitions = [run.name for run in matrices.runs], dict[int, dict[str, Any]]()
    for ranks in (None, FIRST_RANKS):
        # From the judged rankings, which an analysis has in memory anyway: no file is read for this.
        marks = matrices.marks(ranks)
        repeated = repeated_runs(marks)
        for run in np.flatnonzero(repeated != NONE).tolist():
            if run not in repetitions:
                topics = np.flatnonzero(marks[run] != marks[repeated[run]]).tolist()
                repetitions[run] = {
                    "run": names[run],
                    "repeats": names[repeated[run]],
                    "topics": [matrices.topics[topic] for topic in topics],
                    "first_ranks": ranks,
                }
    return [repetitions[run] for run in sorted(repetitions)]


def _alike(runs: Iterable[Run], key: Callable[[Run], Hashable]) -> Iterator[list[Run]]:
    """Yield the runs of each key that several runs share, in their order."""
    groups: defaultdict[Hashable, list[Run]] = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return (group for group in groups.values() if len(group) > 1)


def _judged_digest(run: JudgedRun) -> bytes:
    digest = hashlib.sha256()
    # Without retrieval scores, which may differ between runs that rank alike.
    for column in (run.starts, run.rank, run.level, run.retrieved):
        digest.update(column.tobytes())
    return digest.digest()


def _ranked_digest(workspace: Workspace, collection: Collection, run: Run, order: RunOrder) -> bytes:
    def digest(rankings: Iterable[Ranking]) -> bytes:
        # Ids contain no white space, so a joined text is unambiguous. Topics are sorted, because files may have any
        # order.
        topics = (b"\n".join([ranking.topic.encode(), *ranking.documents]) for ranking in rankings)
        return hashlib.sha256(b"".join(sorted(hashlib.sha256(topic).digest() for topic in topics))).digest()

    kept = RANKED_DIGESTS.of(workspace)
    return kept.get((run.id, order), lambda: reread(workspace, collection, run, order, digest))
