"""Teams of a collection."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from gainboard.api.models.answers import Model
from gainboard.api.models.texts import Slug


class NewTeam(BaseModel):
    """A team of the collection. The first run or token for it would make it, too."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "lemur"}]})

    name: Slug


class ShownTeam(Model):
    """A team. How many tokens it has is shown to organisers alone, and null to others."""

    name: str
    created_at: datetime
    runs: int = Field(description="Those that are not withdrawn")
    tokens: int | None = Field(description="Those that are neither revoked nor expired")
