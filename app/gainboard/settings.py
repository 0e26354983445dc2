"""Settings, from `GAINBOARD_...` environment variables; read by main, migrations and the command line only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from gainboard.errors import BadSetting
from gainboard.evaluation.workspace import SCORING_MEMORY
from gainboard.trec import Limits

PREFIX = "GAINBOARD_"
OF_CLIENTS = ("server", "token", "collection", "config")
"""What the client and the commands against a server read: no settings of a service, but not misspelt either."""
_LIMITS = Limits()
Positive = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """Everything that can be set. The field `data` is the variable `GAINBOARD_DATA`, and so on."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    data: Path = Field(Path("gainboard-data"), description="The folder of the SQLite database")
    database_url: str | None = Field(None, description="Another database: postgresql+psycopg://...")
    admin_token: Annotated[SecretStr, Field(min_length=20)] | None = Field(
        None, description="It becomes the token of an organiser of the instance, and has at least 20 characters"
    )
    cors_origins: str = Field("", description="Origins whose pages may call the service, separated by commas")
    metrics: Literal["organiser", "public"] = Field("organiser", description="Who reads /metrics")
    access_log: Literal["on", "off"] = Field("on", description="Whether each request leaves a line in the log")
    job_slots: Annotated[int, Field(ge=0, le=256)] | None = Field(
        None, description="Processes that work jobs; one less than there are cores if not set, none if 0"
    )
    fast: Literal["on", "off"] = Field("on", description="Whether what the fast extra compiles is used")
    scoring_memory: Positive = Field(
        SCORING_MEMORY, description="Bytes for the judged rankings of runs, from which they are scored"
    )
    max_compressed_bytes: Positive = Field(_LIMITS.compressed_bytes, description="Of an upload, as it is sent")
    max_decompressed_bytes: Positive = Field(_LIMITS.decompressed_bytes, description="Of an upload, decompressed")
    max_lines: Positive = Field(_LIMITS.lines, description="Of an upload")
    max_topic_lines: Positive = Field(_LIMITS.topic_lines, description="Of one topic of a run")
    max_line_bytes: Positive = Field(_LIMITS.line_bytes, description="Of one line of an upload")
    max_ratio: Positive = Field(_LIMITS.ratio, description="Of decompressed to compressed bytes")

    @classmethod
    def read(cls, environment: Mapping[str, str], **given: object) -> Settings:
        """The settings of an environment; what is given (and not None) wins. Raises BadSetting."""
        found: dict[str, object] = {
            name: text for name in cls.model_fields if (text := environment.get(PREFIX + name.upper()))
        }
        try:
            return cls.model_validate(found | {name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            first = error.errors()[0]
            name = PREFIX + str(first["loc"][0]).upper()
            description = cls.model_fields[str(first["loc"][0])].description
            raise BadSetting(f"{name} is out of range ({first['msg'].lower()}). {description}.") from error

    @classmethod
    def unknown(cls, environment: Mapping[str, str]) -> list[str]:
        """Variables that look like settings and are none: most likely misspelt."""
        known = {PREFIX + name.upper() for name in (*cls.model_fields, *OF_CLIENTS)}
        return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)

    @property
    def url(self) -> str:
        """The database's address."""
        return self.database_url or f"sqlite:///{self.data / 'gainboard.db'}"

    @property
    def slots(self) -> int:
        """Processes that work jobs: by default they leave a core to those who ask."""
        return self.job_slots if self.job_slots is not None else max(1, available_cores() - 1)

    @property
    def compiled(self) -> Path | None:
        """Where compiled functions are kept between starts; None leaves it to the compiler."""
        return None if self.database_url else self.data / "compiled"

    @property
    def limits(self) -> Limits:
        """Bounds on uploads."""
        return Limits(
            compressed_bytes=self.max_compressed_bytes,
            decompressed_bytes=self.max_decompressed_bytes,
            lines=self.max_lines,
            topic_lines=self.max_topic_lines,
            line_bytes=self.max_line_bytes,
            ratio=self.max_ratio,
        )


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
