"""`/v1/collections/{collection}/tokens`, `/v1/me`, and `/v1/tokens`, those of the organisers of the instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.idempotency import KeyedDep, KeyedRequest
from gainboard.api.models.admin import (
    CreatedOrganiser,
    CreatedToken,
    Me,
    NewOrganiser,
    NewToken,
    OrganiserAnswer,
    Rotation,
    TokenAnswer,
)
from gainboard.api.models.common import Page
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented, problem
from gainboard.api.routes import CheckedRoute
from gainboard.errors import Conflict, Forbidden, KeyInUse, KeyReused, TeamRequired, UnsupportedMediaType
from gainboard.evaluation.access import organisers, tokens
from gainboard.evaluation.access.tokens import IssuedToken, Wish
from gainboard.evaluation.access.visibility import require_organiser
from gainboard.store import collections
from gainboard.store.records import Token

router = APIRouter(prefix="/v1", tags=["tokens"], responses=documented(), route_class=CheckedRoute)


TokenId = Annotated[str, Path(description="The token's id")]
ON_SECRET = (Forbidden, UnsupportedMediaType, KeyReused, KeyInUse)


def _show(token: Token) -> TokenAnswer:
    return TokenAnswer.model_validate(token, from_attributes=True)


def _show_once(
    keyed: KeyedRequest,
    make: Callable[[], IssuedToken],
    model: type[BaseModel],
    path: str,
    permit: Callable[[], object],
) -> Response:
    """Answer with a new secret. A repeated request gets the token's id, and never the secret."""
    made: list[str] = []

    def act() -> Response:
        new = make()
        made.append(new.record.id)
        shown = model.model_validate(asdict(new.record) | {"token": new.token})
        return answer(shown, 201, Location=address(keyed.request, f"{path}/{new.record.id}"))

    def kept(answered: Response) -> Response:
        return problem(
            KeyInUse(
                "This request has created a token already, and its secret is not shown again. If the secret is lost, "
                "rotate the token.",
                id=made[0],
            )
        )

    return keyed.answer_once(act, permit=permit, kept=kept)


@router.post(
    "/collections/{collection}/tokens",
    status_code=201,
    response_model=CreatedToken,
    responses=documented(TeamRequired, *ON_SECRET),
)
def create_token(collection: CollectionName, sent: NewToken, keyed: KeyedDep) -> Response:
    """Create a token for the collection (organisers). The token is shown only this once; a repeated request never shows
    it.
    """

    def act() -> IssuedToken:
        return tokens.create(keyed.workspace, keyed.principal, collection, Wish(**sent.model_dump()))

    permit = partial(require_organiser, keyed.workspace, keyed.principal, collection)
    return _show_once(keyed, act, CreatedToken, f"/v1/collections/{collection}/tokens", permit)


@router.get("/collections/{collection}/tokens", responses=documented(Forbidden))
def list_tokens(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[TokenAnswer]:
    """List the collection's tokens, with revoked ones (organisers)."""
    records = tokens.list_tokens(workspace, principal, collection, paging.after, paging.wanted)
    return paging.page(records, lambda each: each.id, _show)


@router.get("/collections/{collection}/tokens/{token}", responses=documented(Forbidden))
def read_token(
    collection: CollectionName, token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep
) -> TokenAnswer:
    """Return one token's record (organisers)."""
    return _show(tokens.find_token(workspace, principal, collection, token))


@router.post(
    "/collections/{collection}/tokens/{token}/rotate",
    status_code=201,
    response_model=CreatedToken,
    responses=documented(Conflict, *ON_SECRET),
)
def rotate_token(collection: CollectionName, token: TokenId, keyed: KeyedDep, sent: Rotation | None = None) -> Response:
    """Replace a token's secret; the old secret ends at once (organisers). The new secret is shown only this once."""

    def act() -> IssuedToken:
        expiry = sent.model_dump(exclude_unset=True) if sent else {}
        return tokens.rotate(keyed.workspace, keyed.principal, collection, token, **expiry)

    permit = partial(tokens.find_live, keyed.workspace, keyed.principal, collection, token)
    return _show_once(keyed, act, CreatedToken, f"/v1/collections/{collection}/tokens", permit)


@router.delete(
    "/collections/{collection}/tokens/{token}",
    status_code=204,
    response_class=Response,
    responses=documented(Forbidden),
)
def revoke_token(collection: CollectionName, token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Revoke a token for good (organisers)."""
    tokens.revoke(workspace, principal, collection, token)


@router.get("/me")
def read_me(workspace: WorkspaceDep, principal: PrincipalDep) -> Me:
    """Return the holder of this token: role, collection, team."""
    token = principal.require_token()
    with workspace.database.reading() as tx:
        name = collections.of_id(tx, token.collection_id).name if token.collection_id else None
    return Me(id=token.id, role=token.role, collection=name, team=token.team, expires_at=token.expires_at)


def _show_organiser(token: Token) -> OrganiserAnswer:
    return OrganiserAnswer.model_validate(token, from_attributes=True)


@router.post("/tokens", status_code=201, response_model=CreatedOrganiser, responses=documented(*ON_SECRET))
def create_organiser(sent: NewOrganiser, keyed: KeyedDep) -> Response:
    """Create a token for another organiser of the instance (its organisers). The token is shown only this once."""

    def act() -> IssuedToken:
        return organisers.create(keyed.workspace, keyed.principal, sent.holder, sent.expires_at)

    return _show_once(keyed, act, CreatedOrganiser, "/v1/tokens", keyed.principal.require_instance_organiser)


@router.get("/tokens", responses=documented(Forbidden))
def list_organisers(workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep) -> Page[OrganiserAnswer]:
    """List the tokens of the instance's organisers, with revoked ones (organisers of the instance)."""
    holders = organisers.list_organisers(workspace, principal, paging.after, paging.wanted)
    return paging.page(holders, lambda organiser: organiser.id, _show_organiser)


@router.get("/tokens/{token}", responses=documented(Forbidden))
def read_organiser(token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep) -> OrganiserAnswer:
    """Return one organiser's token record (organisers of the instance)."""
    return _show_organiser(organisers.find_organiser(workspace, principal, token))


@router.delete("/tokens/{token}", status_code=204, response_class=Response, responses=documented(Forbidden, Conflict))
def revoke_organiser(token: TokenId, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Revoke an organiser's token for good. The last valid token and the admin token stay (organisers of the
    instance).
    """
    organisers.revoke(workspace, principal, token)
