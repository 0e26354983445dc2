"""Faults and warnings of a file, in lines as compilers write them.

Commands on files and commands against a server use this module, so it imports neither what reads files nor the client.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from gainboard.errors import BadSetting, Fault, FaultyFile, GainboardError

STANDARD_INPUT = "-"
_HINTS = {
    "ambiguous-columns": "--columns says which they are, and --levels what levels are called (B,A,S)",
    "bad-level": "--levels says what levels there are",
    "team-required": "--team says whose run it is",
}
"""Which options help against a fault."""


class Warned(Protocol):
    """A warning of a reader, or of the service."""

    @property
    def code(self) -> str: ...

    @property
    def message(self) -> str: ...

    @property
    def count(self) -> int | None: ...


def require_one_input(names: Sequence[str]) -> None:
    """Raises BadSetting where two of the files are standard input, which can be read once."""
    if list(names).count(STANDARD_INPUT) > 1:
        raise BadSetting("Only one of the files can be -, standard input.")


def faults_of(error: GainboardError) -> tuple[Sequence[Fault], int]:
    """The faults of a file that was refused, as many as are kept, and how many there are."""
    if isinstance(error, FaultyFile):
        return error.faults, error.total
    code = "unreadable" if isinstance(error, BadSetting) else error.slug
    return [Fault(code, error.message)], 1


def fault_lines(name: str, faults: Sequence[Fault], total: int) -> Iterator[str]:
    """The faults of a file, as compilers write them."""
    for fault in faults:
        place = name if fault.line is None else f"{name}:{fault.line}"
        yield f"{place}: {fault.code}: {fault.message}"
    if total > len(faults):
        yield f"{name}: {total:,} faults, of which these are the first {len(faults)}"
    for code in sorted({fault.code for fault in faults} & _HINTS.keys()):
        yield f"{name}: note: {code}: {_HINTS[code]}"


def warning_lines(name: str, warnings: Sequence[Warned]) -> Iterator[str]:
    """The warnings of a file, in the same form."""
    for warning in warnings:
        count = "" if warning.count is None else f" ({warning.count:,})"
        yield f"{name}: warning: {warning.code}: {warning.message.removesuffix('.')}{count}"
