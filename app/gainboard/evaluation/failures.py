"""Invalid tokens, counted by the address that sends them. Further ones are refused without more words."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from time import monotonic

from gainboard.errors import TooManyFailures
from gainboard.evaluation.workspace import Cache, Workspace

MOST = 20
SECONDS = 60
FAILURES: Cache[str, tuple[float, ...]] = Cache(10_000)
"""The times of the last failures, at most 20, by address."""
_counting = Lock()


def note_failure(workspace: Workspace, address: str) -> None:
    """Count an invalid token. Raise TooManyFailures if the address has sent 20 others within a minute."""
    failures, sender, now = FAILURES.of(workspace), _network(address), monotonic()
    with _counting:
        recent = tuple(time for time in failures.find(sender) or () if now - time < SECONDS)
        if len(recent) < MOST:
            failures.keep(sender, (*recent, now))
            return
    raise TooManyFailures(
        f"This address has sent {MOST} invalid tokens within a minute, and now another one. Check the token, and try "
        "again in a minute."
    )


def _network(address: str) -> str:
    """Return what one sender has: an address, or of IPv6 a network of 64 bits, in which each may choose addresses."""
    try:
        found = ip_address(address)
    except ValueError:  # a socket of this machine
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((found, 64), strict=False))
    return address
