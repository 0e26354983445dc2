"""What every earlier version left in its database is there, and of use, once this version has migrated it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import select, text

from gainboard.evaluation.audit import verify
from gainboard.settings import Settings
from gainboard.store import job_tables, tables  # noqa: F401 (importing it fills the metadata)
from gainboard.store.backup import files
from gainboard.store.backup.copying import copy, set_sequences
from gainboard.store.backup.revisions import upgrade
from gainboard.store.database import Database
from gainboard.store.metadata import metadata
from gainboard.store.schema import migrate
from gainboard.work.job_kinds import find_kind
from tests.api.campaign import run_text
from tests.api.changes import log
from tests.conftest import ADMIN, Service, serving
from tests.operations.record import JOB, PATH, PLAIN, RECORDED, SCORES
from tests.operations.test_backup import quiet, restored, taken
from tests.outside import ROOT
from tests.waiting import over

VERSIONS = ROOT / "migrations" / "versions"
REVISIONS = sorted(path.name.partition("_")[0] for path in VERSIONS.glob("0*.py"))
EARLIER = REVISIONS[:-1]
IDS_SINCE = "0005"
"""The first revision whose jobs have the ids that equal requests have now."""
SAME_SCORES_SINCE = "0008"
"""The first revision whose scores have the same bytes as those of now, and whose qrels record their order."""

KEPT_SINCE_0010 = {"late": "open", "bytes": None}
"""Migration 0010 writes this into the policies of earlier versions; its new defaults are for new collections."""


def test_what_every_earlier_version_left_is_recorded() -> None:
    recorded = {path.stem for path in RECORDED.glob("*.sql")}
    assert recorded >= set(EARLIER), "record the others: see tests/operations/record.py"


@pytest.fixture(params=EARLIER)
def revision(request: pytest.FixtureRequest) -> str:
    """Each revision of the schema but the newest."""
    name: str = request.param
    return name


@pytest.fixture
def recorded(revision: str, tmp_path: Path) -> Path:
    """A database of SQLite as a version of that revision left it."""
    file = tmp_path / "recorded.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((RECORDED / f"{revision}.sql").read_text(encoding="utf-8"))
    return file


def counts(file: Path) -> dict[str, int]:
    """How many rows each table has; the manifest of a backup is none of the database's."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'backup_manifest'"
    with closing(sqlite3.connect(file)) as connection:
        names = [name for (name,) in connection.execute(tables)]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


@pytest.fixture
def migrated(recorded: Path, revision: str, database_url: str, tmp_path: Path) -> str:
    """The address of a database of each kind that an earlier version left, and this one has migrated where it was."""
    if database_url.startswith("sqlite"):
        (tmp_path / "gainboard.db").write_bytes(recorded.read_bytes())
    database = Database(database_url)
    if not database_url.startswith("sqlite"):
        with files.reading(recorded) as source, database.writing() as tx:
            upgrade(tx, revision)
            copy(source, tx, quiet)
            set_sequences(tx)
    assert migrate(database) == (revision, REVISIONS[-1])
    database.close()
    return database_url


def test_what_an_earlier_version_stored_is_answered_as_it_was_and_of_use(migrated: str, revision: str) -> None:
    answered = json.loads((RECORDED / f"{revision}.json").read_text(encoding="utf-8"))
    with serving(Settings.read({}, database_url=migrated, admin_token=ADMIN)) as service:
        assert_answered_as_before(service, answered)
        if IDS_SINCE <= revision < SAME_SCORES_SINCE:
            assert_computed_anew(service.organiser, answered["job"])
        assert_of_use(service.organiser)
        assert verify(log(service.organiser)).fault is None


def assert_answered_as_before(service: Service, answered: dict[str, Any]) -> None:
    """Files, scores, tokens, jobs and reports are those that the earlier version gave."""
    organiser = service.organiser
    for place in ("qrels", "runs"):
        got = {name: organiser.get(f"{PATH}/{place}/{name}", headers=PLAIN).text for name in answered[place]}
        assert got == answered[place]
    for name, query in (("scores", {}), ("first_scores", {"qrels": 1})):
        assert_equal(organiser.get(f"{PATH}/scores", params={**SCORES, **query}).json()["runs"], answered[name])
    assert service.client(answered["token"]).get("/v1/me").json()["team"] == "team-0"
    for asked in filter(None, (answered["job"], answered["report"])):
        assert organiser.get(asked["path"]).json()["state"] == asked["state"]
        assert_equal(organiser.get(f"{asked['path']}/result").json(), asked["result"])


WORDED_ANEW = {"caption", "meanings"}
"""Texts of reports, which are laid out anew from the results of their jobs."""


