"""What `gainboard doctor` looks at. A check is one function of one of the files here, with `@check` above it."""

from __future__ import annotations

from gainboard.cli.doctor import database, installation
from gainboard.cli.doctor.checking import EVERY, Finding, run_checks

__all__ = ["CHECKS", "Finding", "run_checks"]

_ORDER = [part.__name__ for part in (installation, database)]
CHECKS = sorted(EVERY, key=lambda each: _ORDER.index(each.__module__))
"""In the order of the report: file by file, each from top to bottom."""
