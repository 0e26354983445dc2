"""Entries of the audit log."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gainboard.api.models.answers import Model, Page
from gainboard.store.records import Action


class ShownEntry(Model):
    """A change. Whoever made it is known by `token`, the id of theirs; null: by starting the service."""

    number: int
    at: str = Field(description="RFC 3339, in UTC", examples=["2026-11-21T12:00:00.000000Z"])
    collection: str | None = Field(description="Null: of the instance")
    collection_uuid: str | None = Field(description="No other collection has it, though its name be used again")
    token: str | None
    role: str
    action: Action
    subject: str = Field(description="What was changed: a name, a version, an id")
    details: dict[str, Any]
    previous: str = Field(description="The hash of the entry before, in the chain of the whole instance")
    hash: str


class AuditPage(Page[ShownEntry]):
    """Entries, oldest first."""

    verification: str = Field(description="How to tell that nothing was changed")