def assert_equal(now: Any, then: Any) -> None:
    """Everything that was answered then is answered now, perhaps in other words; there may be more."""
    if isinstance(then, dict):
        for key in then.keys() - WORDED_ANEW:
            assert_equal(now[key], then[key])
    elif isinstance(then, list):
        if then and all(isinstance(each, dict) and "name" in each for each in then):
            known = {each["name"] for each in then}
            now = [each for each in now if each["name"] in known]
        assert len(now) == len(then)
        for one, other in zip(now, then, strict=True):
            assert_equal(one, other)
    elif isinstance(then, float):
        assert now == pytest.approx(then, abs=1e-12)
    else:
        assert now == then


def assert_computed_anew(organiser: httpx.Client, job: dict[str, Any]) -> None:
    """An equal request is another job where scores may differ in their last digits from those of the recorded one."""
    assert find_kind(JOB["kind"]).engine_version > 1
    again = organiser.post(f"{PATH}/jobs", json=JOB)
    assert again.status_code == 202
    assert f"/v1/jobs/{again.json()['id']}" != job["path"]


def assert_of_use(organiser: httpx.Client) -> None:
    """A run is taken and scored, and a job is worked."""
    sent = run_text({"1": ["d1", "new"]}, "new")
    assert organiser.post(f"{PATH}/runs", content=sent, params={"team": "team-1"}).status_code == 201
    assert organiser.get(f"{PATH}/scores", params={"metric": "AP", "run": "new"}).status_code == 200
    job = organiser.post(f"{PATH}/jobs", json={"kind": "rank-correlation", "params": {"metrics": ["Q", "AP"]}})
    done = over(organiser, job.headers["location"])
    assert (done["state"], done["error"]) == ("succeeded", None)


def test_no_row_is_lost_on_the_way_and_the_schema_is_that_of_the_tables(recorded: Path, migrated: str) -> None:
    before = counts(recorded)
    database = Database(migrated)
    with database.reading() as tx:
        after = {name: tx.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in before}
        assert compare_metadata(MigrationContext.configure(tx), metadata) == []
    database.close()
    assert after == before


def test_qrels_of_an_earlier_version_have_the_order_of_their_collection(recorded: Path, revision: str) -> None:
    if revision >= SAME_SCORES_SINCE:
        pytest.skip("its qrels have an order of their own")
    with closing(sqlite3.connect(recorded)) as connection, connection:
        connection.execute("UPDATE collections SET order_by = 'rank'")
    with closing(Database(f"sqlite:///{recorded}")) as database:
        migrate(database)
        with database.reading() as tx:
            assert list(tx.execute(text("SELECT DISTINCT order_by FROM qrels")).scalars()) == ["rank"]


def test_stored_policies_keep_what_they_had(recorded: Path, revision: str, migrated: str) -> None:
    with closing(sqlite3.connect(recorded)) as connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(collections)")]
        (before,) = connection.execute(
            f"SELECT {'policy' if 'policy' in columns else 'NULL'} FROM collections"
        ).fetchone()
    with closing(Database(migrated)) as database, database.reading() as tx:
        stored = tx.execute(select(tables.collections.c.policy)).scalar_one()
    kept = KEPT_SINCE_0010 if revision < "0010" else {}
    assert stored == {**json.loads(before or "{}"), **kept}
    with serving(Settings.read({}, database_url=migrated, admin_token=ADMIN)) as service:
        policy = service.organiser.get(PATH).json()["policy"]
        assert (policy["late"], policy["quotas"]["bytes"]) == (stored["late"], stored["bytes"])


def test_releases_of_earlier_versions_are_known(tmp_path: Path) -> None:
    file = tmp_path / "released.db"
    at = "2026-03-01T12:00:00.250000Z"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript((RECORDED / "0009.sql").read_text(encoding="utf-8"))
        connection.execute("UPDATE collections SET phase = 'released'")
        connection.execute(
            "INSERT INTO audit SELECT max(number) + 1, 1, ?, NULL, 'organiser', 'collection-released', 'old', '{}', "
            "'', '' FROM audit",
            [at],
        )
    with closing(Database(f"sqlite:///{file}")) as database:
        migrate(database)
        with database.reading() as tx:
            released = tx.execute(select(tables.collections.c.released_at)).scalar_one()
    assert released == datetime.fromisoformat(at)


def test_a_database_of_an_earlier_version_is_backed_up_as_it_is_and_restored_as_of_this_one(
    recorded: Path, revision: str, other_url: str, tmp_path: Path
) -> None:
    before = counts(recorded)
    written = taken(f"sqlite:///{recorded}", tmp_path / "a.backup")
    assert written.revision == revision
    assert counts(recorded) == before == counts(tmp_path / "a.backup")
    restored(other_url, tmp_path / "a.backup")
    with serving(Settings.read({}, database_url=other_url, admin_token=ADMIN)) as service:
        assert service.organiser.get(PATH).json()["title"] == "Größe ☃"
    assert counts(tmp_path / "a.backup") == before
