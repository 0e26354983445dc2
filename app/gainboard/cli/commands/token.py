"""Create, list and revoke tokens of a collection or of the instance."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import collection_option, connect_server, server_options
from gainboard.cli.options import time
from gainboard.cli.printing import format_option, print_many
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.api.models.admin import CreatedOrganiser, CreatedToken

ROLES = ("organiser", "participant", "reader")
NEVER = "never"
_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")


def _create(parsed: argparse.Namespace) -> int:
    """Create a token of a collection (its organisers), or with --instance a token of another organiser of the instance.
    The token is shown only once, and nothing else goes to standard output: TOKEN=$(gainboard token create reader -c
    web).
    """
    ends = {"holder": parsed.holder, "expires_at": parsed.expires}
    if parsed.instance and (parsed.role != "organiser" or parsed.team):
        raise BadSetting(
            "A token with --instance is always an organiser's, without a team. Use: gainboard token create organiser "
            "--instance"
        )
    with connect_server(parsed) as server:
        if parsed.instance:
            return _hand_over(server.gainboard.create_organiser(**ends))
        return _hand_over(server.gainboard.create_token(server.collection, parsed.role, team=parsed.team, **ends))


def _list(parsed: argparse.Namespace) -> int:
    """List the tokens of a collection, with revoked ones, or with --instance those of the instance's organisers. The
    service stores only their records, so the tokens themselves cannot be shown.
    """
    with connect_server(parsed) as server:
        if parsed.instance:
            print_many(server.gainboard.organisers(), ("id", "origin", "holder", *_TIMES), parsed.format)
        else:
            tokens = server.gainboard.tokens(server.collection)
            print_many(tokens, ("id", "role", "team", "holder", *_TIMES), parsed.format)
    return 0


def _revoke(parsed: argparse.Namespace) -> int:
    """Revoke tokens for good."""
    with connect_server(parsed) as server:
        for token in parsed.ids:
            if parsed.instance:
                server.gainboard.revoke_organiser(token)
            else:
                server.gainboard.revoke_token(server.collection, token)
            print(f"{token}: revoked", flush=True)
    return 0


def _rotate(parsed: argparse.Namespace) -> int:
    """Replace a token, which ends at once. Only the new token goes to standard output."""
    changes: dict[str, Any] = {}
    if parsed.expires is not None:
        changes["expires_at"] = None if parsed.expires == NEVER else parsed.expires
    with connect_server(parsed) as server:
        return _hand_over(server.gainboard.rotate_token(server.collection, parsed.id, **changes))


def _hand_over(made: CreatedToken | CreatedOrganiser) -> int:
    print(made.token)
    ends = f"ends {made.expires_at.isoformat()}" if made.expires_at else "does not expire"
    role = f"an {made.role}" if made.role == "organiser" else f"a {made.role}"
    print(f"token {made.id} of {role}; it {ends}, and is not shown again", file=sys.stderr)
    return 0


def _for_whom(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", choices=ROLES, help="what its holder may do")
    parser.add_argument("--team", help="the participant's team; a new name creates the team")
    parser.add_argument("--holder", help="a note on who holds it; only organisers see it")
    parser.add_argument(
        "--expires", metavar="TIME", type=time, help="when it expires, for example 2027-06-30T12:00:00Z"
    )


def _time_or_never(text: str) -> datetime | str:
    return text if text == NEVER else time(text)


def _which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the token's id, as `list` shows it; not the token itself")


def _which_and_until(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the token's id, as `list` shows it; not the token itself")
    parser.add_argument(
        "--expires", metavar="TIME", type=_time_or_never, help=f"another expiry time, or `{NEVER}` (default: unchanged)"
    )


def _of_instance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--instance", action="store_true", help="a token of the whole instance, not of a collection")


_OF_BOTH = together(collection_option, _of_instance, server_options)

COMMAND = Group(
    "token",
    __doc__,
    [
        Command(
            "create",
            "create a token",
            _create,
            together(_for_whom, _OF_BOTH),
            [
                Example("gainboard token create participant --team lemur -c web"),
                Example("gainboard token create reader -c web"),
            ],
        ),
        Command(
            "list", "list tokens", _list, together(format_option, _OF_BOTH), [Example("gainboard token list -c web")]
        ),
        Command("revoke", "revoke tokens", _revoke, together(_which, _OF_BOTH)),
        Command("rotate", "replace a token", _rotate, together(_which_and_until, collection_option, server_options)),
    ],
)
