"""The uploads and scores that a token has left, and the limits on a file."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from gainboard.api.models.answers import Model


class UploadLimits(Model):
    """The limits on one file."""

    model_config = ConfigDict(from_attributes=True)

    compressed_bytes: int
    decompressed_bytes: int
    lines: int
    topic_lines: int
    topics: int = Field(description="Topics of a run; a collection with few declared topics allows fewer")
    line_bytes: int
    ratio: int


class ShownQuota(Model):
    """A quota: its limit and what is used of it. The limit is null if there is none."""

    model_config = ConfigDict(from_attributes=True)

    limit: int | None
    used: int
    left: int | None
    resets_at: datetime | None = None


class Team(Model):
    """The quotas and budget of the token's team."""

    opens_at: datetime | None = Field(description="Uploads are accepted from this time")
    closes_at: datetime | None = Field(description="Uploads are refused from this time")
    runs: dict[str, ShownQuota] = Field(description="`per_day` (UTC), `total`, and `concurrent` uploads")
    bytes: ShownQuota = Field(
        description="Decompressed bytes of the stored runs. Withdrawn runs count until their content is deleted"
    )
    answers: ShownQuota = Field(
        description="Distinct scores (of an expression and a run): those under presets of all runs that can be "
        "scored, and all others that the team has received"
    )
    bits_an_answer: float | None = Field(
        description="The most bits that one answer can reveal, by the widest range of the presets' scores; null if all "
        "scores are shown, or scores of topics that are not declared"
    )
    bits_left: float | None = Field(description="The most bits that the remaining answers can reveal")


class MyLimits(Model):
    """The limits of this token. Null fields: nothing is counted for this token."""

    submissions_left: int | None
    answers_left: int | None
    team: Team | None = Field(description="Null for tokens without a team")
    upload: UploadLimits
