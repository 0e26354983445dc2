"""`/v1/audit` and `/v1/collections/{collection}/audit`: who changed what, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.models.admin import AuditPage, EntryAnswer
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.errors import Forbidden
from gainboard.evaluation import audit
from gainboard.notation.types import Time
from gainboard.store.audit import AuditWanted
from gainboard.store.records import AuditEntry
from gainboard.vocabulary import Action

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


class _AuditQuery:
    def __init__(
        self,
        request: Request,
        action: Annotated[Action | None, Query(description="Only changes of this kind")] = None,
        since: Annotated[Time | None, Query(description="Only changes at this time or later")] = None,
        format: Annotated[
            Literal["json", "ndjson"] | None,
            Query(
                description="`json` returns one page, `ndjson` returns all entries as JSON lines; overrides the "
                "Accept header"
            ),
        ] = None,
    ) -> None:
        self.wanted = AuditWanted(action=action, since=since)
        self.as_lines = format == "ndjson" or (format is None and accepts(request, LINES))


AuditQueryDep = Annotated[_AuditQuery, Depends()]


def _answer(
    workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep, asked: _AuditQuery, name: str | None
) -> Response | AuditPage:
    if asked.as_lines:
        export = audit.export_entries(workspace, principal, name, asked.wanted)
        lines = (audit.line(entry) for entry in export.entries)
        return StreamingResponse(lines, media_type=LINES, headers={"ETag": f'"{export.last}"'})
    entries = audit.list_entries(workspace, principal, name, asked.wanted, paging.after_number, paging.wanted)
    page = paging.page(entries, lambda entry: entry.number, _show)
    return AuditPage(items=page.items, next_cursor=page.next_cursor, verification=HOW)


def _show(entry: AuditEntry) -> EntryAnswer:
    return EntryAnswer.model_validate(entry, from_attributes=True)


@router.get("/audit", response_model=AuditPage, responses=documented(Forbidden, also=EXPORT))
def list_changes(workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep, asked: AuditQueryDep) -> Any:
    """List every change, oldest first (organisers of the instance)."""
    return _answer(workspace, principal, paging, asked, None)


@router.get("/collections/{collection}/audit", response_model=AuditPage, responses=documented(Forbidden, also=EXPORT))
def list_collection_changes(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
    asked: AuditQueryDep,
) -> Any:
    """List the changes to a collection and to what belongs to it, oldest first (organisers)."""
    return _answer(workspace, principal, paging, asked, collection)
