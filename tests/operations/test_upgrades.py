"""What an earlier version left in its database is there, and of use, once this version has migrated it.

A database is recorded at the revision that a migration of tables leaves behind.
"""

import json
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text

from gainboard.errors import DatabaseOlder, GainboardError
from gainboard.evaluation.audit import verify
from gainboard.settings import Settings
from gainboard.store.backup import files
from gainboard.store.backup.files import copy, set_sequences
from gainboard.store.database import Database
from gainboard.store.inspection import require_current
from gainboard.store.schema import LAST_COMMIT, migrate, upgrade
from tests.api.changes import log
from tests.operations.record import PATH, PLAIN, RECORDED, SCORES
from tests.operations.test_backup import quiet, restored, taken
from tests.outside import ROOT
from tests.waiting import over
from tests.world.campaigns import run_text
from tests.world.servers import ADMIN, serving

REVISIONS = sorted(path.name.partition("_")[0] for path in (ROOT / "migrations" / "versions").glob("0*.py"))
RECORDED_AT = "0018"
"""The revision of the first recorded database."""


def loaded(file, revision=RECORDED_AT):
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((RECORDED / f"{revision}.sql").read_text(encoding="utf-8"))
    return file


@pytest.fixture
def recorded(tmp_path):
    return loaded(tmp_path / "recorded.db")


def counts(file):
    """How many rows each table has; the manifest of a backup is none of the database's."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'backup_manifest'"
    with closing(sqlite3.connect(file)) as connection:
        names = [name for (name,) in connection.execute(tables)]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


@pytest.mark.parametrize("revision", sorted(path.stem for path in RECORDED.glob("*.sql")))
def test_what_an_earlier_version_stored_is_answered_as_it_was_and_of_use(revision, database_url, tmp_path):
    recorded = loaded(tmp_path / "recorded.db", revision)
    before = counts(recorded)
    before.pop("workers", None)  # those of an earlier version have ended; 0024 has another table
    database = Database(database_url)
    if database.path is not None:
        (tmp_path / "gainboard.db").write_bytes(recorded.read_bytes())
    else:
        with files.reading(recorded) as source, database.writing() as tx:
            upgrade(tx, revision)
            copy(source, tx, quiet)
            set_sequences(tx)
    assert migrate(database) == (revision, REVISIONS[-1])
    with database.reading() as tx:
        after = {name: tx.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in before}
    database.close()
    assert after == before
    answered = json.loads((RECORDED / f"{revision}.json").read_text(encoding="utf-8"))
    with serving(Settings.read({}, database_url=database_url, admin_token=ADMIN)) as service:
        assert_answered_as_before(service, answered)
        assert_of_use(service.organiser)
        assert verify(log(service.organiser)).fault is None


def assert_answered_as_before(service, answered):
    """Files, scores, tokens, jobs and reports are those that the earlier version gave."""
    organiser = service.organiser
    for place in ("qrels", "runs"):
        got = {name: organiser.get(f"{PATH}/{place}/{name}", headers=PLAIN).text for name in answered[place]}
        assert got == answered[place]
    for name, query in (("scores", {}), ("first_scores", {"qrels": 1})):
        assert_equal(organiser.get(f"{PATH}/scores", params={**SCORES, **query}).json()["runs"], answered[name])
    assert service.client(answered["token"]).get("/v1/me").json()["team"] == "team-0"
    for asked in (answered["job"], answered["report"]):
        assert organiser.get(asked["path"]).json()["state"] == asked["state"]
        assert organiser.get(f"{asked['path']}/result").json() == asked["result"]
        table = organiser.get(asked["path"]).json()["tables"][0]["name"]
        assert organiser.get(f"{asked['path']}/tables/{table}.csv").status_code == 200


def assert_equal(now, then):
    """The same values are answered now as then, computed anew."""
    if isinstance(then, dict):
        assert now.keys() == then.keys()
        for key in then:
            assert_equal(now[key], then[key])
    elif isinstance(then, list):
        for one, other in zip(now, then, strict=True):
            assert_equal(one, other)
    else:
        assert now == (pytest.approx(then, abs=1e-12) if isinstance(then, float) else then)


def assert_of_use(organiser):
    sent = run_text({"1": ["d1", "new"]}, "new")
    assert organiser.post(f"{PATH}/runs", content=sent, params={"team": "team-1"}).status_code == 201
    assert organiser.get(f"{PATH}/scores", params={"metric": "AP", "run": "new"}).status_code == 200
    job = organiser.post(f"{PATH}/jobs", json={"kind": "rank-correlation", "params": {"metrics": ["Q", "AP"]}})
    done = over(organiser, job.headers["location"])
    assert (done["state"], done["error"]) == ("succeeded", None)


def test_a_database_of_an_earlier_version_is_backed_up_as_it_is_and_restored_as_of_this_one(
    recorded, other_url, tmp_path
):
    before = counts(recorded)
    written = taken(f"sqlite:///{recorded}", tmp_path / "a.backup")
    assert written.revision == RECORDED_AT
    assert counts(recorded) == before == counts(tmp_path / "a.backup")
    restored(other_url, tmp_path / "a.backup")
    with serving(Settings.read({}, database_url=other_url, admin_token=ADMIN)) as service:
        assert service.organiser.get(PATH).json()["title"] == "Größe ☃"
    assert counts(tmp_path / "a.backup") == before


def test_a_database_from_before_the_first_release_is_told_which_commit_can_migrate_it(recorded, tmp_path):
    backup, url = tmp_path / "a.backup", f"sqlite:///{recorded}"
    taken(url, backup)
    for revision in ("0001", "0017"):
        for file in (recorded, backup):
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
        before = recorded.read_bytes()
        attempts = {
            "migrate": lambda: opened(url, migrate),
            "other commands": lambda: opened(url, require_current),
            "backup": lambda: taken(url, tmp_path / "b.backup"),
            "restore": lambda: restored(f"sqlite:///{tmp_path / 'new.db'}", backup),
        }
        for name, attempt in attempts.items():
            error = refused(attempt)
            assert isinstance(error, DatabaseOlder), name
            assert f"is at schema revision {revision}. It is from before the first release" in error.message, name
            assert LAST_COMMIT in error.message, name
        assert recorded.read_bytes() == before
        assert not (tmp_path / "b.backup").exists()
        assert not (tmp_path / "new.db").exists()


def opened(url, use):
    with closing(Database(url)) as database:
        use(database)


def refused(attempt):
    with pytest.raises(GainboardError) as raised:
        attempt()
    return raised.value
