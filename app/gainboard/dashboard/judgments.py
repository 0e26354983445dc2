"""`/c/{collection}/judgments`: the judgment sets, their versions, and what a draft would change."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from gainboard.api.answers import address
from gainboard.api.dependencies import CollectionName, JudgmentsName, WorkspaceDep
from gainboard.api.judgment_sets import SetName
from gainboard.api.models.common import Page
from gainboard.api.models.judgments import QrelsAnswer, SetState
from gainboard.api.pages import PagingDep
from gainboard.api.qrels import JudgmentsDep, Version, list_qrels
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import PageLook, PrintedRequest, page, pages
from gainboard.dashboard.sessions import FormDep, VisitorDep
from gainboard.evaluation import publication, versions
from gainboard.evaluation.impact import impact
from gainboard.evaluation.qrels import list_versions
from gainboard.evaluation.score_matrices import list_matrices
from gainboard.evaluation.scoring import Question
from gainboard.evaluation.versions import list_sets
from gainboard.store.records import OFFICIAL, VersionName

router = pages()


class JudgmentSetQuery(BaseModel):
    """The query that names a judgment set."""

    judgments: JudgmentsName = OFFICIAL


MOST = 200
MOST_MOVED = 30


@router.get("/c/{collection}/judgments")
def show_judgments(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Show the judgment sets that this visitor may know of, and the versions of one of them."""
    place = enter(workspace, visitor, collection)
    principal, shown = place.view.principal, asked.judgments
    found = list_versions(workspace, principal, collection, shown, None, MOST)
    look = PageLook(f"Judgments of {place.title}", place, "Judgments")
    asking = PrintedRequest.of(request, "qrels", collection, of_set(shown))
    sets, matrices = list_sets(workspace, principal, collection), list_matrices(workspace, principal, collection)
    return page(
        *(request, visitor, "judgments.html", look),
        versions=found[::-1],
        matrices=matrices,
        sets=sets,
        shown=shown,
        of_set=f"?{of_set(shown)}" if of_set(shown) else "",
        asking=asking,
    )


def of_set(judgments: str) -> str:
    """Return the query that names a judgment set; empty for the official one."""
    return "" if judgments == OFFICIAL else f"judgments={judgments}"


@router.get("/c/{collection}/qrels.json")
def read_versions(
    collection: CollectionName,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    paging: PagingDep,
    judgments: JudgmentsDep = OFFICIAL,
) -> Page[QrelsAnswer]:
    """Return the versions of a judgment set, as the API does."""
    return list_qrels(collection, workspace, visitor.principal, paging, judgments)


@router.get("/c/{collection}/judgments/{version}")
def show_impact(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Show what a version changes, compared with the one of its set in use (organisers)."""
    place = enter(workspace, visitor, collection)
    named, in_use = VersionName(asked.judgments, version), VersionName(asked.judgments)
    found = impact(workspace, place.view.principal, collection, named, Question(), against=in_use)
    moved, title = [], str(named)
    for metric in found.metrics:
        columns = zip(found.runs, *metric.means.tolist(), *metric.ranks.tolist(), strict=True)
        rows = sorted(columns, key=lambda row: (-abs(row[4] - row[3]), row[4]))
        moved.append([row for row in rows if row[3] != row[4]][:MOST_MOVED])
    return page(
        request,
        visitor,
        "impact.html",
        PageLook(f"{title[0].upper()}{title[1:]} of {place.title}", place, "Judgments"),
        impact=found,
        moved=moved,
        is_draft=found.version.published_at is None,
        of_set=f"?{of_set(asked.judgments)}" if of_set(asked.judgments) else "",
    )


@router.post("/c/{collection}/judgments/{version}/publish")
def publish(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Publish a version: scores are then those under it."""
    publication.publish(workspace, visitor.principal, collection, VersionName(asked.judgments, version))
    return _back(request, collection, asked.judgments)


@router.post("/c/{collection}/judgments/{version}/discard")
def discard(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
    asked: Annotated[JudgmentSetQuery, Query()],
) -> Response:
    """Discard a draft."""
    publication.discard(workspace, visitor.principal, collection, VersionName(asked.judgments, version))
    return _back(request, collection, asked.judgments)


@router.post("/c/{collection}/judgment-sets/{judgments}/{state}")
def change_set(
    collection: CollectionName,
    judgments: SetName,
    state: SetState,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
) -> Response:
    """Release a judgment set, or hide it again."""
    versions.release(workspace, visitor.principal, collection, judgments, is_released=state == "released")
    return _back(request, collection, OFFICIAL)


def _back(request: Request, collection: str, judgments: str) -> Response:
    query = of_set(judgments)
    path = f"/c/{collection}/judgments" + (f"?{query}" if query else "")
    return RedirectResponse(address(request, path), 303)
