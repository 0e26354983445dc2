"""Calls about collections, and what organisers put into them: qrels, teams, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

from gainboard.api.models.answers import Page
from gainboard.api.models.collections import ShownCollection
from gainboard.api.models.impact import ImpactAnswer
from gainboard.api.models.qrels import Columns, ShownQrels
from gainboard.api.models.teams import ShownTeam
from gainboard.api.models.tokens import CreatedToken, ShownToken
from gainboard.client.calling import call, listing
from gainboard.client.requests import Call, Pages, Request, content, model, path, removed, saved
from gainboard.client.scoring import Parameter
from gainboard.client.uploads import Source, Upload
from gainboard.store.records import OrderBy, Role


class Settings(TypedDict, total=False):
    """Settings of a collection, as the API has them; `policy` is an object of those that are to be set."""

    title: str
    gains: str
    depth: int
    order_by: OrderBy
    topics: Sequence[str] | None
    metrics: Sequence[str] | None
    policy: dict[str, Any]
    public: bool


class Changes(Settings, total=False):
    """Settings to change; `levels`, `depth` and `order_by` only while nothing is stored."""

    levels: int | Sequence[str]


class Rotation(TypedDict, total=False):
    """What a rotation changes besides the secret; an `expires_at` of None: the token does not end."""

    expires_at: datetime | str | None


class CampaignCalls:
    """Collections, qrels, teams and tokens."""

    @listing
    def collections(self) -> Pages[ShownCollection]:
        """The collections that the token sees, by name."""
        return Pages(Page[ShownCollection], path("collections"))

    @call
    def create_collection(
        self, name: str, levels: int | Sequence[str], **settings: Unpack[Settings]
    ) -> Call[ShownCollection]:
        """Make a collection (organisers of the instance). Levels: their names, lowest first, or how many."""
        sent = {"name": name, "levels": levels, **settings}
        return model(ShownCollection, Request("POST", path("collections"), json=sent, once=True))

    @call
    def collection(self, name: str) -> Call[ShownCollection]:
        """One collection."""
        return model(ShownCollection, Request("GET", path("collections", name)))

    @call
    def change_collection(self, name: str, **changes: Unpack[Changes]) -> Call[ShownCollection]:
        """Change settings; what is not named stays (organisers)."""
        return model(ShownCollection, Request("PATCH", path("collections", name), json=changes))

    @call
    def delete_collection(self, name: str) -> Call[None]:
        """Take a collection out of sight; its name is free again (organisers)."""
        return removed(path("collections", name))

    @call
    def put_qrels(
        self, collection: str, file: Source, *, columns: Columns | None = None, draft: bool | None = None
    ) -> Call[ShownQrels]:
        """Upload a qrels file, of TREC's or NTCIR's form, as the next version; a draft is not published yet."""
        query = {"columns": columns, "draft": draft}
        place = path("collections", collection, "qrels")
        return model(ShownQrels, Request("PUT", place, query, upload=Upload.of(file)))

    @listing
    def qrels(self, collection: str) -> Pages[ShownQrels]:
        """The versions of the qrels, by number; drafts for organisers only."""
        return Pages(Page[ShownQrels], path("collections", collection, "qrels"))

    @call
    def qrels_version(self, collection: str, version: int) -> Call[ShownQrels]:
        """One version of the qrels."""
        return model(ShownQrels, Request("GET", path("collections", collection, "qrels", version)))

    @call
    def qrels_file(self, collection: str, version: int) -> Call[bytes]:
        """A qrels file, byte for byte as it was uploaded, decompressed."""
        return content(Request("GET", path("collections", collection, "qrels", version), accept="text/plain"))

    @call
    def save_qrels_file(self, collection: str, version: int, to: str | PathLike[str]) -> Call[Path]:
        """Write a qrels file, as `qrels_file` gives it, to a path; it is there when it is whole."""
        place = path("collections", collection, "qrels", version)
        return saved(Request("GET", place, accept="text/plain", to=Path(to)))

    @call
    def publish_qrels(self, collection: str, version: int) -> Call[ShownQrels]:
        """Publish a draft, or a version that another one has replaced (organisers)."""
        place = path("collections", collection, "qrels", version, "publish")
        return model(ShownQrels, Request("POST", place))

    @call
    def discard_qrels(self, collection: str, version: int) -> Call[None]:
        """Discard a draft (organisers)."""
        return removed(path("collections", collection, "qrels", version))

    @call
    def impact(
        self,
        collection: str,
        version: int,
        /,
        *,
        against: int | None = None,
        metrics: str | Sequence[str] = (),
        runs: str | Sequence[str] = (),
        alpha: float | None = None,
        **parameters: Parameter,
    ) -> Call[ImpactAnswer]:
        """What a version of the qrels, such as a draft, changes against another one (organisers)."""
        query = {"against": against, "metric": metrics, "run": runs, "alpha": alpha, **parameters}
        place = path("collections", collection, "qrels", version, "impact")
        return model(ImpactAnswer, Request("GET", place, query))

    @listing
    def teams(self, collection: str) -> Pages[ShownTeam]:
        """The teams whose runs the token sees, by name."""
        return Pages(Page[ShownTeam], path("collections", collection, "teams"))

    @call
    def create_team(self, collection: str, name: str) -> Call[ShownTeam]:
        """Make a team (organisers)."""
        place = path("collections", collection, "teams")
        return model(ShownTeam, Request("POST", place, json={"name": name}, once=True))

    @call
    def team(self, collection: str, name: str) -> Call[ShownTeam]:
        """One team."""
        return model(ShownTeam, Request("GET", path("collections", collection, "teams", name)))

    @listing
    def tokens(self, collection: str) -> Pages[ShownToken]:
        """The records of the collection's tokens, revoked ones too (organisers)."""
        return Pages(Page[ShownToken], path("collections", collection, "tokens"))

    @call
    def create_token(
        self,
        collection: str,
        role: Role,
        *,
        team: str | None = None,
        holder: str | None = None,
        expires_at: datetime | str | None = None,
    ) -> Call[CreatedToken]:
        """Make a token (organisers). Its `token` is shown this once."""
        sent = {"role": role, "team": team, "holder": holder, "expires_at": expires_at}
        place = path("collections", collection, "tokens")
        return model(CreatedToken, Request("POST", place, json=sent, once=True))

    @call
    def token(self, collection: str, token_id: str) -> Call[ShownToken]:
        """A token's record (organisers)."""
        return model(ShownToken, Request("GET", path("collections", collection, "tokens", token_id)))

    @call
    def rotate_token(self, collection: str, token_id: str, **changes: Unpack[Rotation]) -> Call[CreatedToken]:
        """Put another secret in the place of a token's, which ends at once (organisers). It is shown this once."""
        place = path("collections", collection, "tokens", token_id, "rotate")
        return model(CreatedToken, Request("POST", place, json=changes, once=True))

    @call
    def revoke_token(self, collection: str, token_id: str) -> Call[None]:
        """Revoke a token for good (organisers)."""
        return removed(path("collections", collection, "tokens", token_id))
