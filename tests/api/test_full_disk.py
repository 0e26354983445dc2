"""A full disk: what was done is answered as done, what was not is refused with the reason, and nothing needs a restart.

A trigger fills the disk whenever a table is changed: SQLite's own limit is then reached, and PostgreSQL raises its own
error.
"""

import errno
import shutil
import tempfile
from asyncio import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from sqlalchemy import event, text

from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store import idempotency
from gainboard.store.database import Database
from tests.waiting import until
from tests.world.campaigns import RUN, WORSE, Campaign, judged, refused
from tests.world.servers import ADMIN, Service, new_settings, running

KEY = {"Idempotency-Key": "key-1"}
FULL = (503, "no-space")
OF_POSTGRESQL = """
CREATE OR REPLACE FUNCTION no_room() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql
"""


@dataclass
class Disk:
    """The disk of a database, which is full whenever one of some tables is changed."""

    service: Service
    database: Database
    triggers: list[tuple[str, str]] = field(default_factory=list)

    def fill(self, change, table):
        name, is_sqlite = f"full_{len(self.triggers)}", self.database.is_quick
        filling = "BEGIN INSERT INTO filler VALUES (zeroblob(100000000)); END" if is_sqlite else ""
        filling = filling or "FOR EACH ROW EXECUTE FUNCTION no_room()"
        made = "CREATE TABLE IF NOT EXISTS filler (x BLOB)" if is_sqlite else OF_POSTGRESQL
        with self.database.writing() as tx:
            tx.execute(text(made))
            tx.execute(text(f"CREATE TRIGGER {name} BEFORE {change} ON {table} {filling}"))
        self.triggers.append((name, table))

    def clear(self):
        with self.database.writing() as tx:
            for name, table in self.triggers:
                tx.execute(text(f"DROP TRIGGER {name}" + ("" if self.database.is_quick else f" ON {table}")))
        self.triggers.clear()

    def kept(self):
        with self.database.reading() as tx:
            return list(tx.execute(text("SELECT status FROM idempotency_keys")).scalars())


@contextmanager
def disk_of(settings):
    workspace, _ = open_workspace(settings)
    database = workspace.database
    if database.is_quick:
        limit_pages(database, 5000)
    with running(create_app(workspace, settings)) as service:
        yield Disk(service, database)


def limit_pages(database, most):
    """Let the file of a SQLite database have so many pages, or as many as it has."""
    database.engine.dispose()
    event.listen(database.engine, "connect", lambda made, _: made.execute(f"PRAGMA max_page_count = {most}"))


@pytest.fixture
def disk(migrated_url):
    with disk_of(Settings.read({}, database_url=migrated_url, admin_token=ADMIN, job_slots=0)) as found:
        yield found


def submit(campaign, content=RUN):
    query = {"team": "lemur"}
    return campaign.organiser.post(f"{campaign.path}/runs", content=content, params=query, headers=KEY)


def make_token(campaign):
    return campaign.organiser.post(f"{campaign.path}/tokens", json={"role": "reader"}, headers=KEY)


def test_what_is_stored_is_answered_though_its_answer_cannot_be_kept(disk, caplog):
    campaign = Campaign(disk.service)
    disk.fill("UPDATE", "idempotency_keys")
    first, again = submit(campaign), submit(campaign)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["location"] == first.headers["location"]
    assert refused(submit(campaign, RUN * 2)) == (422, "idempotency-key-reused")
    assert disk.kept() == [None]
    assert "no space left on a disk" in caplog.text
    disk.clear()
    until(lambda: disk.kept() == [201], 30)
    assert submit(campaign).content == first.content


def test_a_token_is_made_once_though_its_answer_cannot_be_kept(disk):
    campaign = Campaign(disk.service)
    disk.fill("UPDATE", "idempotency_keys")
    first = make_token(campaign)
    assert first.status_code == 201
    for _ in range(2):
        again = make_token(campaign)
        assert (refused(again), again.json()["id"]) == ((409, "idempotency-key-in-use"), first.json()["id"])
        disk.clear()
    assert [each["id"] for each in campaign.get("/tokens").json()["items"]] == [first.json()["id"]]


