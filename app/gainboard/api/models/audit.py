"""Entries of the audit log."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gainboard.api.models.answers import Model, Page
from gainboard.store.records import Action


class ShownEntry(Model):
    """A change. `token` is the id of the token that made it; null: the service made it when it started."""

    number: int
    at: str = Field(description="RFC 3339, in UTC", examples=["2026-11-21T12:00:00.000000Z"])
    collection: str | None = Field(description="Null for changes to the instance")
    collection_uuid: str | None = Field(description="Unique, even if the collection's name is used again later")
    token: str | None
    role: str
    action: Action
    subject: str = Field(description="The name, version or id of what was changed")
    details: dict[str, Any]
    previous: str = Field(description="The hash of the entry before it, in the chain of the whole instance")
    hash: str


class AuditPage(Page[ShownEntry]):
    """A page of entries, oldest first."""

    verification: str = Field(description="How to check that no entry was changed")
