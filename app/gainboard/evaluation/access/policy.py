"""The policy of a collection: what is shown while judgments are hidden, and how much may be sent.

Scores with free parameters over hidden judgments are a way to download the judgments: with free gains and cut-offs, one
ordinary run and a few hundred requests reveal the level of every document that the run retrieves. So until the
judgments are released, a participant sees only rounded means of its own runs, under the few expressions that the
organisers choose, and only a limited number of them. If the organisers choose none, it sees no score. The default is
safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import pairwise
from typing import Any

from gainboard.errors import GainboardError, InvalidRequest
from gainboard.metrics import Scale, expand, resolve
from gainboard.store.access_records import PolicySettings
from gainboard.store.records import Collection, Run
from gainboard.trec import FileWarning

QUOTAS = ("per_day", "total", "concurrent", "bytes")
"""The settings of the policy that the API has under `quotas`."""


class CollectionPolicy(PolicySettings):
    """The rules for participants while judgments are hidden. Organisers are not bound by them."""

    __slots__ = ()

    @classmethod
    def of(cls, collection: Collection) -> CollectionPolicy:
        """Return the policy of a collection. One that cannot be read, as earlier imports stored, is the default."""
        if not collection.policy:
            return _BY_DEFAULT
        try:
            stored = dict(collection.policy)
            return cls(**stored | {"presets": tuple(stored.get("presets", ()))})
        except (TypeError, ValueError):
            return _BY_DEFAULT

    @property
    def is_free(self) -> bool:
        """Return whether scores are shown under any parameters."""
        return self.parameters == "free"

    @property
    def is_open(self) -> bool:
        """Return whether every score under any parameters is shown; the judgments are then almost public."""
        return self.scores == "all" and self.is_free


_BY_DEFAULT = CollectionPolicy()


def late_from(collection: Collection) -> datetime | None:
    """Return the time from which stored runs are late; None if no run of the collection is late."""
    return None if CollectionPolicy.of(collection).late == "open" else collection.release


def is_late(collection: Collection, run: Run) -> bool:
    """Return whether the run came after the release, so that its authors may have known the judgments."""
    start = late_from(collection)
    return start is not None and run.created_at >= start


def merged(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored form of a policy with new values. Values that are not named stay."""
    known = asdict(PolicySettings())
    given = {**(old or {}), **new}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in (known | given).items()}


def setting_name(place: str) -> str:
    """Return the name that the API gives a stored setting: times and the phase are of the policy, quotas of a part."""
    name = place.removeprefix("policy.")
    if place in ("phase", "opens_at", "closes_at", "releases_at"):
        return f"policy.{name}"
    if place in ("level_names", "highest_level"):
        return "levels"
    return f"policy.quotas.{name}" if place != name and name in QUOTAS else place


def check(policy: Mapping[str, Any], scale: Scale, gains: str) -> None:
    """Raise InvalidRequest for a preset that names no metric of this collection."""
    for position, expression in enumerate(policy.get("presets") or ()):
        try:
            for each in expand([expression], scale.highest_level):
                resolve(each, scale, defaults={"gains": gains})
        except GainboardError as error:
            raise InvalidRequest.at(f"body.policy.presets.{position}", error.slug, error.message) from error


def unscorable(collection: Collection) -> FileWarning:
    """Return the warning of a hidden collection without declared topics, in which a team gets no scores."""
    message = (
        f"{collection.name!r} declares no topics, so teams get no scores while the judgments are hidden. Its "
        f"organisers can declare them: PATCH /v1/collections/{collection.name} with a list of `topics`, or with "
        '{"topics": "from-qrels"}'
    )
    return FileWarning("no-topics-declared", message)


def check_times(opens_at: datetime | None, closes_at: datetime | None, releases_at: datetime | None) -> None:
    """Raise InvalidRequest for times in an impossible order."""
    named = [("opens_at", opens_at), ("closes_at", closes_at), ("releases_at", releases_at)]
    given = [(name, time) for name, time in named if time is not None]
    for (first, earlier), (second, later) in pairwise(given):
        if later < earlier:
            message = (
                f"{second} ({later.isoformat()}) is before {first} ({earlier.isoformat()}). Choose a later {second}."
            )
            raise InvalidRequest.at(f"body.policy.{second}", "out-of-order", message)
