"""`/c/{collection}/judgments`: the versions of the qrels, and what a draft would change."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from gainboard.api.answers import address
from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.api.models.answers import Page
from gainboard.api.models.qrels import ShownQrels
from gainboard.api.pages import PagingDep
from gainboard.api.qrels import Version, list_qrels
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import Look, page, pages
from gainboard.dashboard.requests import ShownRequest
from gainboard.dashboard.sessions import FormDep, VisitorDep
from gainboard.evaluation import publication
from gainboard.evaluation.impact import impact
from gainboard.evaluation.qrels import versions
from gainboard.evaluation.score_matrices import list_matrices
from gainboard.evaluation.scoring import Question

router = pages()
MOST = 200
MOST_MOVED = 30


@router.get("/c/{collection}/judgments")
def show_judgments(
    collection: CollectionName, request: Request, workspace: WorkspaceDep, visitor: VisitorDep
) -> Response:
    """Show the versions that this visitor may know of."""
    place = enter(workspace, visitor, collection)
    found = versions(workspace, place.view.principal, collection, None, MOST)
    look = Look(f"Judgments of {place.title}", place, "Judgments")
    asking = ShownRequest.of(request, "qrels", collection, "")
    matrices = list_matrices(workspace, place.view.principal, collection)
    return page(request, visitor, "judgments.html", look, versions=found[::-1], matrices=matrices, asking=asking)


@router.get("/c/{collection}/qrels.json")
def read_versions(
    collection: CollectionName, workspace: WorkspaceDep, visitor: VisitorDep, paging: PagingDep
) -> Page[ShownQrels]:
    """Return the versions, as the API does."""
    return list_qrels(collection, workspace, visitor.principal, paging)


@router.get("/c/{collection}/judgments/{version}")
def show_impact(
    collection: CollectionName, version: Version, request: Request, workspace: WorkspaceDep, visitor: VisitorDep
) -> Response:
    """Show what a version changes, compared with the one in use (organisers)."""
    place = enter(workspace, visitor, collection)
    found = impact(workspace, place.view.principal, collection, version, Question())
    moved = []
    for metric in found.metrics:
        columns = zip(found.runs, *metric.means.tolist(), *metric.ranks.tolist(), strict=True)
        rows = sorted(columns, key=lambda row: (-abs(row[4] - row[3]), row[4]))
        moved.append([row for row in rows if row[3] != row[4]][:MOST_MOVED])
    return page(
        request,
        visitor,
        "impact.html",
        Look(f"Version {version} of {place.title}", place, "Judgments"),
        impact=found,
        moved=moved,
        is_draft=found.version.published_at is None,
    )


@router.post("/c/{collection}/judgments/{version}/publish")
def publish(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
) -> Response:
    """Publish a version: scores are then those under it."""
    publication.publish(workspace, visitor.principal, collection, version)
    return RedirectResponse(address(request, f"/c/{collection}/judgments"), 303)


@router.post("/c/{collection}/judgments/{version}/discard")
def discard(
    collection: CollectionName,
    version: Version,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    form: FormDep,
) -> Response:
    """Discard a draft."""
    publication.discard(workspace, visitor.principal, collection, version)
    return RedirectResponse(address(request, f"/c/{collection}/judgments"), 303)