def test_what_finds_no_room_is_not_stored_and_its_key_is_free_at_once(disk):
    campaign = Campaign(disk.service)
    disk.fill("DELETE", "idempotency_keys")
    assert refused(submit(campaign, "nonsense\n")) == (422, "faulty-file")  # and not that the key is not released
    disk.clear()
    until(lambda: disk.kept() == [], 30)
    disk.fill("INSERT", "runs")
    disk.fill("DELETE", "idempotency_keys")
    answer = submit(campaign)
    assert (refused(answer), int(answer.headers["retry-after"]) > 0) == (FULL, True)
    assert campaign.read("/runs")["items"] == []
    disk.clear()
    assert (submit(campaign).status_code, disk.kept()) == (201, [201])


def test_a_key_that_cannot_be_claimed_is_not_needed_once_there_is_room(disk):
    campaign = Campaign(disk.service)
    disk.fill("INSERT", "idempotency_keys")
    assert refused(make_token(campaign)) == FULL
    assert refused(disk.service.anonymous.get("/readyz")) == FULL
    assert disk.service.anonymous.get("/healthz").status_code == 200
    assert campaign.get("").status_code == 200
    disk.clear()
    assert disk.service.anonymous.get("/readyz").json()["status"] == "ok"
    assert make_token(campaign).status_code == 201
    assert len(campaign.get("/tokens").json()["items"]) == 1


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EIO, "broken"), CancelledError(), RuntimeError()])
def test_whatever_makes_the_keeping_fail_is_not_answered(error, tmp_path, monkeypatch):
    def failing(*_, **__):
        raise error

    with disk_of(new_settings(tmp_path)) as disk:
        campaign = Campaign(disk.service)
        with monkeypatch.context() as patch:
            patch.setattr(idempotency, "keep", failing)
            assert make_token(campaign).status_code == 201
        assert refused(make_token(campaign)) == (409, "idempotency-key-in-use")
        assert len(campaign.get("/tokens").json()["items"]) == 1


def test_a_database_at_its_limit_is_not_ready_until_it_may_grow(tmp_path):
    with disk_of(new_settings(tmp_path)) as disk:
        campaign = Campaign(disk.service)
        large = "".join(f"{line % 90} Q0 {line * 2654435761 % 4294967296:x} 1 {-line} tag\n" for line in range(20_000))
        limit_pages(disk.database, 1)
        for _ in range(2):
            assert refused(campaign.submit(large)) == FULL
            answer = disk.service.anonymous.get("/readyz")
            assert refused(answer) == FULL
            assert int(answer.headers["retry-after"]) > 0
        limit_pages(disk.database, 100_000)
        assert disk.service.anonymous.get("/readyz").status_code == 200
        assert campaign.submit(large).status_code == 201


def test_files_outside_of_the_database_and_exports_need_room_too(tmp_path, monkeypatch):
    outside = tmp_path / "outside"
    with disk_of(new_settings(tmp_path, objects=f"file://{outside}")) as disk:
        campaign = judged(disk.service)
        campaign.release()
        release = campaign.organiser.post(f"{campaign.path}/releases", json={"metrics": ["AP"]})
        with monkeypatch.context() as patch:
            patch.setattr("gainboard.store.objects.shutil.copyfileobj", full)
            patch.setattr("gainboard.dashboard.archives.TemporaryFile", full)
            for answer in (campaign.submit(WORSE), campaign.organiser.get(f"{release.headers['location']}/archive")):
                assert refused(answer) == FULL
                assert answer.headers["retry-after"]
        assert [path for path in outside.rglob("*") if path.is_file() and not path.stat().st_size] == []
        assert disk.service.anonymous.get("/readyz").status_code == 200
        assert campaign.submit(WORSE).status_code == 201
        assert campaign.organiser.get(f"{release.headers['location']}/archive").status_code == 200


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("where", ["data", "temporary"])
def test_a_service_without_room_on_a_disk_is_not_ready_before_anything_fails(where, tmp_path, monkeypatch):
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with disk_of(new_settings(tmp_path / "data")) as disk:
        short = temporary if where == "temporary" else disk.database.path.parent
        usage = shutil.disk_usage
        with monkeypatch.context() as patch:
            few = lambda folder: usage(folder)._replace(free=1000) if folder == short else usage(folder)  # noqa: E731
            patch.setattr(shutil, "disk_usage", few)
            assert refused(disk.service.anonymous.get("/readyz")) == FULL
        assert disk.service.anonymous.get("/readyz").status_code == 200
