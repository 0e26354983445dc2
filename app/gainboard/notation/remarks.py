"""Warnings and remarks in words, the same in commands, in Python and beside scores of a server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

_ZERO_GAIN: Final = re.compile(r"gains=(?:adjust\()?(?:[^,():]+:)*0[:,)]")
"""The label of a metric under which a level above 0 has no gain."""


class Warned(Protocol):
    """A warning of a reader, or of the service."""

    @property
    def code(self) -> str: ...

    @property
    def message(self) -> str: ...

    @property
    def count(self) -> int | None: ...


def warning_lines(name: str, warnings: Sequence[Warned]) -> Iterator[str]:
    """Yield the warnings of a file, in the same format."""
    for warning in warnings:
        count = "" if warning.count is None else f" ({warning.count:,})"
        yield f"{name}: warning: {warning.code}: {warning.message.removesuffix('.')}{count}"


def why_left_out(labels: Iterable[str]) -> str:
    """Return why some topics are left out of the means under metrics with these labels."""
    is_by_gain = all(_ZERO_GAIN.search(label) for label in labels)
    return "because they have no relevant document" + (" with a gain above 0" if is_by_gain else "")
