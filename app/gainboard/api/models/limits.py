"""Limits: the uploads and scores that are left to a token, and the bounds on a file."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from gainboard.api.models.answers import Model


class UploadLimits(Model):
    """Bounds on one file."""

    model_config = ConfigDict(from_attributes=True)

    compressed_bytes: int
    decompressed_bytes: int
    lines: int
    topic_lines: int
    line_bytes: int
    ratio: int


class ShownQuota(Model):
    """What may be used, and is; null where it is not bounded."""

    model_config = ConfigDict(from_attributes=True)

    limit: int | None
    used: int
    left: int | None
    resets_at: datetime | None = None


class Team(Model):
    """What is left to the token's team."""

    opens_at: datetime | None = Field(description="When the first run is taken")
    closes_at: datetime | None = Field(description="From when on none is")
    runs: dict[str, ShownQuota] = Field(description="`per_day` (of UTC), `total`, and `concurrent` uploads")
    answers: ShownQuota = Field(description="Distinct scores; one that was given before is free")
    bits_an_answer: float | None = Field(description="What a score tells at the most; null where all are shown")
    bits_left: float | None = Field(description="What the answers that are left can tell at the most")


class MyLimits(Model):
    """What is left to this token. Null: nothing is counted against it."""

    submissions_left: int | None
    answers_left: int | None
    team: Team | None = Field(description="Null for tokens of no team")
    upload: UploadLimits
