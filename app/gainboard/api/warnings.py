"""What was tolerated in a file, and said."""

from __future__ import annotations

from pydantic import BaseModel


class ShownWarning(BaseModel):
    """Something about a file that its sender should know, though it was accepted."""

    code: str
    message: str
    count: int | None = None
