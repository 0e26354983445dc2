"""`/v1/tokens`: the tokens of organisers of the instance"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.idempotency import FingerprintDep, IdempotencyKey
from gainboard.api.pages import Page, PagingDep
from gainboard.api.problems import documented
from gainboard.api.texts import Text
from gainboard.api.tokens import ON_SECRET, Expiry, TokenId, shown_once
from gainboard.errors import Conflict, Forbidden
from gainboard.evaluation import organisers
from gainboard.evaluation.tokens import NewToken as NewSecret
from gainboard.store.records import Token

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], responses=documented())


class NewOrganiser(BaseModel):
    """A further organiser of the instance, who may do everything."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"holder": "R. Mokoena"}]})

    holder: Text | None = Field(None, description="Who holds it, in your words")
    expires_at: Expiry = None


class ShownOrganiser(BaseModel):
    """The record of an organiser's token; the token itself is not known to the service."""

    id: str
    role: Literal["organiser"]
    origin: str = Field(description="`environment`: GAINBOARD_ADMIN_TOKEN; `first-start`; or `created` here")
    holder: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute, or an earlier time where the service was busy")


class CreatedOrganiser(ShownOrganiser):
    """A new organiser's token: `token` is shown this once."""

    token: str


def _show(token: Token) -> ShownOrganiser:
    return ShownOrganiser.model_validate(token, from_attributes=True)


@router.post("", status_code=201, response_model=CreatedOrganiser, responses=documented(*ON_SECRET))
def create_organiser(
    sent: NewOrganiser,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Make a token of a further organiser of the instance (its organisers). It is shown this once."""

    def act() -> NewSecret:
        return organisers.create(workspace, principal, sent.holder, sent.expires_at)

    return shown_once(workspace, principal, request, idempotency_key, fingerprint, act, CreatedOrganiser, "/v1/tokens")


@router.get("", responses=documented(Forbidden))
def list_organisers(workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep) -> Page[ShownOrganiser]:
    """The tokens of organisers of the instance, revoked ones too (its organisers)."""
    found = organisers.listed(workspace, principal, paging.after, paging.wanted)
    return paging.page(found, lambda each: each.id, _show)


@router.get("/{token}", responses=documented(Forbidden))
def read_organiser(token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep) -> ShownOrganiser:
    """One of them (organisers of the instance)."""
    return _show(organisers.found(workspace, principal, token))


@router.delete("/{token}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict))
def revoke_organiser(token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Revoke one for good, but for the last one that is valid, and for the admin token (organisers of the instance)."""
    organisers.revoke(workspace, principal, token)
