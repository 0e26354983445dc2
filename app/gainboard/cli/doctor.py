"""The checks of `gainboard doctor`: what an operator can act on. A check is a function with `@check` above it.

Nothing is changed, and secrets are not shown.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from glob import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pydantic import SecretStr
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

import gainboard
from gainboard.errors import BadSetting, GainboardError
from gainboard.evaluation.audit import verify
from gainboard.settings import PREFIX, Settings
from gainboard.store import audit, inspection, machine
from gainboard.store.damage import damaged_rows
from gainboard.store.database import Database, Transaction
from gainboard.store.inspection import Schema, looking
from gainboard.store.processes import list_processes
from gainboard.store.records import AuditEntry
from gainboard.store.schema import ADVICE, FOLDED

Verdict = Literal["ok", "note", "problem"]
EXTRAS = {
    "cluster": ("procrastinate", "no worker on another host runs jobs"),
    "fast": ("numba", "scores take several times as long"),
    "figures": ("matplotlib", "figures of analyses and images of boards are not drawn"),
    "metrics": ("prometheus_client", "there is no /metrics"),
    "objects": ("obstore", "files are in the database, not in a folder or an object store"),
    "otel": ("opentelemetry", "no traces are sent"),
    "postgres": ("psycopg", "the database must be SQLite"),
}
"""The module that each extra installs, and what is off without it."""
HIDDEN = "***"
NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs"}
LEAST_FREE = 256 << 20
MOUNTS = Path("/proc/self/mounts")
QUICKLY_READ = 512 << 20
"""The largest database, in bytes, that is verified without --thorough."""
QUICKLY_VERIFIED = 20_000
"""The most entries of an audit log that are verified without --thorough."""
BATCH = 500
ASK = "Run `gainboard doctor --thorough` to check it."


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding. A `problem` keeps something from working; a `note` may explain something."""

    verdict: Verdict
    message: str
    advice: str = ""
    """The advice to the user."""


@dataclass(frozen=True)
class Subject:
    """The installation that the checks examine. A member is None if it is not available; a check then says why."""

    environment: Mapping[str, str]
    data: Path | None
    """The folder that the command line names."""
    thorough: bool
    settings: Settings | None = None
    refused: str = ""
    """The reason why there are no settings."""
    database: Database | None = None
    tx: Transaction | None = None
    unreachable: str = ""
    """The reason why there is no transaction."""
    schema: Schema | None = None

    @property
    def current(self) -> Transaction | None:
        """Return the transaction if the schema is this version's, so that its tables can be read."""
        return self.tx if self.schema is not None and self.schema.found == self.schema.newest else None


Check = Callable[[Subject], Iterable[Finding]]
CHECKS: list[Check] = []
"""All checks, in the order of the report."""


def check(function: Check) -> Check:
    """Add a check to the report under the function's name."""
    CHECKS.append(function)
    return function


@check
def versions(subject: Subject) -> Iterator[Finding]:
    """Show the versions of Gainboard and Python, and what is off because an extra is not installed."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("ok", f"Gainboard {gainboard.__version__}, {python}, SQLite {sqlite3.sqlite_version}, {os.name}")
    absent = {name: what for name, (module, what) in EXTRAS.items() if find_spec(module) is None}
    for name, what in absent.items():
        advice = f"It is optional. To have it, in the folder of Gainboard's source: pip install '.[{name}]'"
        yield Finding("note", f"the extra `{name}` is not installed: {what}", advice)


@check
def settings(subject: Subject) -> Iterator[Finding]:
    """Show every setting that is set."""
    if subject.settings is None:
        yield Finding("problem", subject.refused, "Correct it first: no command can open the database before.")
        return
    for name in Settings.model_fields:
        is_option = name == "data" and subject.data is not None
        if not is_option and not subject.environment.get(PREFIX + name.upper()):
            continue
        value = getattr(subject.settings, name)
        if value is None:
            shown = "none"
        elif isinstance(value, SecretStr):
            shown = f"{HIDDEN}, not shown"
        else:
            shown = without_secrets(value) if name == "database_url" else str(value) or "empty"
        yield Finding("ok", f"{PREFIX}{name.upper()} = {shown} ({'--data' if is_option else 'environment'})")


def without_secrets(url: str) -> str:
    """Return a database's address without its password, wherever the password is in the address."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # urlsplit raises ValueError if the port is not a number
        return f"{HIDDEN}, which is not a valid address"  # it may contain a password
    hidden = {key: HIDDEN for key in parsed.query if "pass" in key.lower()}
    return parsed.update_query_dict(hidden).render_as_string(hide_password=True)


