"""Scores of single runs, kept from one request for the next: a new run among many leaves the others' as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from gainboard.evaluation.workspace import ScoredRun, Workspace
from gainboard.store.records import Qrels, Run


def under(labels: Sequence[str]) -> bytes:
    """The metrics of these labels, as keys have them: of one length, for labels are the client's choice."""
    return sha256("\n".join(labels).encode()).digest()


def scored_runs(
    workspace: Workspace,
    version: Qrels,
    chosen: Sequence[Run],
    labels: Sequence[str],
    make: Callable[[Sequence[Run]], Iterable[ScoredRun]],
) -> list[ScoredRun]:
    """The scores of the runs, in their order, under the metrics of these labels; those not in memory are made.

    Neither a run, nor a qrels version, nor what a label means for them ever changes.
    """
    kept, asked = workspace.scored_runs, under(labels)
    found = {run.id: kept.find((version.id, run.id, asked)) for run in chosen}
    missing = [run for run in chosen if found[run.id] is None]
    for run, scored in zip(missing, make(missing) if missing else (), strict=True):
        found[run.id] = kept.keep((version.id, run.id, asked), scored)
    return [scored for scored in found.values() if scored is not None]
