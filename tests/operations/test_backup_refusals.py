"""What ends a backup or its restoring: it is said in a sentence, and leaves nothing behind."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from gainboard.cli.progress import interruptible
from gainboard.errors import BadSetting, DatabaseNewer, DatabaseUnusable
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.store.backup import restore, take
from gainboard.store.database import Database
from tests.operations.test_backup import quiet, restored, taken
from tests.outside import outside
from tests.world.servers import migrated


@pytest.fixture
def url(tmp_path):
    return started(f"sqlite:///{tmp_path / 'gainboard.db'}")


def started(url):
    """The address of a database in which a first start has left its token."""
    if (path := Database(url).path) is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(migrated())
    workspace, _ = open_workspace(Settings.read({}, database_url=url))
    workspace.database.close()
    return url


@pytest.fixture(scope="module")
def first_backup(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    taken(started(f"sqlite:///{folder / 'gainboard.db'}"), folder / "a.backup")
    return folder / "a.backup"


@pytest.fixture
def backup(first_backup, tmp_path):
    (tmp_path / "kept").mkdir()
    return Path(shutil.copy(first_backup, tmp_path / "kept"))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def change(file, statement):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_file_is_replaced_by_force_only(url, backup):
    backup.write_text("the only copy of a thesis")
    with pytest.raises(BadSetting, match="replace it with --force"):
        taken(url, backup)
    assert backup.read_text() == "the only copy of a thesis"
    taken(url, backup, force=True)
    assert backup.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (".", "is a folder. Name a file in it"),
        ("absent/a.backup", "is not a folder"),
        ("gainboard.db", "belongs to the database itself"),
        ("gainboard.db-wal", "belongs to the database itself"),
        ("link", "belongs to the database itself"),
    ],
)
def test_a_place_that_cannot_be_or_is_the_database_is_refused_even_by_force(url, tmp_path, place, said):
    (tmp_path / "link").symlink_to(tmp_path / "gainboard.db")
    before = names(tmp_path)
    with pytest.raises(BadSetting, match=said):
        taken(url, tmp_path / place, force=True)
    assert names(tmp_path) == before


def test_a_database_that_is_absent_is_not_made_by_its_backup(tmp_path):
    with pytest.raises(DatabaseUnusable, match="There is no database"):
        taken(f"sqlite:///{tmp_path / 'absent' / 'gainboard.db'}", tmp_path / "a.backup")
    assert names(tmp_path) == []


def test_a_database_without_our_tables_or_of_a_later_version_is_not_backed_up(database_url, tmp_path):
    (tmp_path / "kept").mkdir()
    cases = (
        ("CREATE TABLE diary (day integer)", BadSetting, "The database has no tables of Gainboard"),
        ("UPDATE alembic_version SET version_num = '9999'", DatabaseNewer, "is at schema revision 9999"),
    )
    for statement, kind, said in cases:
        if kind is DatabaseNewer:
            started(database_url)
        with closing(Database(database_url)) as database, database.writing() as tx:
            tx.execute(text("DROP TABLE IF EXISTS diary"))
            tx.execute(text(statement))
        with pytest.raises(kind, match=said):
            taken(database_url, tmp_path / "kept" / "a.backup")
        assert names(tmp_path / "kept") == []


def test_a_disk_that_is_full_in_the_middle_of_a_backup_is_named_and_nothing_stays(url, tmp_path):
    (tmp_path / "kept").mkdir()
    # A limit on the size of files is the full disk that a test can have: 128 blocks of 512 or 1024 bytes.
    command = f"ulimit -f 128; exec {sys.executable} -m gainboard backup {tmp_path / 'kept' / 'a.backup'}"
    own = outside(GAINBOARD_DATABASE_URL=url)
    done = subprocess.run(["sh", "-c", command], env=own, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("gainboard: Cannot write")
    assert names(tmp_path / "kept") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_backup_that_is_interrupted_leaves_nothing(url, tmp_path, number):
    (tmp_path / "kept").mkdir()
    seen = []

    def interrupt(table, done, expected):
        seen.extend(names(tmp_path / "kept"))
        signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt), interruptible():
        take(Database(url), tmp_path / "kept" / "a.backup", interrupt)
    assert [name for name in seen if name.endswith(".partial")]
    assert names(tmp_path / "kept") == []


def test_a_restore_that_is_interrupted_leaves_nothing(backup, other_url, tmp_path):
    before = names(tmp_path)

    def interrupt(table, done, expected):
        if table == "audit" and done:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        restore(Database(other_url), backup, interrupt)
    assert names(tmp_path) == before
    restored(other_url, backup)


def test_a_database_with_anything_in_it_is_not_restored_into(backup, other_url):
    started(other_url)
    with pytest.raises(BadSetting, match=r"this one has .*tokens \(1 rows\)"):
        restored(other_url, backup)
    database = Database(other_url)
    with database.reading() as tx:
        assert tx.execute(text("SELECT count(*) FROM audit")).scalar() == 1
    database.close()


class Overtaken(Database):
    """A database that another restore fills just before anybody writes to it."""

    def __init__(self, url, backup):
        super().__init__(url)
        self._other_url, self._backup = url, backup

    @contextmanager
    def writing(self):
        restored(self._other_url, self._backup)
        with super().writing() as connection:
            yield connection


def test_a_file_that_another_restore_has_filled_meanwhile_stays(backup, tmp_path):
    path = tmp_path / "new" / "gainboard.db"
    with pytest.raises(BadSetting, match="this one has"):
        restore(Overtaken(f"sqlite:///{path}", backup), backup, quiet)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM tokens").fetchone() == (1,)


DAMAGED = [
    ("UPDATE alembic_version SET version_num = '9999'", r"a\.backup is at schema revision 9999.*a later version"),
    ("DROP TABLE alembic_version", r"a\.backup has no tables of Gainboard"),
    ("INSERT INTO uploads VALUES ('u', 77, 'a server')", "its table uploads refers to missing rows of teams"),
    ("DROP TABLE backup_manifest", "has no table backup_manifest"),
    ("INSERT INTO alembic_version VALUES ('0001')", "of several schema revisions at once"),
    (lambda backup: os.truncate(backup, backup.stat().st_size // 2), r"a\.backup.*(malformed|damaged)"),
    (lambda backup: backup.write_bytes(b"Dear diary, " * 1000), r"Cannot read .*a\.backup: file is not a database"),
    (lambda backup: backup.unlink(), r"There is no file .*a\.backup"),
    (lambda backup: (backup.unlink(), backup.mkdir()), r"a\.backup is a folder"),
]
"""What happens to a backup, and what is said of it."""


def test_a_file_that_is_no_whole_backup_of_ours_is_refused_before_anything_is_made(backup, other_url, tmp_path):
    before, whole = names(tmp_path), backup.read_bytes()
    for damage, said in DAMAGED:
        backup.write_bytes(whole)
        change(backup, damage) if isinstance(damage, str) else damage(backup)
        with pytest.raises((BadSetting, DatabaseNewer, DatabaseUnusable), match=said):
            restored(other_url, backup)
        assert names(tmp_path) == before


ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS id, i AS token_hash, i AS began_at, i AS used_at"
)
CRAFTED = {
    "a view": f"DROP TABLE sessions; CREATE VIEW sessions AS {ENDLESS} FROM n",
    "a view of versions": "DROP TABLE alembic_version; "
    f"CREATE VIEW alembic_version AS {ENDLESS}, i AS version_num FROM n",
    "a virtual table": "DROP TABLE sessions; "
    "CREATE VIRTUAL TABLE sessions USING fts5(id, token_hash, began_at, used_at)",
    "a generated column": "DROP TABLE sessions; CREATE TABLE sessions (id VARCHAR(64) NOT NULL, "
    "token_hash VARCHAR(64) AS (hex(zeroblob(20000000))), began_at DATETIME NOT NULL, used_at DATETIME NOT NULL, "
    "CONSTRAINT pk_sessions PRIMARY KEY (id)); "
    "INSERT INTO sessions VALUES ('1', '2026-11-25', '2026-11-25')",
    "a trigger": "CREATE TRIGGER more AFTER INSERT ON tokens BEGIN DELETE FROM runs; END",
    "an index of an expression": "CREATE INDEX more ON tokens (hex(zeroblob(length(id) * 1000000)))",
}
"""What a crafted backup has, and the statements that make it so."""


@pytest.mark.parametrize("statements", CRAFTED.values(), ids=list(CRAFTED))
def test_a_file_with_anything_but_our_own_tables_is_refused_before_anything_is_read(backup, tmp_path, statements):
    before = names(tmp_path)
    with closing(sqlite3.connect(backup)) as connection:
        connection.executescript(statements)
    with pytest.raises(
        (DatabaseUnusable, BadSetting), match=r"has the .*Nothing was restored|has no tables of Gainboard"
    ):
        restored(f"sqlite:///{tmp_path / 'other.db'}", backup)
    assert names(tmp_path) == before


def test_a_table_with_more_rows_or_bytes_than_the_manifest_states_is_not_restored(backup, other_url, tmp_path):
    before, whole = names(tmp_path), backup.read_bytes()
    for statement in (
        "INSERT INTO sessions VALUES ('id', 'hash', '2026-11-25 10:00:00', '2026-11-25 10:00:00')",
        f"UPDATE tokens SET holder = '{'x' * 10_000}'",
        "UPDATE backup_manifest SET rows = 0",
        "DELETE FROM backup_manifest",
    ):
        change(backup, statement)
        with pytest.raises(DatabaseUnusable, match=r"more than the . rows and .* that it may have"):
            restored(other_url, backup)
        assert names(tmp_path) == before
        backup.write_bytes(whole)
    change(backup, "UPDATE backup_manifest SET rows = 'all'")
    with pytest.raises(DatabaseUnusable, match="sizes that are no numbers"):
        restored(other_url, backup)


def test_a_restore_that_the_target_refuses_leaves_it_empty(backup, other_url):
    # SQLite does not count the letters of a text, and PostgreSQL does.
    change(backup, f"UPDATE tokens SET role = '{'x' * 17}'")
    change(backup, "UPDATE backup_manifest SET bytes = bytes + 17")
    if other_url.startswith("sqlite"):
        pytest.skip("SQLite takes it")
    with pytest.raises(DatabaseUnusable, match="Cannot write the table tokens: value too long"):
        restored(other_url, backup)
    database = Database(other_url)
    with database.reading() as tx:
        assert inspect(tx).get_table_names() == []
    database.close()