@check
def unknown_variables(subject: Subject) -> Iterator[Finding]:
    """Find variables that look like settings but are not."""
    names = [PREFIX + name.upper() for name in Settings.model_fields]
    for name in Settings.unknown(subject.environment):
        near = get_close_matches(name, names, 1, 0.85)
        advice = f"Is {near[0]} meant?" if near else "It is ignored."
        yield Finding("note", f"{name} is not a setting", advice)


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
    if (there := subject.schema) is None:
        return
    if there.found == there.newest:
        yield Finding("ok", f"{there.found}, this version's")
    elif there.found is None:
        yield Finding("note", "the database has no Gainboard tables yet", "The first start creates them.")
    elif there.is_known:
        said = f"{there.found}, but this version's is {there.newest}"
        yield Finding(
            "note",
            said,
            "Run `gainboard backup` first. Then the next start, or `gainboard migrate`, upgrades the schema.",
        )
    elif there.found in FOLDED:
        yield Finding("problem", f"{there.found}, from before the first release", ADVICE)
    else:
        said = f"{there.found} is unknown to Gainboard {gainboard.__version__}: a later version wrote it"
        yield Finding("problem", said, "Install that version or a later one, or restore a backup.")


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
def rows(subject: Subject) -> Iterator[Finding]:
    """Read every row that lists show, and name each value that cannot be read."""
    if subject.current is None:
        return
    # The catalogues say which names of kinds are valid.
    for module in ("job_kinds", "report_kinds"):
        import_module(f"gainboard.analyses.{module}")
    damaged = list(damaged_rows(subject.current))
    for table, key, damage in damaged:
        advice = "Restore a backup from before the damage, or delete the row's collection, job or report."
        if (table, damage.column) == ("collections", "policy"):
            advice = (
                "Until then the strictest is used. Set it: gainboard collection change NAME --policy scores=own-mean"
            )
        yield Finding("problem", f"{table}, {key}: {damage.column} cannot be read: {damage.value}", advice)
    if not damaged:
        yield Finding("ok", "every row can be read")


@check
def jobs(subject: Subject) -> Iterator[Finding]:
    """Count the jobs in each state, and say which processes live and run them."""
    if subject.current is None or subject.database is None or subject.settings is None:
        return
    states = inspection.jobs_by_state(subject.current)
    living = list_processes(subject.current, subject.database.path)
    shown = ", ".join(f"{p.kind} on {p.host} (process {p.pid}, {p.slots} slots)" for p in living) or "no process"
    counted = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items())) or "none yet"
    slots = subject.settings.slots
    yield Finding("ok", f"{counted}; of this database live: {shown}; slots of a server here: {slots}")
    if not any(process.slots for process in living) and (states.get("queued") or states.get("running")):
        advice = "Start a server whose GAINBOARD_JOB_SLOTS is not 0, or a worker."
        yield Finding("problem", "jobs are waiting, and no process runs them", advice)


