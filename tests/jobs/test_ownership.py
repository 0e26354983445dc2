"""One process at a time has the jobs of a database worked."""

import stat
import subprocess
import sys
from contextlib import contextmanager
from uuid import uuid4

import pytest
from sqlalchemy.engine import make_url

from gainboard.errors import DatabaseBusy
from gainboard.store.database import Database
from gainboard.store.ownership import Ownership
from tests.waiting import until
from tests.world.benches import disconnect


@contextmanager
def another_process(url):
    program = (
        "import sys; from gainboard.store.database import Database; from gainboard.store.ownership import Ownership;"
        "owner = Ownership(Database(sys.argv[1])); print('owns' if owner.acquire() else 'waits', flush=True); input()"
    )
    command = [sys.executable, "-c", program, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def database(migrated_url):
    made = Database(migrated_url)
    yield made
    made.close()


def test_one_of_two_owns_the_jobs_even_within_a_process(database):
    first, second = Ownership(database), Ownership(database)
    assert [first.acquire(), second.acquire(), first.acquire(), second.acquire()] == [True, False, True, False]
    first.release()
    assert [first.holds(), second.acquire(), second.holds()] == [False, True, True]
    second.release()


def test_an_owner_that_is_killed_is_followed_by_whoever_asks(database, migrated_url):
    ownership = Ownership(database)
    with another_process(migrated_url) as (process, said):
        assert said == "owns"
        assert not ownership.acquire()
        process.kill()
        until(ownership.acquire)
    with another_process(migrated_url) as (_, said):
        assert said == "waits"
    assert ownership.holds()
    ownership.release()


def test_a_process_that_is_started_by_the_owner_does_not_keep_the_ownership(database):
    first, second = Ownership(database), Ownership(database)
    assert first.acquire()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as child:
        first.release()
        assert second.acquire()
        child.kill()
    second.release()


def test_a_lost_connection_is_noticed_and_another_may_own_then(postgres_url):
    # A name of its own, by which only the connections of this test are ended: the server may be other people's, too.
    named = make_url(postgres_url).update_query_dict({"application_name": uuid4().hex})
    url = named.render_as_string(hide_password=False)
    database = Database(url)
    first, second = Ownership(database), Ownership(database)
    assert first.acquire()
    disconnect(url)
    until(second.acquire)
    assert [first.holds(), first.acquire()] == [False, False]
    second.release()
    assert first.acquire()
    first.release()
    database.close()


def test_the_lock_file_is_its_owners_alone_and_one_that_cannot_be_opened_is_no_fault_of_ours(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'gainboard.db'}")
    ownership = Ownership(database)
    assert ownership.acquire()
    file = tmp_path / "gainboard.db-jobs"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ownership.release()
    file.unlink()
    file.mkdir()
    with pytest.raises(DatabaseBusy, match="lock file"):
        ownership.acquire()
    database.close()
