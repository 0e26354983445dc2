"""The base of answers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


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
