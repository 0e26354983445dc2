"""Export the audit log, and verify an export."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import CalledServer, collection_option, connect_server, server_options
from gainboard.cli.options import STANDARD_INPUT, time
from gainboard.errors import BadSetting


def _export(parsed: argparse.Namespace) -> int:
    """Write the audit log of a collection (its organisers), or with --instance that of everything (organisers of the
    instance), as JSON lines that `gainboard audit verify` reads. A file appears when it is complete.
    """
    with connect_server(parsed) as server:
        collection = None if parsed.instance else server.collection
        if parsed.output is not None:
            _save(server, parsed, collection, Path(parsed.output))
        else:
            # The beginning of a log verifies like a whole shorter log, so nothing is printed until all of it has
            # arrived.
            with TemporaryDirectory(prefix="gainboard-audit-") as folder:
                file = _save(server, parsed, collection, Path(folder) / "audit.ndjson")
                with file.open("rb") as lines:
                    shutil.copyfileobj(lines, sys.stdout.buffer)
    gaps = " --gaps" if collection or parsed.action or parsed.since else ""
    print(f"to verify it: gainboard audit verify{gaps} {parsed.output or STANDARD_INPUT}", file=sys.stderr)
    return 0


def _save(server: CalledServer, parsed: argparse.Namespace, collection: str | None, to: Path) -> Path:
    try:
        return server.gainboard.save_audit(to, collection, action=parsed.action, since=parsed.since)
    except OSError as error:
        raise BadSetting(f"Cannot write {to}: {error.strerror or error}.") from error


def _verify(parsed: argparse.Namespace) -> int:
    """Verify an exported audit log; no service is needed. The exit code is 0 if the log is intact, else 1 with the
    first entry that was changed. Entries cut off at the end cannot be detected: compare the last hash with the last
    hash of an export of your own. With --receipt, the log is also compared with receipts of uploads, which say what a
    team sent, and when.
    """
    from gainboard.evaluation import audit  # noqa: PLC0415
    from gainboard.evaluation.runs.receipts import ReceiptCheck  # noqa: PLC0415

    check = ReceiptCheck([receipt for file in parsed.receipts or () for receipt in _receipts(file)])
    try:
        with nullcontext(sys.stdin.buffer) if parsed.file == STANDARD_INPUT else open(parsed.file, "rb") as lines:
            entries = check.watched(map(audit.read_line, filter(str.strip, map(bytes.decode, lines))))
            verdict = audit.verify(entries, has_gaps=parsed.gaps)
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {parsed.file}: {getattr(error, 'strerror', None) or error}.") from error
    if verdict.fault is not None:
        print(f"gainboard: {verdict.fault} (the {verdict.entries} entries before it are intact)", file=sys.stderr)
        return 1
    if faults := [*check.faults, *check.missing()]:
        for fault in faults:
            print(f"gainboard: {fault}", file=sys.stderr)
        return 1
    print(f"intact: {verdict.entries} entries; the hash of the last is {verdict.last}")
    if parsed.receipts:
        print(f"the log has what {check.count} receipts say")
    return 0


def _receipts(file: str) -> Iterator[Mapping[str, Any]]:
    """Yield the receipts of a file: JSON of receipts, or of answers to uploads, one after another."""
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
        while text:
            value, end = json.JSONDecoder().raw_decode(text)
            text = text[end:].lstrip()
            receipt = value.get("receipt", value) if isinstance(value, dict) else None
            if not isinstance(receipt, dict) or "entry" not in receipt:
                raise BadSetting(f"{file} is no receipt. Take the answer of an upload, or that of .../receipt.")
            yield receipt
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {file}: {getattr(error, 'strerror', None) or error}.") from error
    except ValueError as error:
        raise BadSetting(f"{file} is no receipt: it is not JSON ({error}).") from error


def _exported(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--instance", action="store_true", help="the log of the whole instance, not of a collection")
    parser.add_argument("--action", help="only changes of this kind, for example run-uploaded")
    parser.add_argument(
        "--since", metavar="TIME", type=time, help="only changes from this time, for example 2026-12-01T12:00:00Z"
    )
    parser.add_argument("--output", metavar="FILE", help="the file to write (default: standard output)")


def _verified(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="JSON lines of `gainboard audit export`; - is standard input")
    parser.add_argument(
        "--gaps", action="store_true", help="the export is of one collection or filtered, so numbers may be missing"
    )
    parser.add_argument(
        "--receipt",
        dest="receipts",
        metavar="FILE",
        action="append",
        help="receipts of uploads, which the log must have; may be repeated",
    )


COMMAND = Group(
    "audit",
    __doc__,
    [
        Command(
            "export",
            "export the log",
            _export,
            together(collection_option, _exported, server_options),
            [
                Example("gainboard audit export --instance --output log.ndjson", "everything that was changed"),
                Example("gainboard audit export -c web | gainboard audit verify --gaps -", "one collection, verified"),
            ],
        ),
        Command(
            "verify",
            "verify an export",
            _verify,
            _verified,
            [
                Example("gainboard audit verify audit.ndjson"),
                Example("gainboard audit verify --gaps - < one-collection.ndjson"),
                Example("gainboard audit verify --receipt receipts.ndjson audit.ndjson", "what a team sent is in it"),
            ],
        ),
    ],
)
