"""The database and its jobs: whether it answers, is of this version, and is whole; who runs jobs, and what is stuck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import gainboard
from gainboard.cli.doctor import Finding, Subject, check
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
LONG = timedelta(hours=6)


@check
def database(subject: Subject) -> Iterator[Finding]:
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
def schema(subject: Subject) -> Iterator[Finding]:
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
def journal(subject: Subject) -> Iterator[Finding]:
    """Whether readers and writers of SQLite stand in each other's way."""
    path = subject.database.path if subject.database is not None else None
    if path is None or subject.tx is None:
        return
    if inspection.has_write_ahead_log(path):
        yield Finding("ok", "write-ahead log")
    else:
        yield Finding("note", "none that lets readers and writers go on together", "The next start changes it.")


@check
def integrity(subject: Subject) -> Iterator[Finding]:
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
def contents(subject: Subject) -> Iterator[Finding]:
    """What is stored."""
    if subject.current is not None:
        counts = inspection.contents(subject.current)
        yield Finding("ok", ", ".join(f"{count:,} {name}" for name, count in counts.items()))


@check
def files(subject: Subject) -> Iterator[Finding]:
    """Whether every stored file is what was uploaded, or made of a result."""
    if subject.current is None or not subject.thorough:
        return
    broken = list(inspection.broken_files(subject.current))
    for name in broken:
        yield Finding("problem", f"the file {name} is not what was uploaded", "Restore a backup from before.")
    lost = list(inspection.broken_exhibits(subject.current))
    for name in lost:
        yield Finding("problem", f"{name} is not what was made", "Restore a backup from before.")
    if not broken and not lost:
        yield Finding("ok", "all read, and found to be what was uploaded")


@check
def audit_log(subject: Subject) -> Iterator[Finding]:
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


@check
def jobs(subject: Subject) -> Iterator[Finding]:
    """How many there are in each state, and who works them."""
    if subject.current is None or subject.database is None or subject.settings is None:
        return
    states = inspection.jobs_by_state(subject.current)
    owner = inspection.owner(subject.database, subject.current)
    slots = subject.settings.slots
    counted = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items())) or "none yet"
    yield Finding("ok", f"{counted}; worked by {owner or 'nobody now'}; slots of a server here: {slots}")
    if owner is None and (states.get("queued") or states.get("running")):
        advice = "Start a server whose GAINBOARD_JOB_SLOTS is not 0."
        yield Finding("problem", "jobs are waiting, and no server works them", advice)


@check
def stuck_jobs(subject: Subject) -> Iterator[Finding]:
    """Whether one goes on for long, or in circles."""
    if subject.current is None:
        return
    work = inspection.work(subject.current)
    if len(work.claimed) > 1:
        advice = "Those of a server that died are begun anew by the next; if they stay, restart the servers."
        yield Finding("note", f"chunks are claimed by {len(work.claimed)} servers, and one works", advice)
    if work.begun > 1:
        advice = "The server's log says why; after 3 failures or 20 interruptions the job fails with it."
        yield Finding("note", f"a chunk was begun {work.begun} times", advice)
    if work.since is not None and (age := datetime.now(UTC) - work.since) > LONG:
        hours = age.total_seconds() / 3600
        yield Finding("note", f"a job has been running for {hours:.0f} hours", "GET /v1/jobs shows it; DELETE ends it.")
