"""Export the audit log, and verify an export."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Unpack

from gainboard.cli.command import Argument, Example, Option, command
from gainboard.cli.connecting import OneCollection
from gainboard.cli.options import STANDARD_INPUT, readable
from gainboard.errors import BadSetting
from gainboard.notation.queries import AuditOptions


@command(
    "export the log",
    Example("gainboard audit export --instance --output log.ndjson", "everything that was changed"),
    Example("gainboard audit export -c web | gainboard audit verify --gaps -", "one collection, verified"),
)
def export(
    at: OneCollection,
    *,
    instance: Annotated[bool, "the log of the whole instance, not of a collection"] = False,
    output: Annotated[Path | None, Option("the file to write (default: standard output)", metavar="FILE")] = None,
    **query: Unpack[AuditOptions],
) -> None:
    """Write the audit log of a collection (its organisers), or with --instance that of everything (organisers of the
    instance), as JSON lines that `gainboard audit verify` reads. A file appears when it is complete.
    """
    with at.connect() as gainboard, TemporaryDirectory(prefix="gainboard-audit-") as folder:
        collection = None if instance else at.collection
        # The beginning of a log verifies like a whole shorter log, so nothing is printed until all of it has arrived.
        file = output or Path(folder) / "audit.ndjson"
        with readable(file, "write"):
            gainboard.save_audit(file, collection, **query)
        if output is None:
            with file.open("rb") as lines:
                shutil.copyfileobj(lines, sys.stdout.buffer)
    gaps = " --gaps" if collection or query else ""
    print(f"to verify it: gainboard audit verify{gaps} {output or STANDARD_INPUT}", file=sys.stderr)


@command(
    "verify an export",
    Example("gainboard audit verify audit.ndjson"),
    Example("gainboard audit verify --gaps - < one-collection.ndjson"),
    Example("gainboard audit verify --receipt receipts.ndjson audit.ndjson", "what a team sent is in it"),
)
def verify(
    file: Annotated[str, Argument("JSON lines of `gainboard audit export`; - is standard input")],
    *,
    gaps: Annotated[bool, "the export is of one collection or filtered, so numbers may be missing"] = False,
    receipts: Annotated[
        Sequence[str],
        Option("receipts of uploads, which the log must have; may be repeated", "--receipt", metavar="FILE"),
    ] = (),
) -> int:
    """Verify an exported audit log; no service is needed. The exit code is 0 if the log is intact, else 1 with the
    first entry that was changed. Entries cut off at the end cannot be detected: compare the last hash with the last
    hash of an export of your own. With --receipt, the log is also compared with receipts of uploads, which say what a
    team sent, and when.
    """
    from gainboard.evaluation import audit  # noqa: PLC0415
    from gainboard.evaluation.runs.receipts import ReceiptCheck  # noqa: PLC0415

    check = ReceiptCheck([receipt for name in receipts for receipt in _read_receipts(name)])
    with readable(file), nullcontext(sys.stdin.buffer) if file == STANDARD_INPUT else open(file, "rb") as lines:
        entries = check.watched(map(audit.read_line, filter(str.strip, map(bytes.decode, lines))))
        verdict = audit.verify(entries, has_gaps=gaps)
    if verdict.fault is not None:
        print(f"gainboard: {verdict.fault} (the {verdict.entries} entries before it are intact)", file=sys.stderr)
        return 1
    if faults := [*check.faults, *check.missing()]:
        for fault in faults:
            print(f"gainboard: {fault}", file=sys.stderr)
        return 1
    print(f"intact: {verdict.entries} entries; the hash of the last is {verdict.last}")
    if receipts:
        print(f"the log has what {check.count} receipts say")
    return 0


def _read_receipts(file: str) -> Iterator[Mapping[str, Any]]:
    """Yield the receipts of a file: JSON of receipts, or of answers to uploads, one after another."""
    with readable(file):
        text = Path(file).read_text(encoding="utf-8").strip()
    try:
        while text:
            value, end = json.JSONDecoder().raw_decode(text)
            text = text[end:].lstrip()
            receipt = value.get("receipt", value) if isinstance(value, dict) else None
            if not isinstance(receipt, dict) or "entry" not in receipt:
                raise BadSetting(f"{file} is no receipt. Take the answer of an upload, or that of .../receipt.")
            yield receipt
    except ValueError as error:
        raise BadSetting(f"{file} is no receipt: it is not JSON ({error}).") from error
