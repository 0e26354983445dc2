"""The parts that many models share: the base of answers, pages, warnings, problems, and kinds of text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gainboard.notation.texts import DOI_PATTERN, SHOWN, SLUG_PATTERN, TEXT_PATTERN
from gainboard.notation.types import LEVEL_PATTERN


class Model(BaseModel):
    """The base of all answer models. Its validator is built on first use: a command imports forty models and uses one.

    Models of requests are plain `BaseModel`s, because FastAPI needs their validators at once.
    """

    model_config = ConfigDict(defer_build=True)


def build_all() -> None:
    """Build all deferred validators. A server calls this at start, so that its first requests need not wait."""
    waiting = [Model]
    while waiting:
        model = waiting.pop()
        model.model_rebuild()
        waiting += model.__subclasses__()


ItemT = TypeVar("ItemT")


class Page(Model, Generic[ItemT]):
    """One page of a list. `next_cursor` leads to the next page and is null on the last one."""

    items: list[ItemT]
    next_cursor: str | None = Field(
        description="Send it as `?cursor=` to get the next page; its content has no meaning for clients"
    )


class WarningAnswer(Model):
    """A warning about a file that was accepted."""

    code: str
    message: str
    count: int | None = None


class ProblemDetails(Model):
    """The form of every answer that is not a success (`application/problem+json`)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/not-found"], description="Stable; leads to an explanation.")
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no collection 'web-2026' here."])
    errors: list[dict[str, Any]] | None = Field(None, description="Every location that is wrong, if there are several.")
    errors_total: int | None = Field(None, description="The number of faults, where `errors` lists only the first 100.")
    errors_total_is_minimum: bool = Field(
        False, description="True if reading ended after 1,000 faults, so that the file may have more."
    )


class ProblemPage(Model):
    """The explanation of a type of problem."""

    type: str
    title: str
    status: int
    meaning: str


KEY_PATTERN: Final = r"^[!-~]+$"

MEANINGS: Final = {
    SLUG_PATTERN: "Use letters, digits, `.`, `_` and `-`, at most 128, and begin with a letter or digit: for "
    "example `web-2026`",
    TEXT_PATTERN: "Remove the control characters, such as line breaks or tabs",
    LEVEL_PATTERN: "Use letters, digits, `_`, `+` and `-`, at most 32, for example `S`",
    DOI_PATTERN: "Write the DOI alone, without an address before it: for example `10.5281/zenodo.42`",
    KEY_PATTERN: "Use printable ASCII characters without blanks",
}
"""The message for each pattern."""
_WRONG_JSON: Final = {
    "int_type": "is not a whole number. Write one without quotes and without a point, for example 10",
    "float_type": "is not a number. Write one without quotes, for example 0.5",
    "bool_type": "is neither true nor false. Write true or false, without quotes",
    "string_type": 'is not a text. Write one in quotes, for example "web"',
}
"""The message for each type of fault in a value of JSON, after the value."""


def message_of(found: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, for people. `found` is a fault as Pydantic reports it."""
    if wrong := _WRONG_JSON.get(found["type"]):
        return f"{_as_json(found['input'])} {wrong}"
    return MEANINGS.get(found.get("ctx", {}).get("pattern", ""), str(found["msg"]).removeprefix("Value error, "))


def _as_json(value: Any) -> str:
    if isinstance(value, list | dict):
        return "A list" if isinstance(value, list) else "An object"
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= SHOWN else f"{written[:SHOWN]}..."


class ReceiptAnswer(Model):
    """A receipt of an upload. `gainboard audit verify --receipt FILE LOG` compares it with an export of the log."""

    collection: str
    collection_uuid: str
    action: str = Field(description="The kind of the entry of the audit log, such as `run-uploaded`")
    subject: str = Field(description="The name of the run, or the number of the version")
    team: str | None
    sha256: str = Field(description="SHA-256 of the decompressed file")
    bytes: int | None = Field(
        description="Size of the decompressed file; null for what arrived before there were receipts"
    )
    received_at: str = Field(json_schema_extra={"format": "date-time"})
    entry: str = Field(description="The hash of the entry of the audit log")
