"""Reports as their principals see them: found, listed and cancelled.

A report is there for whoever may see all of its jobs, and for nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from gainboard.errors import Forbidden, NotFound
from gainboard.evaluation import audit
from gainboard.evaluation.names import is_slug
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.visibility import View, look, open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections, qrels, reports
from gainboard.store.database import Transaction
from gainboard.store.job_records import Chapter, Report
from gainboard.store.records import Collection


@dataclass(frozen=True, slots=True)
class SeenReport:
    """A report, and the collections that it is about, in its order."""

    report: Report
    collections: tuple[Collection, ...]


def find_report(workspace: Workspace, principal: Principal, identity: str) -> SeenReport:
    """The report of this id.

    Raises NotFound, the same whether it is absent, or one of its collections is deleted or its judgments hidden;
    NotAuthenticated for the same without a token.
    """
    with workspace.database.reading() as tx:
        return _find(tx, principal, identity)[0]


def _find(tx: Transaction, principal: Principal, identity: str) -> tuple[SeenReport, list[View]]:
    report = reports.find(tx, identity) if is_slug(identity) else None
    views = _views(tx, principal, report) if report else None
    if report is None or views is None:
        principal.require_token()
        raise NotFound(f"There is no report {identity!r} here.")
    return _seen(report, views), views


def _seen(report: Report, views: Sequence[View]) -> SeenReport:
    return SeenReport(report, tuple(view.collection for view in views))


def _views(tx: Transaction, principal: Principal, report: Report) -> list[View] | None:
    """The principal's views of the report's collections; None where it does not see one of its jobs."""
    found = [_view(tx, principal, chapter) for chapter in report.chapters]
    views = [view for view in found if view is not None]
    return views if len(views) == len(found) else None


def _view(tx: Transaction, principal: Principal, chapter: Chapter) -> View | None:
    collection = collections.of_id(tx, chapter.collection_id)
    view = look(principal, collection) if collection.deleted_at is None else None
    return view if view and view.sees_free_scores and _sees_qrels(tx, view, chapter) else None


def _sees_qrels(tx: Transaction, view: View, chapter: Chapter) -> bool:
    """Whether the version that it is about is there for them: a draft is for organisers only, and may be discarded."""
    if chapter.jobs:
        return view.organises or not any(job.on_draft for job in chapter.jobs.values())
    judged = qrels.find(tx, chapter.collection_id, chapter.about["qrels_version"])
    return judged is not None and (view.organises or judged.published_at is not None)


def list_reports(
    workspace: Workspace, principal: Principal, collection: str | None, name: str | None, before: int | None, limit: int
) -> Sequence[SeenReport]:
    """Reports that this principal sees, newest first: those with numbers less than `before`.

    About one collection, or about any. Raises JudgmentsHidden for one whose judgments are.
    """
    with workspace.database.reading() as tx:
        only = _only(tx, principal, collection)
        every = _every(partial(reports.page, tx, limit=limit, collection_id=only, name=name), before)
        # What a page of the table holds may be hidden from this principal, all of it.
        seen = (_seen(report, views) for report in every if (views := _views(tx, principal, report)))
        return list(islice(seen, limit))


def _every(page: Callable[..., list[Report]], before: int | None) -> Iterator[Report]:
    while found := page(before=before):
        yield from found
        before = found[-1].number


def _only(tx: Transaction, principal: Principal, name: str | None) -> int | None:
    if name is None:
        return principal.require_token().collection_id
    view = open_collection(tx, principal, name)
    view.require_free_scores()
    return view.collection.id


def cancel_report(workspace: Workspace, principal: Principal, identity: str) -> tuple[SeenReport, bool]:
    """The report, and whether this cancelled it; one that is over stays as it is.

    Raises Forbidden for whoever neither organises all of its collections nor asked for it, with the same token.
    """
    with workspace.database.writing() as tx:
        seen, views = _find(tx, principal, identity)
        token = principal.require_token()
        if token.id != seen.report.token_id and not all(view.organises for view in views):
            raise Forbidden("Only who asked for a report cancels it, and organisers of all of its collections.")
        if seen.report.is_over:
            return seen, False
        reports.cancel(tx, seen.report, workspace.now())
        for view in views:
            audit.record(tx, principal, "report-cancelled", identity, view.collection, name=seen.report.name)
        return _find(tx, principal, identity)[0], True
