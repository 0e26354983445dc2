"""Verify an exported audit log."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext

from gainboard.cli.command import Command, Example
from gainboard.errors import BadSetting


def _audit(parsed: argparse.Namespace) -> int:
    """Verify an exported audit log; no service is needed. The exit code is 0 if the log is intact, else 1 with the
    first entry that was changed. Entries cut off at the end cannot be detected: compare the last hash with the last
    hash of an export of your own.
    """
    from gainboard.evaluation import audit  # noqa: PLC0415

    try:
        with nullcontext(sys.stdin) if parsed.file == "-" else open(parsed.file, encoding="utf-8") as lines:
            verdict = audit.verify(map(_entry, filter(str.strip, lines)), has_gaps=parsed.gaps)
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {parsed.file}: {getattr(error, 'strerror', None) or error}.") from error
    if verdict.fault is not None:
        print(f"gainboard: {verdict.fault} (the {verdict.entries} entries before it are intact)", file=sys.stderr)
        return 1
    print(f"intact: {verdict.entries} entries; the hash of the last is {verdict.last}")
    return 0


def _entry(line: str) -> object:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="JSON lines from /v1/audit?format=ndjson; - is standard input")
    parser.add_argument(
        "--gaps", action="store_true", help="the export is of one collection or filtered, so numbers may be missing"
    )


COMMAND = Command(
    "audit",
    __doc__,
    _audit,
    _options,
    [Example("gainboard audit audit.ndjson"), Example("gainboard audit --gaps - < one-collection.ndjson")],
)
