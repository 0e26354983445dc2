"""Checks of the database and its jobs: connection, version, damage, workers, and stuck jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import gainboard
from gainboard.cli.doctor.checks import Finding, Subject, check
from gainboard.evaluation.audit import verify
from gainboard.store import audit, inspection
from gainboard.store.database import Transaction
from gainboard.store.records import AuditEntry
from gainboard.store.schema import ADVICE, FOLDED

QUICKLY_READ = 512 << 20
"""The largest database, in bytes, that is verified without --thorough."""
QUICKLY_VERIFIED = 20_000
"""The most entries of an audit log that are verified without --thorough."""
BATCH = 500
ASK = "Run `gainboard doctor --thorough` to check it."
LONG = timedelta(hours=6)


@check
def database(subject: Subject) -> Iterator[Finding]:
    """Check that the database answers."""
    if subject.settings is None:
        return
    path = subject.database.path if subject.database is not None else None
    if subject.tx is not None:
        size = inspection.size(subject.tx) / 1e6
        yield Finding("ok", f"{inspection.server_version(subject.tx)}, {size:,.1f} MB")
    elif path is not None and not path.exists():
        yield Finding("note", f"there is no {path}", "The first start creates it.")
    else:
        yield Finding(
            "problem",
            subject.unreachable,
            "Gainboard needs its database. Check the address, and that the server is running.",
        )


@check
def schema(subject: Subject) -> Iterator[Finding]:
    """Check that the schema is this version's."""
    if (found := subject.schema) is None:
        return
    if found.found == found.newest:
        yield Finding("ok", f"{found.found}, this version's")
    elif found.found is None:
        yield Finding("note", "the database has no Gainboard tables yet", "The first start creates them.")
    elif found.is_known:
        said = f"{found.found}, but this version's is {found.newest}"
        yield Finding(
            "note",
            said,
            "Run `gainboard backup` first. Then the next start, or `gainboard migrate`, upgrades the schema.",
        )
    elif found.found in FOLDED:
        yield Finding("problem", f"{found.found}, from before the first release", ADVICE)
    else:
        said = f"{found.found} is unknown to Gainboard {gainboard.__version__}: a later version wrote it"
        yield Finding("problem", said, "Install that version or a later one, or restore a backup.")


@check
def journal(subject: Subject) -> Iterator[Finding]:
    """Check that readers and writers of SQLite do not block each other."""
    path = subject.database.path if subject.database is not None else None
    if path is None or subject.tx is None:
        return
    if inspection.has_write_ahead_log(path):
        yield Finding("ok", "write-ahead log")
    else:
        yield Finding("note", "readers and writers block each other", "The next start changes the mode.")


@check
def integrity(subject: Subject) -> Iterator[Finding]:
    """Check every page of SQLite's file for damage."""
    if subject.tx is None or subject.tx.dialect.name != "sqlite":
        return
    if inspection.size(subject.tx) > QUICKLY_READ and not subject.thorough:
        yield Finding("note", "not checked, because the file is large", ASK)
    elif damage := inspection.damage(subject.tx, thorough=subject.thorough):
        advice = "Stop the service, keep a copy of the folder, and restore the last backup into a new folder."
        yield Finding("problem", f"the file is damaged: {damage}", advice)
    else:
        yield Finding("ok", "intact, with indexes and references" if subject.thorough else "no page is damaged")


@check
def contents(subject: Subject) -> Iterator[Finding]:
    """Count what is stored."""
    if subject.current is not None:
        counts = inspection.contents(subject.current)
        yield Finding("ok", ", ".join(f"{count:,} {name}" for name, count in counts.items()))


@check
def files(subject: Subject) -> Iterator[Finding]:
    """Check that every stored file still has the content that was uploaded or made."""
    if subject.current is None or subject.database is None:
        return
    outside = inspection.files_outside(subject.current)
    if outside and subject.database.objects is None:
        yield Finding(
            "problem",
            f"{outside:,} files are kept outside of the database, but GAINBOARD_OBJECTS is not set",
            "Set it to their place, as on the servers.",
        )
        return
    if not subject.thorough:
        return
    broken = list(inspection.broken_files(subject.database, subject.current))
    for name in broken:
        yield Finding(
            "problem",
            f"the content of the file {name} has changed since its upload",
            "Restore a backup that is older than the damage.",
        )
    lost = list(inspection.broken_exhibits(subject.current))
    for name in lost:
        yield Finding(
            "problem",
            f"the content of {name} has changed since it was made",
            "Restore a backup that is older than the damage.",
        )
    if not broken and not lost:
        yield Finding("ok", "all read, and unchanged since their upload")


@check
def audit_log(subject: Subject) -> Iterator[Finding]:
    """Verify the chain of hashes in the audit log."""
    if (tx := subject.current) is None:
        return
    newest = audit.last(tx, audit.AuditWanted())
    if newest is not None and newest.number > QUICKLY_VERIFIED and not subject.thorough:
        yield Finding("note", f"{newest.number:,} entries, not verified", ASK)
        return
    verdict = verify(asdict(entry) for entry in _entries(tx))
    if verdict.fault is not None:
        advice = "Somebody with access to the database has changed it. Compare it with an earlier backup or export."
        yield Finding("problem", f"{verdict.fault} (the {verdict.entries:,} entries before it are intact)", advice)
    else:
        yield Finding("ok", f"intact: {verdict.entries:,} entries; the hash of the last is {verdict.last}")


def _entries(tx: Transaction) -> Iterator[AuditEntry]:
    after = 0
    while batch := audit.page(tx, audit.AuditWanted(), after=after, limit=BATCH):
        yield from batch
        after = batch[-1].number


@check
def jobs(subject: Subject) -> Iterator[Finding]:
    """Count the jobs in each state, and say which server runs them."""
    if subject.current is None or subject.database is None or subject.settings is None:
        return
    states = inspection.jobs_by_state(subject.current)
    owner = inspection.owner(subject.database, subject.current)
    slots = subject.settings.slots
    counted = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items())) or "none yet"
    yield Finding("ok", f"{counted}; run by {owner or 'no server'}; slots of a server here: {slots}")
    if owner is None and (states.get("queued") or states.get("running")):
        advice = "Start a server whose GAINBOARD_JOB_SLOTS is not 0."
        yield Finding("problem", "jobs are waiting, and no server runs them", advice)


@check
def stuck_jobs(subject: Subject) -> Iterator[Finding]:
    """Check that no job runs for very long, or starts again and again."""
    if subject.current is None:
        return
    work = inspection.work(subject.current)
    if len(work.claimed) > 1:
        advice = "The next server starts the parts of a dead server again. If this message stays, restart all servers."
        yield Finding(
            "note", f"parts of jobs are claimed by {len(work.claimed)} servers, but only one runs jobs", advice
        )
    if work.begun > 1:
        advice = (
            "The server's log has the reason. After 3 failures or 20 interruptions, the job fails with this reason."
        )
        yield Finding("note", f"a part of a job was started {work.begun} times", advice)
    if work.since is not None and (age := datetime.now(UTC) - work.since) > LONG:
        hours = age.total_seconds() / 3600
        yield Finding(
            "note",
            f"a job has been running for {hours:.0f} hours",
            "`gainboard job list` shows it; `gainboard job cancel ID` cancels it.",
        )
