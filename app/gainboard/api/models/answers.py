"""The parts that many answers share: base model, pages, warnings, problems."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field


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


class ShownWarning(Model):
    """A warning about a file that was accepted."""

    code: str
    message: str
    count: int | None = None


class Problem(Model):
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
