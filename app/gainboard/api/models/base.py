"""The base of answers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Part of an answer, whose validator is built when it is first used: a command imports forty and uses one.

    What a request sends is a plain `BaseModel`: FastAPI needs its validator at once.
    """

    model_config = ConfigDict(defer_build=True)
