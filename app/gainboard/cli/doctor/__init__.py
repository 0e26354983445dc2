"""The checks of `gainboard doctor`, in files by what they look at: `installation` and `database`."""

from __future__ import annotations

from gainboard.cli.doctor import database, installation
from gainboard.cli.doctor.checks import CHECKS, Check, Finding, run_checks

__all__ = ["Finding", "every_check", "run_checks"]


def every_check() -> list[Check]:
    """Return all checks in the order of the report: file by file, each from top to bottom."""
    order = [part.__name__ for part in (installation, database)]
    return sorted(CHECKS, key=lambda function: order.index(function.__module__))