@check
def rights(subject: Subject) -> Iterator[Finding]:
    """Check that this user may write what is stored, and that others cannot read it."""
    folder = (
        subject.database.path.parent if subject.database is not None and subject.database.path is not None else None
    )
    if folder is not None and folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        advice = f"Run Gainboard as the folder's owner, or give the folder to this user: {folder}."
        yield Finding("problem", f"this user may not write into {folder}", advice)
    closed = []
    for stored in filter(Path.exists, _stored_in(subject)):
        if not (wider := list(machine.find_exposed(stored))):
            closed.append(str(stored))
            continue
        (path, mode), more = wider[0], f" and {len(wider) - 1:,} more" if wider[1:] else ""
        advice = f"chmod {'-R ' if stored.is_dir() else ''}go= {shlex.quote(str(stored))}"
        yield Finding("note", f"other users may use {path} ({mode}){more}, and it has the judgments", advice)
    if closed:
        yield Finding("ok", f"only this user may use {', '.join(closed)}")


def _stored_in(subject: Subject) -> Iterator[Path]:
    """Yield the files and folders that Gainboard makes, as far as they are on this machine."""
    settings, database = subject.settings, subject.database
    if settings is None or database is None:
        return
    if settings.compiled is not None:
        yield settings.data
    if settings.database_url is not None and database.path is not None:
        yield from sorted(database.path.parent.glob(f"{escape(database.path.name)}*"))
    if database.objects is not None and database.objects.folder is not None:
        yield database.objects.folder


@check
def disk(subject: Subject) -> Iterator[Finding]:
    """Check the free space, and that the disk is local."""
    path = subject.database.path if subject.database is not None else None
    if path is None or not path.parent.is_dir():
        return
    folder, free = path.parent, shutil.disk_usage(path.parent).free
    taken = sum(file.stat().st_size for file in folder.glob(f"{path.name}*"))
    room = f"{free / 1e9:,.1f} GB free, the database takes {taken / 1e9:,.3f} GB"
    if free < LEAST_FREE:
        yield Finding("problem", room, "Uploads are refused with 503 when the disk is full. Free some space.")
    elif free < taken:
        yield Finding("note", room, "There is no space for a backup on this disk.")
    else:
        yield Finding("ok", room)
    if (kind := file_system(folder)) in NETWORKED:
        yield Finding("problem", f"it is on a network ({kind}), where SQLite's locks do not work", "Use a local disk.")


def file_system(folder: Path) -> str | None:
    """Return the kind of file system that a folder is on; None if unknown."""
    if not MOUNTS.exists():
        return None
    # Names of folders are any bytes.
    rows = [line.split() for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()]
    # A blank in a path is written as \040 there.
    mounted = [(row[1].encode().decode("unicode_escape"), row[2]) for row in rows]
    resolved = folder.resolve()
    above = [(where, kind) for where, kind in mounted if resolved.is_relative_to(where)]
    return max(above, key=lambda row: len(row[0]))[1] if above else None


def run_checks(environment: Mapping[str, str], data: Path | None, *, thorough: bool) -> Iterator[tuple[str, Finding]]:
    """Run all checks, and yield their findings with their names. Nothing is changed."""
    with ExitStack() as open_things:
        subject = _open_database(open_things, Subject(environment, data, thorough))
        for check in CHECKS:
            name = check.__name__.replace("_", " ")
            try:
                yield from ((name, finding) for finding in check(subject))
            except (GainboardError, DBAPIError, OSError) as error:
                yield name, Finding("problem", f"could not be checked: {getattr(error, 'orig', error)}")


def _open_database(open_things: ExitStack, subject: Subject) -> Subject:
    try:
        settings = Settings.read(subject.environment, data=subject.data)
    except BadSetting as error:
        return replace(subject, refused=error.message)
    subject = replace(subject, settings=settings)
    try:
        database = Database(settings.url, objects=settings.objects)
        open_things.callback(database.close)
        subject = replace(subject, database=database)
        tx = open_things.enter_context(looking(database))
        return replace(subject, tx=tx, schema=inspection.schema(tx))
    except (GainboardError, DBAPIError) as error:
        return replace(subject, unreachable=str(error))
