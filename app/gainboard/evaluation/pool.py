"""The pool: the documents that the runs propose for judging."""

from __future__ import annotations

from collections.abc import Iterator

from gainboard.evaluation.principals import Principal
from gainboard.evaluation.rereading import reread
from gainboard.evaluation.versions import index_of
from gainboard.evaluation.visibility import open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.store import qrels, runs


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
