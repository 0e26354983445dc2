"""Queries of pages: the API's own models, filled by forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, model_validator


class FromForm(BaseModel):
    """A query that a form sends, which sends fields that nobody has filled in, too."""

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        filled = {name: [each for each in value if each] for name, value in given.items() if isinstance(value, list)}
        return {name: value for name, value in {**given, **filled}.items() if value != ""}
