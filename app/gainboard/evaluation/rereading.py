"""Stored runs, read again from their files as they were uploaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from gainboard.evaluation.judging import JudgedFile, QrelsIndex
from gainboard.evaluation.reading import NO_LIMITS, read_run, read_run_file
from gainboard.evaluation.workspace import Workspace
from gainboard.store import blobs
from gainboard.store.records import Collection, Run
from gainboard.trec import Ranking

T = TypeVar("T")


def reread(workspace: Workspace, collection: Collection, run: Run, consume: Callable[[Iterable[Ranking]], T]) -> T:
    """Feeds the rankings of a stored run to `consume`, from the file as it was uploaded."""
    _, result = read_run(
        lambda: blobs.get(workspace.database, run.sha256), collection.order_by, collection.depth, NO_LIMITS, consume
    )
    return result


def rejudged(workspace: Workspace, collection: Collection, run: Run, index: QrelsIndex) -> JudgedFile:
    """The join of a stored run with a qrels version."""
    read = read_run_file(
        lambda: blobs.get(workspace.database, run.sha256), collection.order_by, collection.depth, NO_LIMITS, index
    )
    assert read.joined is not None
    return read.joined
