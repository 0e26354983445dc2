"""Create, list and revoke tokens of a collection or of the instance."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from gainboard.cli.command import Argument, Example, Option, command, time
from gainboard.cli.connecting import OneCollection
from gainboard.cli.printing import Format, print_many
from gainboard.errors import BadSetting
from gainboard.vocabulary import Role

if TYPE_CHECKING:
    from gainboard.api.models.admin import CreatedOrganiser, CreatedToken

NEVER = "never"
_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")
_ID = "the token's id, as `list` shows it; not the token itself"
Instance = Annotated[bool, "a token of the whole instance, not of a collection"]


@command(
    "create a token",
    Example("gainboard token create participant --team lemur -c web"),
    Example("gainboard token create reader -c web"),
)
def create(
    at: OneCollection,
    role: Annotated[Role, Argument("what its holder may do")],
    *,
    team: Annotated[str | None, "the participant's team; a new name creates the team"] = None,
    holder: Annotated[str | None, "a note on who holds it; only organisers see it"] = None,
    expires: Annotated[
        datetime | None, Option("when it expires, for example 2027-06-30T12:00:00Z", metavar="TIME")
    ] = None,
    instance: Instance = False,
) -> None:
    """Create a token of a collection (its organisers), or with --instance a token of another organiser of the instance.
    The token is shown only once, and nothing else goes to standard output: TOKEN=$(gainboard token create reader -c
    web).
    """
    if instance and (role != "organiser" or team):
        raise BadSetting(
            "A token with --instance is always an organiser's, without a team. Use: gainboard token create organiser "
            "--instance"
        )
    with at.connect() as gainboard:
        if instance:
            _hand_over(gainboard.create_organiser(holder=holder, expires_at=expires))
        else:
            _hand_over(gainboard.create_token(at.collection, role, team=team, holder=holder, expires_at=expires))


@command("list tokens", Example("gainboard token list -c web"))
def list_(at: OneCollection, *, instance: Instance = False, format: Format = "table") -> None:
    """List the tokens of a collection, with revoked ones, or with --instance those of the instance's organisers. The
    service stores only their records, so the tokens themselves cannot be shown.
    """
    with at.connect() as gainboard:
        if instance:
            print_many(gainboard.organisers(), ("id", "origin", "holder", *_TIMES), format)
        else:
            print_many(gainboard.tokens(at.collection), ("id", "role", "team", "holder", *_TIMES), format)


@command("revoke tokens")
def revoke(
    at: OneCollection, ids: Annotated[Sequence[str], Argument(_ID, metavar="ID")], *, instance: Instance = False
) -> None:
    """Revoke tokens for good."""
    with at.connect() as gainboard:
        for token in ids:
            if instance:
                gainboard.revoke_organiser(token)
            else:
                gainboard.revoke_token(at.collection, token)
            print(f"{token}: revoked", flush=True)


def _read_time_or_never(text: str) -> datetime | str:
    return text if text == NEVER else time(text)


@command("replace a token")
def rotate(
    at: OneCollection,
    id: Annotated[str, Argument(_ID)],
    *,
    expires: Annotated[
        datetime | str | None,
        Option(f"another expiry time, or `{NEVER}` (default: unchanged)", metavar="TIME", read=_read_time_or_never),
    ] = None,
) -> None:
    """Replace a token, which ends at once. Only the new token goes to standard output."""
    changes: dict[str, Any] = {}
    if expires is not None:
        changes["expires_at"] = None if expires == NEVER else expires
    with at.connect() as gainboard:
        _hand_over(gainboard.rotate_token(at.collection, id, **changes))


def _hand_over(created: CreatedToken | CreatedOrganiser) -> None:
    print(created.token)
    ends = f"ends {created.expires_at.isoformat()}" if created.expires_at else "does not expire"
    role = f"an {created.role}" if created.role == "organiser" else f"a {created.role}"
    print(f"token {created.id} of {role}; it {ends}, and is not shown again", file=sys.stderr)
