"""What the service says of a file that was sent to it, as `gainboard check` says it of a file that is here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gainboard.cli.files import fault_lines, warning_lines
from gainboard.cli.listing import printable
from gainboard.client import Problem
from gainboard.errors import Fault, GainboardError
from gainboard.trec import FileWarning

if TYPE_CHECKING:
    from gainboard.api.warnings import ShownWarning


def tell_of_refusal(file: str, refusal: GainboardError) -> None:
    """Every fault that the service names, or why else the file was refused, on standard error."""
    for line in fault_lines(file, *_faults(refusal)):
        print(printable(line), file=sys.stderr)


def tell_of_warnings(file: str, warnings: Sequence[ShownWarning]) -> None:
    """What was tolerated, on standard error."""
    for line in warning_lines(file, [FileWarning(**each.model_dump()) for each in warnings]):
        print(printable(line), file=sys.stderr)


def _faults(refusal: GainboardError) -> tuple[list[Fault], int]:
    if not isinstance(refusal, Problem):
        return [Fault("unreadable", refusal.message)], 1
    if refusal.type != "faulty-file":
        return [Fault(refusal.type, refusal.detail)], 1
    return [Fault(each["code"], each["message"], each["line"]) for each in refusal.errors], refusal.errors_total
