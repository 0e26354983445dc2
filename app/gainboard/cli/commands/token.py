"""Make, list and revoke tokens of a collection or of the instance."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import collection_option, connect_server, server_options
from gainboard.cli.printing import format_option, print_many
from gainboard.errors import BadSetting

if TYPE_CHECKING:
    from gainboard.api.models.tokens import CreatedOrganiser, CreatedToken

ROLES = ("organiser", "participant", "reader")
NEVER = "never"
_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")


def _create(parsed: argparse.Namespace) -> int:
    """Make a token of a collection (its organisers), or with --instance that of a further organiser of the instance.
    The token goes to standard output alone, this once: TOKEN=$(gainboard token create reader -c web)."""
    ends = {"holder": parsed.holder, "expires_at": parsed.expires}
    if parsed.instance and (parsed.role != "organiser" or parsed.team):
        raise BadSetting("Only organisers have tokens of the instance, and they are of no team.")
    with connect_server(parsed) as server:
        if parsed.instance:
            return _hand_over(server.gainboard.create_organiser(**ends))
        return _hand_over(server.gainboard.create_token(server.collection, parsed.role, team=parsed.team, **ends))


def _list(parsed: argparse.Namespace) -> int:
    """List the tokens of a collection, revoked ones too, or with --instance those of the organisers of the instance.
    What they are themselves, nobody knows."""
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
    """Put another token in the place of one, which ends at once. The new one goes to standard output alone."""
    changes: dict[str, Any] = {}
    if parsed.expires:
        changes["expires_at"] = None if parsed.expires == NEVER else parsed.expires
    with connect_server(parsed) as server:
        return _hand_over(server.gainboard.rotate_token(server.collection, parsed.id, **changes))


def _hand_over(made: CreatedToken | CreatedOrganiser) -> int:
    print(made.token)
    ends = f"ends {made.expires_at.isoformat()}" if made.expires_at else "does not end by itself"
    role = f"an {made.role}" if made.role == "organiser" else f"a {made.role}"
    print(f"token {made.id} of {role}; it {ends}, and is not shown again", file=sys.stderr)
    return 0


def _for_whom(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", choices=ROLES, help="what its holder may do")
    parser.add_argument("--team", help="of a participant; a new name creates the team")
    parser.add_argument("--holder", help="who holds it, in your words; shown to organisers alone")
    parser.add_argument("--expires", metavar="TIME", help="when it ends, such as 2027-06-30T12:00:00Z")


def _which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="of a token, as `list` shows it; not the token")


def _which_and_until(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of the token, as `list` shows it; not the token")
    parser.add_argument("--expires", metavar="TIME", help=f"another end, or `{NEVER}` (default: the one that it had)")


def _of_instance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--instance", action="store_true", help="of the whole instance, not of a collection")


_OF_BOTH = together(collection_option, _of_instance, server_options)

COMMAND = Group(
    "token",
    __doc__,
    [
        Command(
            "create",
            "make a token",
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
