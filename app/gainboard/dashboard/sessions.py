"""Who looks at a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from gainboard.evaluation.principals import Principal, Sender


@dataclass(frozen=True)
class Visitor:
    """Whoever looks at a page."""

    sender: Sender
    principal: Principal
    csrf: str = ""

    @property
    def role_shown(self) -> str:
        """The role in words, with the team of a participant."""
        team = self.principal.token.team if self.principal.token else None
        return f"{self.principal.role} of {team}" if team else self.principal.role

    @property
    def is_signed_in(self) -> bool:
        """Return whether there is a session."""
        return bool(self.csrf)


def _visitor(request: Request) -> Visitor:
    visitor = request.state.visitor = Visitor(Sender(), Principal("anonymous"))
    return visitor


def visitor_of(request: Request) -> Visitor:
    """Return the visitor that the page has found; nobody if it failed before."""
    found: Visitor = getattr(request.state, "visitor", None) or Visitor(Sender(), Principal("anonymous"))
    return found


VisitorDep = Annotated[Visitor, Depends(_visitor)]
