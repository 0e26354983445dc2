"""The jobs: who works them, and whether any stands still."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from gainboard.cli.doctor.checking import Examined, Finding, check
from gainboard.store import inspection

LONG = timedelta(hours=6)


@check
def jobs(subject: Examined) -> Iterator[Finding]:
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
def stuck_jobs(subject: Examined) -> Iterator[Finding]:
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
