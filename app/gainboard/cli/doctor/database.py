"""The database: whether it answers, is of this version, and is whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import gainboard
from gainboard.cli.doctor.checking import Examined, Finding, check
from gainboard.evaluation.audit import verify
from gainboard.store import audit, inspection
from gainboard.store.database import Transaction
from gainboard.store.records import Entry

QUICKLY_READ = 512 << 20
"""Bytes of a database that are looked through unasked."""
QUICKLY_VERIFIED = 20_000
"""Entries of an audit log that are verified unasked."""
BATCH = 500
ASK = "`gainboard doctor --thorough` looks."


@check
def database(subject: Examined) -> Iterator[Finding]:
    """Whether it answers."""
    if subject.settings is None:
        return
    path = subject.database.path if subject.database is not None else None
    if subject.tx is not None:
        size = inspection.size(subject.tx) / 1e6
        yield Finding("ok", f"{inspection.server_version(subject.tx)}, {size:,.1f} MB")
    elif path is not None and not path.exists():
        yield Finding("note", f"there is no {path}", "The first start makes it.")
    else:
        yield Finding("problem", subject.unreachable, "Nothing works without it: is the address right, is it running?")


@check
def schema(subject: Examined) -> Iterator[Finding]:
    """Whether it is this version's."""
    if (found := subject.schema) is None:
        return
    if found.found == found.newest:
        yield Finding("ok", f"{found.found}, this version's")
    elif found.found is None:
        yield Finding("note", "the database has no tables of ours", "The first start makes them.")
    elif found.is_known:
        said = f"{found.found}, and this version's is {found.newest}"
        yield Finding("note", said, "`gainboard backup` first; then the next start, or `gainboard migrate`, upgrades.")
    else:
        said = f"{found.found}, which Gainboard {gainboard.__version__} does not know: a later version wrote it"
        yield Finding("problem", said, "Install that version or a newer one, or restore a backup.")


@check
def journal(subject: Examined) -> Iterator[Finding]:
    """Whether readers and writers of SQLite stand in each other's way."""
    path = subject.database.path if subject.database is not None else None
    if path is None or subject.tx is None:
        return
    if inspection.has_write_ahead_log(path):
        yield Finding("ok", "write-ahead log")
    else:
        yield Finding("note", "none that lets readers and writers go on together", "The next start changes it.")


@check
def integrity(subject: Examined) -> Iterator[Finding]:
    """Whether SQLite's file is whole, page by page."""
    if subject.tx is None or subject.tx.dialect.name != "sqlite":
        return
    if inspection.size(subject.tx) > QUICKLY_READ and not subject.thorough:
        yield Finding("note", "not looked at, the file being large", ASK)
    elif damage := inspection.damage(subject.tx, thorough=subject.thorough):
        advice = "Stop the service, keep a copy of the folder, and restore the last backup into a new one."
        yield Finding("problem", f"the file is damaged: {damage}", advice)
    else:
        yield Finding("ok", "whole, indexes and references too" if subject.thorough else "no page is damaged")


@check
def contents(subject: Examined) -> Iterator[Finding]:
    """What is stored."""
    if subject.current is not None:
        counts = inspection.contents(subject.current)
        yield Finding("ok", ", ".join(f"{count:,} {name}" for name, count in counts.items()))


@check
def files(subject: Examined) -> Iterator[Finding]:
    """Whether every stored file is what was uploaded."""
    if subject.current is None or not subject.thorough:
        return
    broken = list(inspection.broken_files(subject.current))
    for name in broken:
        yield Finding("problem", f"the file {name} is not what was uploaded", "Restore a backup from before.")
    if not broken:
        yield Finding("ok", "all read, and found to be what was uploaded")


@check
def audit_log(subject: Examined) -> Iterator[Finding]:
    """Whether the chain of its hashes holds."""
    if (tx := subject.current) is None:
        return
    newest = audit.last(tx, audit.Wanted())
    if newest is not None and newest.number > QUICKLY_VERIFIED and not subject.thorough:
        yield Finding("note", f"{newest.number:,} entries, not verified", ASK)
        return
    verdict = verify(asdict(entry) for entry in _entries(tx))
    if verdict.fault is not None:
        advice = "Somebody who governs the database changed it: compare with an earlier backup or export."
        yield Finding("problem", f"{verdict.fault} ({verdict.entries:,} before it hold)", advice)
    else:
        yield Finding("ok", f"whole: {verdict.entries:,} entries; the hash of the last is {verdict.last}")


def _entries(tx: Transaction) -> Iterator[Entry]:
    after = 0
    while batch := audit.page(tx, audit.Wanted(), after=after, limit=BATCH):
        yield from batch
        after = batch[-1].number
