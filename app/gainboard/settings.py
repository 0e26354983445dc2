"""Settings from `GAINBOARD_...` environment variables. Only main, migrations and the command line read them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from gainboard.errors import BadSetting
from gainboard.evaluation.workspace import SCORING_MEMORY
from gainboard.notation.types import INTEGER, NUMBER
from gainboard.trec import FileLimits

PREFIX = "GAINBOARD_"
OF_CLIENTS = ("server", "token", "collection", "config")
"""Variables of the client and its commands: the service ignores them, but they are not misspelt."""
_LIMITS = FileLimits()
PUBLIC_URL = r"^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*$|^https?://\[[0-9a-fA-F:]+\](:[0-9]{1,5})?$"
Positive = Annotated[int, Field(ge=1), INTEGER]


class Settings(BaseModel):
    """Every setting. The field `data` is the variable `GAINBOARD_DATA`, and so on."""

    # Errors do not show what was set, because it may be a token or a password.
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    data: Path = Field(
        Path("gainboard-data"),
        description="The folder of the SQLite database. `--data` overrides it. A new folder is readable by its owner "
        "only, and so is all that is stored in it",
    )
    database_url: str | None = Field(
        None,
        description="The address of another database, for example `postgresql+psycopg://user:password@host/name`. The "
        "data folder is then not used",
    )
    objects: str | None = Field(
        None,
        description="Where files are kept instead of in the database, for example `s3://bucket/folder` or "
        "`file:///srv/gainboard-files`",
    )
    admin_token: Annotated[SecretStr, Field(min_length=20)] | None = Field(
        None, description="A token that you choose for an organiser of the instance, at least 20 characters long"
    )
    public_url: Annotated[str, Field(pattern=PUBLIC_URL, max_length=1000)] | None = Field(
        None,
        description="The address under which people reach the service, for links in invitations, mails and feeds, for "
        "example `https://board.example.org`. By default that on which it listens",
    )
    cors_origins: str = Field(
        "",
        description="Origins whose web pages may send tokens, separated by commas, for example "
        "`https://board.example.org`",
    )
    public_cors: Literal["on", "off"] = Field(
        "on",
        description="Whether web pages of any origin may read what anonymous visitors may read; `off` for an intranet",
    )
    metrics: Literal["organiser", "public"] = Field(
        "organiser", description="Who reads `/metrics`: `organiser` asks for an organiser's token, `public` for none"
    )
    access_log: Literal["on", "off"] = Field(
        "on", description="What the log has: `on` logs every request, `off` logs failures only"
    )
    job_slots: Annotated[int, Field(ge=0, le=256), INTEGER] | None = Field(
        None,
        description="How many processes run jobs. By default one less than the cores, at least one. `0`: this server "
        "runs no jobs",
    )
    worker_timeout: Annotated[float, Field(ge=1, le=3600), NUMBER] = Field(
        30, description="Seconds that a worker has to finish its chunks once it was told to stop"
    )
    fast: Literal["on", "off"] = Field(
        "on",
        description="Whether compiled code is used: `on` uses that of the `fast` extra where it is installed, `off` "
        "plain code only. Answers are compressed by the extra either way",
    )
    readers: Annotated[int, Field(ge=1, le=1024), INTEGER] | None = Field(
        None,
        description="How many uploads each server process reads at once, at most 4 of one team and never all. By "
        "default two for each core",
    )
    scoring_memory: Positive = Field(
        SCORING_MEMORY,
        description="Bytes of memory for judged rankings, in each server process; scores are computed from these. A "
        "run takes 5 bytes for each relevant document retrieved and 9 for each topic",
    )
    max_compressed_bytes: Positive = Field(_LIMITS.compressed_bytes, description="The largest upload, in bytes as sent")
    max_decompressed_bytes: Positive = Field(
        _LIMITS.decompressed_bytes, description="The largest upload, in bytes after decompression"
    )
    max_lines: Positive = Field(_LIMITS.lines, description="The most lines of an upload")
    max_topic_lines: Positive = Field(
        _LIMITS.topic_lines, description="The most lines of one topic of a run. A topic is held in memory as a whole"
    )
    max_topics: Positive = Field(
        _LIMITS.topics, description="The most topics of a run. A collection with few declared topics allows fewer"
    )
    max_line_bytes: Positive = Field(_LIMITS.line_bytes, description="The longest line of an upload, in bytes")
    max_ratio: Positive = Field(
        _LIMITS.ratio, description="The most decompressed bytes for each byte sent, beyond the first 1 MiB"
    )

    @classmethod
    def read(cls, environment: Mapping[str, str], **values: object) -> Settings:
        """Return the settings of an environment. Values given here (and not None) override it. Raise BadSetting."""
        texts: dict[str, object] = {
            name: text for name in cls.model_fields if (text := environment.get(PREFIX + name.upper()))
        }
        try:
            return cls.model_validate(texts | {name: value for name, value in values.items() if value is not None})
        except ValidationError as error:
            first = error.errors()[0]
            name = PREFIX + str(first["loc"][0]).upper()
            # the first sentence says what the value is; the page of settings has the others
            description = str(cls.model_fields[str(first["loc"][0])].description).partition(". ")[0]
            raise BadSetting(f"{name} is invalid. {first['msg']}. {description}.") from error

    @classmethod
    def unknown(cls, environment: Mapping[str, str]) -> list[str]:
        """Return variables that look like settings but are not: they are most likely misspelt."""
        names = {PREFIX + name.upper() for name in (*cls.model_fields, *OF_CLIENTS)}
        return sorted(name for name in environment if name.startswith(PREFIX) and name not in names)

    @property
    def url(self) -> str:
        """The database's address."""
        return self.database_url or f"sqlite:///{self.data / 'gainboard.db'}"

    @property
    def slots(self) -> int:
        """The number of processes that run jobs. By default one core is left for requests."""
        return self.job_slots if self.job_slots is not None else max(1, available_cores() - 1)

    @property
    def most_readers(self) -> int:
        """The number of uploads that this process reads at once."""
        return self.readers if self.readers is not None else 2 * available_cores()

    @property
    def compiled(self) -> Path | None:
        """The folder where compiled functions are kept between starts; None leaves the choice to the compiler."""
        # With another database there is no data folder, unless somebody has named one.
        return None if self.database_url and "data" not in self.model_fields_set else self.data / "compiled"

    @property
    def limits(self) -> FileLimits:
        """The limits on uploads."""
        return FileLimits(
            compressed_bytes=self.max_compressed_bytes,
            decompressed_bytes=self.max_decompressed_bytes,
            lines=self.max_lines,
            topic_lines=self.max_topic_lines,
            topics=self.max_topics,
            line_bytes=self.max_line_bytes,
            ratio=self.max_ratio,
        )


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
