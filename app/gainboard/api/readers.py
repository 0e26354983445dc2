"""The bodies of uploads that are read at once: so many in this process, and so many of them for one team."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, Request

from gainboard.errors import TooManyUploads
from gainboard.evaluation.principals import Principal

MOST_OF_A_TEAM = 4
"""A team has one place less than there are, if they are so few: its slow uploads then never keep all others out."""


class Readers:
    """The uploads under way in this process. Only the event loop uses it, so it needs no lock."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._of_a_team = max(1, min(MOST_OF_A_TEAM, most - 1))
        self._reading: Counter[tuple[str, object]] = Counter()

    @property
    def busy(self) -> int:
        """The number of uploads under way."""
        return self._reading.total()

    @asynccontextmanager
    async def reading(self, principal: Principal) -> AsyncIterator[None]:
        """Count an upload until it is over. Raise TooManyUploads if there are too many.

        An organiser has no team, so its token counts in place of one.
        """
        # Nothing is awaited before the place is taken, so no other request comes in between.
        who = ("team", principal.team_id) if principal.team_id is not None else ("token", principal.require_token().id)
        if self.busy >= self.most:
            raise _too_many("The server", self.most)
        if self._reading[who] >= self._of_a_team:
            raise _too_many(f"This {who[0]}", self._of_a_team)
        self._reading[who] += 1
        try:
            yield
        finally:
            self._reading[who] -= 1
            self._reading += Counter()  # a team without uploads is not remembered


def _too_many(who: str, most: int) -> TooManyUploads:
    return TooManyUploads(
        f"{who} has {most} uploads under way, which is the most at once. Send the file again in a few seconds.",
        limit=most,
    )


async def _readers(request: Request) -> Readers:
    found: Readers = request.app.state.readers
    return found


ReadersDep = Annotated[Readers, Depends(_readers)]
