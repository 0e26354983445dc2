"""The register of living processes: who is in it, who is taken for dead, and what is freed then."""

import os
import stat
import subprocess
import sys
from contextlib import closing, contextmanager
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, text, update

from gainboard.errors import DatabaseBusy
from gainboard.evaluation.workspace import Workspace
from gainboard.store import imports
from gainboard.store import processes as register
from gainboard.store.collections import IMPORTING
from gainboard.store.database import Database
from gainboard.store.processes import Lease, list_processes
from gainboard.store.tables import collections, processes
from tests.jobs.chunks import attempts, claimed
from tests.waiting import until

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@contextmanager
def another_process(url):
    program = (
        "import sys; from gainboard.store.database import Database; from gainboard.store.processes import Lease;"
        "lease = Lease(Database(sys.argv[1])); lease.begin('server', '0.2.0', 1); print(lease.id, flush=True); input()"
    )
    command = [sys.executable, "-c", program, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def lease(bench, monkeypatch):
    """The lease of the bench's own process, which renews it all the time."""
    monkeypatch.setattr(register, "RENEW_SECONDS", 0.05)
    bench.workspace.lease.begin("server", "0.2.0", 1)
    yield bench.workspace.lease
    bench.workspace.lease.end()


def living(bench):
    with bench.workspace.database.reading() as tx:
        return [process.id for process in list_processes(tx, bench.workspace.database.path)]


def registered(bench):
    with bench.workspace.database.reading() as tx:
        return set(tx.execute(select(processes.c.id)).scalars())


def let_lease_end(bench, identity):
    with bench.workspace.database.writing() as tx:
        tx.execute(update(processes).where(processes.c.id == identity).values(leased_until=LONG_AGO))


def test_processes_are_listed_in_the_order_in_which_they_registered_until_they_leave(bench, lease):
    with closing(Database(bench.url)) as database:
        second = Lease(database)
        second.begin("worker", "0.2.0", 2)
        assert living(bench) == [lease.id, second.id]
        second.end()
    assert living(bench) == [lease.id]


def test_a_process_that_is_killed_holds_nothing_any_more(bench, lease):
    with another_process(bench.url) as (process, identity):
        job = bench.add([1, 1])
        claimed(bench, identity)
        assert identity in living(bench)
        process.kill()
        process.wait()
        if bench.workspace.database.path is not None:
            assert identity not in living(bench), "its file is not locked, so that a crash is known at once"
        let_lease_end(bench, identity)
        until(lambda: registered(bench) == {lease.id})
        until(lambda: attempts(bench, job)[0] == (0, 1))


def test_a_process_that_was_taken_for_dead_begins_anew_and_loses_what_it_held(bench, lease):
    before, job = lease.id, bench.add([1, 1])
    claimed(bench, before)
    with bench.workspace.database.writing() as tx:
        register.sweep(tx, processes.c.id == before)
    until(lambda: lease.is_held and lease.id != before)
    assert registered(bench) == {lease.id}
    assert attempts(bench, job)[0] == (0, 1)


def test_who_was_late_itself_judges_nobody(bench, monkeypatch):
    """After an outage all leases have ended, and the first process that renews its own must not end the others."""
    monkeypatch.setattr(register, "RENEW_SECONDS", 3600)
    ours, other = bench.workspace.lease, Lease(bench.workspace.database)
    ours.begin("server", "0.2.0")
    other.begin("server", "0.2.0")
    ours._until = LONG_AGO
    let_lease_end(bench, other.id)
    ours._renew()
    assert registered(bench) == {ours.id, other.id}
    ours._renew()
    assert registered(bench) == {ours.id}
    other.end()
    ours.end()


def test_an_import_ends_with_its_process(bench, lease):
    added = {}
    with bench.workspace.database.writing() as tx:
        fixed = {"title": "", "highest_level": 1, "gains": "linear", "depth": 9, "order_by": "score", "phase": "hidden"}
        for identity in (lease.id, "dead"):
            row = {"uuid": identity, "name": f"{IMPORTING}{identity}/1", "public": False, "revision": 0} | fixed
            row = collections.insert().values(**row, created_at=bench.workspace.now())
            added[identity] = tx.execute(row.returning(collections.c.id)).scalar_one()
    let_lease_end(bench, identity="nobody")
    with bench.workspace.database.writing() as tx:
        register.sweep(tx, processes.c.id == "nobody")
        assert imports.hold(tx, added[lease.id])
        assert not imports.hold(tx, added["dead"])
        assert imports.find_abandoned(tx) == added["dead"]


def test_the_lock_of_a_process_does_not_outlast_it_in_its_children(tmp_path, bench):
    if bench.workspace.database.path is None:
        pytest.skip("only processes on SQLite lock a file")
    bench.workspace.lease.begin("server", "0.2.0")
    identity = bench.workspace.lease.id
    file = bench.workspace.database.path.with_name(f"gainboard.db-process-{identity}")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as child:
        bench.workspace.lease.end()
        assert not register._is_locked(file)
        assert not file.exists()
        child.kill()


def test_a_lock_file_that_cannot_be_opened_is_no_fault_of_ours(tmp_path):
    with closing(Database(f"sqlite:///{tmp_path / 'gainboard.db'}")) as database:
        lease = Workspace(database).lease
        os.mkdir(tmp_path / f"gainboard.db-process-{lease.id}")
        with pytest.raises(DatabaseBusy, match="lock file"):
            lease._register()


def test_a_database_that_does_not_answer_yet_is_entered_later(tmp_path, monkeypatch, migrated_url):
    monkeypatch.setattr(register, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(register, "TROUBLE_SECONDS", 0.05)
    with closing(Database(migrated_url)) as database:
        lease = Lease(database)
        with monkeypatch.context() as broken:
            broken.setattr(database, "writing", lambda: raise_busy())
            lease.begin("server", "0.2.0")
            assert not lease.is_held
        until(lambda: lease.is_held)
        lease.end()
        with database.reading() as tx:
            assert tx.execute(text("SELECT count(*) FROM processes")).scalar_one() == 0


def raise_busy():
    raise DatabaseBusy("It does not answer.")
