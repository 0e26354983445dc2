"""Parts of many answers: their base, pages, warnings, problems."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    """Part of an answer, whose validator is built when it is first used: a command imports forty and uses one.

    What a request sends is a plain `BaseModel`: FastAPI needs its validator at once.
    """

    model_config = ConfigDict(defer_build=True)


def build_all() -> None:
    """Build what is deferred, for a server: its first requests should not wait for it."""
    waiting = [Model]
    while waiting:
        model = waiting.pop()
        model.model_rebuild()
        waiting += model.__subclasses__()


ItemT = TypeVar("ItemT")


class Page(Model, Generic[ItemT]):
    """Part of a list; `next_cursor` leads on and is null on the last page."""

    items: list[ItemT]
    next_cursor: str | None = Field(description="For `?cursor=`; opaque")


class ShownWarning(Model):
    """Something about a file that its sender should know, though it was accepted."""

    code: str
    message: str
    count: int | None = None


class Problem(Model):
    """What every answer that is not a success looks like (`application/problem+json`)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/not-found"], description="Stable; leads to an explanation.")
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no collection 'web-2026' here."])
    errors: list[dict[str, Any]] | None = Field(None, description="Every place at fault, where there are several.")
    errors_total: int | None = Field(None, description="How many faults a file has; `errors` lists the first 100.")


class ProblemPage(Model):
    """What a type of problem means."""

    type: str
    title: str
    status: int
    meaning: str
