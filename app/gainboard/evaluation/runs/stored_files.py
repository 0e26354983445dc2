"""Stored runs, read again from their files as they were uploaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from gainboard.errors import Conflict, FaultyFile
from gainboard.evaluation.runs.join import JudgedFile, QrelsIndex, judge
from gainboard.evaluation.runs.run_files import (
    NO_LIMITS,
    Chunks,
    RunFile,
    TopDocuments,
    read_run,
    read_run_file,
    read_top_documents,
)
from gainboard.evaluation.workspace import Workspace
from gainboard.store import blobs
from gainboard.store.records import Collection, Run
from gainboard.trec import Ranking
from gainboard.vocabulary import RunOrder

T = TypeVar("T")


def reread(
    workspace: Workspace,
    collection: Collection,
    run: Run,
    order: RunOrder,
    consume: Callable[[Iterable[Ranking]], T],
    *,
    further: int = 0,
) -> T:
    """Pass the rankings of a stored run, in this order, to `consume`. The file is read as it was uploaded.

    `further` is a number of documents that are read beyond the collection's depth.

    A run that has answers alone has no rankings. Raise Conflict if the file cannot be read in this order, which may
    differ from the order at its upload.
    """
    if not run.has_ranking:
        return consume(())
    with _naming(run, order):
        _, result = read_run(_content(workspace, run), order, collection.depth + further, NO_LIMITS, consume)
    return result


def judge_again(
    workspace: Workspace, collection: Collection, run: Run, order: RunOrder, index: QrelsIndex
) -> JudgedFile:
    """Return the join of a stored run, in this order, with a qrels version. Raise Conflict as `reread` does."""
    with _naming(run, order):
        read = read_again(workspace, collection, run, order, index)
    assert read.joined is not None
    return read.joined


def read_again(
    workspace: Workspace, collection: Collection, run: Run, order: RunOrder, index: QrelsIndex | None
) -> RunFile:
    """Return the content of a stored run in this order, joined with a qrels version if there is one.

    Raise FaultyFile if it has faults that it did not have under the order of its upload.
    """
    if not run.has_ranking:
        return RunFile(run.tag, [], [], 0, judge((), index) if index else None)
    # Without limits: they may have become stricter since the file was accepted.
    return read_run_file(_content(workspace, run), order, collection.depth, NO_LIMITS, index)


def top_documents(workspace: Workspace, collection: Collection, run: Run, order: RunOrder, depth: int) -> TopDocuments:
    """Return the first documents of each topic of a stored run, in this order. Raise Conflict as `reread` does."""
    if not run.has_ranking:
        raise Conflict(f"The run {run.name!r} has answers and no ranking, so it has no documents. Leave it out.")
    with _naming(run, order):
        return read_top_documents(_content(workspace, run), order, min(depth, collection.depth), NO_LIMITS)


def _content(workspace: Workspace, run: Run) -> Chunks:
    return lambda: blobs.get(workspace.database, run.sha256)


@contextmanager
def _naming(run: Run, order: RunOrder) -> Iterator[None]:
    # A run that came after a change of order was never checked for valid ranks, but an older version may use ranks.
    try:
        yield
    except FaultyFile as error:
        raise Conflict(
            f"The run {run.name!r} of {run.team!r} cannot be ordered by {order}, as this qrels version needs: "
            f"{error.message}. Leave this run out, or choose another version."
        ) from error
