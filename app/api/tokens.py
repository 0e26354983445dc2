"""`/v1/collections/{collection}/tokens` and `/v1/me`"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from app.api.answers import answer, place
from app.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from app.api.idempotency import FingerprintDep, IdempotencyKey, once
from app.api.pages import Page, PagingDep
from app.api.problems import documented, problem
from app.api.texts import Slug, in_utc
from app.errors import Forbidden, KeyInUse, KeyReused, TeamRequired, UnsupportedMediaType
from app.evaluation import tokens
from app.store import collections
from app.store.records import Role, Token

router = APIRouter(prefix="/v1", tags=["tokens"], responses=documented())


class NewToken(BaseModel):
    """Whom the token is for."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "participant", "team": "lemur"}]}
    )

    role: Role
    team: Slug | None = Field(None, description="Of a participant; a new name creates the team")
    expires_at: Annotated[AwareDatetime | None, AfterValidator(in_utc)] = None


class ShownToken(BaseModel):
    """A token's record; the token itself is not known to the service."""

    id: str
    role: Role
    team: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class CreatedToken(ShownToken):
    """A new token: `token` is shown this once."""

    token: str


class Me(BaseModel):
    """Who the token is."""

    id: str
    role: Role
    collection: str | None = Field(description="The one it belongs to; null: every collection")
    team: str | None
    expires_at: datetime | None


def _record(token: Token) -> dict[str, Any]:
    return {name: getattr(token, name) for name in ShownToken.model_fields}


@router.post(
    "/collections/{collection}/tokens",
    status_code=201,
    response_model=CreatedToken,
    responses=documented(Forbidden, TeamRequired, UnsupportedMediaType, KeyReused, KeyInUse),
)
def create_token(
    collection: CollectionName,
    sent: NewToken,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Make a token for the collection (organisers). It is shown this once; a repeated request never shows it."""
    made: list[str] = []

    def act() -> Response:
        new = tokens.create(workspace, principal, collection, sent.role, sent.team, sent.expires_at)
        made.append(new.record.id)
        location = place(request, f"/v1/collections/{collection}/tokens/{new.record.id}")
        return answer(CreatedToken(**_record(new.record), token=new.token), 201, Location=location)

    def kept(answered: Response) -> Response:
        return problem(KeyInUse("This request made a token already, which is not shown again.", id=made[0]))

    return once(workspace, principal, request, idempotency_key, fingerprint, act, kept)


@router.get("/collections/{collection}/tokens", responses=documented(Forbidden))
def list_tokens(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
) -> Page[ShownToken]:
    """The collection's tokens, revoked ones too (organisers)."""
    found = tokens.listed(workspace, principal, collection, paging.after, paging.wanted)
    return paging.page(found, lambda each: each.id, lambda each: ShownToken(**_record(each)))


@router.delete(
    "/collections/{collection}/tokens/{token}",
    status_code=204,
    response_class=Response,
    responses=documented(Forbidden),
)
def revoke_token(
    collection: CollectionName,
    token: Annotated[str, Path(description="The token's id")],
    workspace: WorkspaceDep,
    principal: PrincipalDep,
) -> None:
    """Revoke a token for good (organisers)."""
    tokens.revoke(workspace, principal, collection, token)


@router.get("/me")
def read_me(workspace: WorkspaceDep, principal: PrincipalDep) -> Me:
    """Who the token is."""
    token = principal.require_token()
    with workspace.database.reading() as tx:
        name = collections.of_id(tx, token.collection_id).name if token.collection_id else None
    return Me(id=token.id, role=token.role, collection=name, team=token.team, expires_at=token.expires_at)
