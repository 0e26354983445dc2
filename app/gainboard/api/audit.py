"""`/v1/audit` and `/v1/collections/{collection}/audit`: who changed what, and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.models.admin import AuditPage, EntryAnswer
from gainboard.api.pages import Paging, PagingDep
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.errors import Forbidden
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.queries import AuditQuery
from gainboard.store.audit import AuditWanted
from gainboard.store.records import AuditEntry

router = APIRouter(prefix="/v1", tags=["audit"], responses=documented(), route_class=CheckedRoute)

LINES = "application/x-ndjson"
EXPORT: Mapping[int, dict[str, Any]] = {
    200: {
        "content": {LINES: {"schema": {"type": "string"}}},
        "description": "One page of entries as JSON, or all entries as JSON lines",
    }
}
HOW = (
    "`hash` is the SHA-256 of the entry's canonical JSON (RFC 8785) without `hash`, and `previous` the hash of the "
    "entry whose number is one less (64 zeros for the first). `gainboard audit verify FILE` verifies the JSON lines of "
    "`/v1/audit?format=ndjson`, and with `--gaps` those of a collection or of a filter."
)


AuditQueryDep = Annotated[AuditQuery, asked_by(AuditQuery)]


def _answer(
    request: Request, workspace: Workspace, principal: Principal, paging: Paging, asked: AuditQuery, name: str | None
) -> Response | AuditPage:
    form, since = asked.get("format"), cast("datetime | None", asked.get("since"))
    wanted = AuditWanted(action=asked.get("action"), since=since)
    if form == "ndjson" or (form is None and accepts(request, LINES)):
        export = audit.export_entries(workspace, principal, name, wanted)
        lines = (audit.line(entry) for entry in export.entries)
        return StreamingResponse(lines, media_type=LINES, headers={"ETag": f'"{export.last}"'})
    entries = audit.list_entries(workspace, principal, name, wanted, paging.after_number, paging.wanted)
    page = paging.page(entries, lambda entry: entry.number, _show)
    return AuditPage(items=page.items, next_cursor=page.next_cursor, verification=HOW)


def _show(entry: AuditEntry) -> EntryAnswer:
    return EntryAnswer.model_validate(entry, from_attributes=True)


@router.get("/audit", response_model=AuditPage, responses=documented(Forbidden, also=EXPORT))
def list_changes(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep, asked: AuditQueryDep
) -> Any:
    """List every change, oldest first (organisers of the instance)."""
    return _answer(request, workspace, principal, paging, asked, None)


@router.get("/collections/{collection}/audit", response_model=AuditPage, responses=documented(Forbidden, also=EXPORT))
def list_collection_changes(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
    asked: AuditQueryDep,
) -> Any:
    """List the changes to a collection and to what belongs to it, oldest first (organisers)."""
    return _answer(request, workspace, principal, paging, asked, collection)
