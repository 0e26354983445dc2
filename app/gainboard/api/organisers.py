"""`/v1/tokens`: the tokens of the instance's organisers."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.idempotency import FingerprintDep, IdempotencyKey
from gainboard.api.models.admin import CreatedOrganiser, NewOrganiser, OrganiserAnswer
from gainboard.api.models.common import Page
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.api.tokens import ON_SECRET, TokenId, shown_once
from gainboard.errors import Conflict, Forbidden
from gainboard.evaluation.access import organisers
from gainboard.evaluation.access.tokens import IssuedToken
from gainboard.store.access_records import Token

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], responses=documented(), route_class=CheckedRoute)


def _show(token: Token) -> OrganiserAnswer:
    return OrganiserAnswer.model_validate(token, from_attributes=True)


@router.post("", status_code=201, response_model=CreatedOrganiser, responses=documented(*ON_SECRET))
def create_organiser(
    sent: NewOrganiser,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Create a token for another organiser of the instance (its organisers). The token is shown only this once."""

    def act() -> IssuedToken:
        return organisers.create(workspace, principal, sent.holder, sent.expires_at)

    permit = principal.require_instance_organiser
    return shown_once(
        workspace, principal, request, idempotency_key, fingerprint, act, CreatedOrganiser, "/v1/tokens", permit
    )


@router.get("", responses=documented(Forbidden))
def list_organisers(workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep) -> Page[OrganiserAnswer]:
    """List the tokens of the instance's organisers, with revoked ones (organisers of the instance)."""
    found = organisers.list_organisers(workspace, principal, paging.after, paging.wanted)
    return paging.page(found, lambda each: each.id, _show)


@router.get("/{token}", responses=documented(Forbidden))
def read_organiser(token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep) -> OrganiserAnswer:
    """Return one organiser's token record (organisers of the instance)."""
    return _show(organisers.find_organiser(workspace, principal, token))


@router.delete("/{token}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict))
def revoke_organiser(token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Revoke an organiser's token for good. The last valid token and the admin token stay (organisers of the
    instance).
    """
    organisers.revoke(workspace, principal, token)
