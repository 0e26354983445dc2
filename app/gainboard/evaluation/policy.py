"""The policy of a collection: what is shown of hidden judgments, and how much may be sent. Safe unless loosened.

Configurable scores over hidden judgments are a way to download them: with free gains and cut-offs, one ordinary run
and a few hundred questions give the level of every document it retrieves. So until the judgments are released a
participant is told the means of its own runs, rounded, under the few expressions that the organisers name, and only
so many of them; none where they name none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import pairwise
from typing import Any

from gainboard.errors import GainboardError, InvalidRequest
from gainboard.metrics import Scale, expand, resolve
from gainboard.store.records import Collection, PolicySettings


class CollectionPolicy(PolicySettings):
    """The policy of a collection while its judgments are hidden; organisers are not bound by it."""

    __slots__ = ()

    @classmethod
    def of(cls, collection: Collection) -> CollectionPolicy:
        """The collection's."""
        stored = dict(collection.policy or {})
        return cls(**stored | {"presets": tuple(stored.get("presets", ()))})

    @property
    def is_free(self) -> bool:
        """Whether scores are shown under any parameters."""
        return self.parameters == "free"

    @property
    def is_open(self) -> bool:
        """Whether every score under any parameters is shown: the judgments are then all but released."""
        return self.scores == "all" and self.is_free

    @property
    def bits_an_answer(self) -> float:
        """What one score tells at the most: log2 of the values that it can take, for one between 0 and 1."""
        return math.log2(10**self.decimals + 1)


def merged(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """The stored form of a policy with new values; what is not named stays."""
    known = asdict(PolicySettings())
    given = {**(old or {}), **new}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in (known | given).items()}


def check(policy: Mapping[str, Any], scale: Scale, gains: str) -> None:
    """Raises InvalidRequest for a preset that names no metric of this collection."""
    for position, expression in enumerate(policy.get("presets") or ()):
        try:
            for each in expand([expression], scale.highest_level):
                resolve(each, scale, collection={"gains": gains})
        except GainboardError as error:
            raise InvalidRequest.at(f"body.policy.presets.{position}", error.slug, error.message) from error


def check_times(opens_at: datetime | None, closes_at: datetime | None, releases_at: datetime | None) -> None:
    """Raises InvalidRequest for times in an order that cannot be meant."""
    named = [("opens_at", opens_at), ("closes_at", closes_at), ("releases_at", releases_at)]
    given = [(name, time) for name, time in named if time is not None]
    for (first, earlier), (second, later) in pairwise(given):
        if later < earlier:
            message = f"{second} ({later.isoformat()}) lies before {first} ({earlier.isoformat()})."
            raise InvalidRequest.at(f"body.policy.{second}", "out-of-order", message)
