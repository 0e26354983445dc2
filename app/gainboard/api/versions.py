"""The part of a query that names a qrels version: a judgment set, and the number of one of its versions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from gainboard.api.models.common import Slug
from gainboard.notation.types import INTEGER
from gainboard.store.records import OFFICIAL, VersionName

JudgmentsName = Annotated[Slug, Field(description="Name of a judgment set")]


class VersionQuery(BaseModel):
    """The part of every query about scores that names a qrels version."""

    judgments: JudgmentsName = OFFICIAL
    qrels: Annotated[
        int | None,
        Field(ge=1, le=2**31 - 1, description="Number of a qrels version of the set; the newest by default"),
        INTEGER,
    ] = None

    @property
    def version_name(self) -> VersionName:
        """The name of the version."""
        return VersionName(self.judgments, self.qrels)
