"""`gainboard doctor`: it finds what is wrong, shows nothing secret, and changes nothing."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from gainboard import cli
from gainboard.cli import doctor as looking
from gainboard.cli.doctor import file_system, without_secrets
from gainboard.main import open_workspace
from gainboard.settings import PREFIX, Settings
from gainboard.store.database import Database
from gainboard.store.schema import LAST_COMMIT
from tests.operations.record import RECORDED
from tests.world.laboratories import LONG, Laboratory
from tests.world.servers import ADMIN, new_settings, serving


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Nothing of the settings that the tests run under."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)
    monkeypatch.setenv("GAINBOARD_FAST", "off")


class Doctor:
    def __init__(self, capsys):
        self._capsys = capsys

    def said(self, *arguments):
        self.code = cli.main(["doctor", *arguments])
        return self._capsys.readouterr().out

    def advised(self, check, *arguments):
        findings = json.loads(self.said("--json", *arguments))["findings"]
        return {
            each["advice"]: each["said"] for each in findings if (each["check"], each["verdict"]) == (check, "note")
        }

    def found(self, *arguments):
        report = json.loads(self.said("--json", *arguments))
        found = {}
        for each in report["findings"]:
            found.setdefault(each["check"], []).append((each["verdict"], each["said"]))
        problems = sum(verdict == "problem" for all_of_one in found.values() for verdict, _ in all_of_one)
        assert (self.code, report["problems"]) == (int(problems > 0), problems)
        return found


@pytest.fixture
def doctor(capsys):
    return Doctor(capsys)


def looked_at(folder):
    """All that is in a folder: a change of anything shows."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.fixture
def address(database_url, monkeypatch):
    """An instance of each kind that was started once, and is what the settings name."""
    workspace, _ = open_workspace(Settings.read({}, database_url=database_url, admin_token=ADMIN))
    workspace.database.close()
    monkeypatch.setenv("GAINBOARD_DATABASE_URL", database_url)
    return database_url


def test_a_sound_instance_has_no_problem_and_is_left_as_it_is(address, tmp_path, doctor):
    before = looked_at(tmp_path)
    found = doctor.found("--thorough")
    assert doctor.code == 0
    for name in ("database", "schema", "files", "audit log"):
        assert [verdict for verdict, _ in found[name]] == ["ok"], name
    assert "intact: 1 entries" in found["audit log"][0][1]
    assert looked_at(tmp_path) == before


def test_the_names_of_levels_are_counted(address, doctor):
    with serving(Settings.read({}, database_url=address, admin_token=ADMIN, job_slots=0)) as service:
        service.organiser.post("/v1/collections", json={"name": "web", "levels": ["B", "A"]}).raise_for_status()
    assert doctor.found()["rows"][0][0] == "ok"
    database = Database(address)
    with database.writing() as tx:
        tx.execute(text("UPDATE collections SET highest_level = 3"))
    database.close()
    assert "2 names for 3 levels" in doctor.found()["rows"][0][1]


def test_waiting_jobs_and_a_schema_of_another_time_are_problems(address, doctor):
    with serving(Settings.read({}, database_url=address, admin_token=ADMIN, job_slots=0)) as service:
        assert Laboratory(service).ask(**LONG).status_code == 202
        assert doctor.found()["jobs"][1] == ("problem", "jobs are waiting, and no process runs them")
    for revision, advice in (("9999", "Install that version"), ("0004", LAST_COMMIT)):
        database = Database(address)
        with database.writing() as tx:
            tx.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        database.close()
        ((verdict, said),) = doctor.found()["schema"]
        assert (verdict, said[:4], advice in doctor.said("--json")) == ("problem", revision, True)


def test_a_database_that_is_absent_older_or_damaged_is_left_as_it_is(tmp_path, doctor):
    asked, file = ("--data", str(tmp_path / "data"), "--thorough"), tmp_path / "data" / "gainboard.db"
    assert (doctor.found(*asked)["database"][0][0], doctor.code) == ("note", 0)
    assert list(tmp_path.iterdir()) == []
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((RECORDED / "0018.sql").read_text(encoding="utf-8"))
    before = looked_at(tmp_path)
    assert (doctor.found(*asked)["schema"][0][0], doctor.code) == ("note", 0)
    assert looked_at(tmp_path) == before
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    found = doctor.found(*asked)
    assert "problem" in {verdict for name in ("integrity", "database") for verdict, _ in found.get(name, [])}
    file.write_text("Dear diary, " * 500)
    assert "file is not a database" in doctor.found(*asked)["database"][0][1]


@pytest.mark.outer
def test_a_forged_log_rotten_files_and_values_that_cannot_be_read_are_problems(tmp_path, doctor):
    with serving(new_settings(tmp_path)) as service:
        lab = Laboratory(service)
        job = lab.finished(lab.ask())
    asked = ("--data", str(tmp_path), "--thorough")
    found = doctor.found(*asked)
    assert (found["files"][0][0], found["rows"][0][0]) == ("ok", "ok")

    def change(*statements):
        with closing(sqlite3.connect(tmp_path / "gainboard.db")) as database:
            for each in statements:
                database.execute(each)
            database.commit()

    change("UPDATE job_file_parts SET data = x'00' WHERE path LIKE '%.csv'")
    said = [said for verdict, said in doctor.found(*asked)["files"] if verdict == "problem"]
    names = [f"tables/{each['name']}.csv of job number 1" for each in job["tables"]]
    assert [name for name in names if not any(name in each for each in said)] == []
    change(
        "DROP TRIGGER audit_is_not_changed",
        "UPDATE audit SET subject = 'forged' WHERE number = 3",
        "UPDATE blob_parts SET data = (SELECT max(data) FROM blob_parts)",
        "UPDATE jobs SET kind = 'nope', params = '3'",
        "UPDATE collections SET policy = '{\"decimals\": \"many\"}', created_at = 'x'",
    )
    found = doctor.found(*asked)
    assert "entry 3" in found["audit log"][0][1]
    assert len(found["files"]) >= 4
    assert {verdict for verdict, _ in (*found["files"], *found["rows"])} == {"problem"}
    assert [said for _, said in found["rows"]] == [
        "collections, id 1: created_at cannot be read: x",
        "collections, id 1: policy cannot be read: {'decimals': 'many'}",
        f"jobs, id {job['id']}: kind cannot be read: 'nope'",
        f"jobs, id {job['id']}: params cannot be read: 3",
    ]


def test_a_long_log_and_a_large_file_are_looked_through_only_where_that_is_asked_for(tmp_path, doctor, monkeypatch):
    workspace, _ = open_workspace(Settings.read({}, data=tmp_path, admin_token=ADMIN))
    workspace.database.close()
    asked = ("--data", str(tmp_path))
    monkeypatch.setattr(looking, "QUICKLY_VERIFIED", 1)
    assert doctor.found(*asked)["audit log"][0][0] == "ok"
    monkeypatch.setattr(looking, "QUICKLY_VERIFIED", 0)
    monkeypatch.setattr(looking, "QUICKLY_READ", 1)
    found = doctor.found(*asked)
    assert found["audit log"] == [("note", "1 entries, not verified")]
    assert found["integrity"] == [("note", "not checked, because the file is large")]
    assert doctor.said(*asked).count(looking.ASK) == 2
    found = doctor.found(*asked, "--thorough")
    assert (found["audit log"][0][0], found["integrity"][0][0]) == ("ok", "ok")


def test_nothing_secret_is_shown_of_a_server_that_is_not_there(doctor, monkeypatch):
    monkeypatch.setenv("GAINBOARD_ADMIN_TOKEN", "a-secret-of-the-organisers")
    said = "postgresql+psycopg://u:a-secret@127.0.0.1:1/n?password=a-secret&sslpassword=a-secret"
    for url in (said, "a-secret", "postgresql://host:a-secret/n"):
        monkeypatch.setenv("GAINBOARD_DATABASE_URL", url)
        for report in (doctor.said(), doctor.said("--json", "--thorough")):
            assert ("a-secret" in report, "GAINBOARD_ADMIN_TOKEN = ***" in report, doctor.code) == (False, True, 1)
            assert ("Connection refused" in report) == (url == said)
    shown = make_url(without_secrets("postgresql+psycopg://u:p@host/name?options=-csearch_path%3Dx&password=p"))
    assert shown.query == {"options": "-csearch_path=x", "password": "***"}
    assert (shown.host, shown.password) == ("host", "***")


def test_settings_have_their_source_and_misspelt_ones_a_suggestion(doctor, tmp_path, monkeypatch):
    monkeypatch.setenv("GAINBOARD_MAX_LINES", "77")
    monkeypatch.setenv("GAINBOARD_MAX_LINEZ", "77")
    report = doctor.said("--data", str(tmp_path))
    assert f"GAINBOARD_DATA = {tmp_path} (--data)" in report
    assert "GAINBOARD_MAX_LINES = 77 (environment)" in report
    assert "Is GAINBOARD_MAX_LINES meant?" in report
    monkeypatch.setenv("GAINBOARD_MAX_LINES", "many")
    assert "GAINBOARD_MAX_LINES is invalid" in doctor.found()["settings"][0][1]


@pytest.mark.outer
def test_what_others_may_use_is_noted_with_its_mode_and_the_command_that_closes_it(tmp_path, doctor, monkeypatch):
    data, objects = tmp_path / "data", tmp_path / "some files"
    Database(f"sqlite:///{new_settings(data).data / 'gainboard.db'}", objects=objects.as_uri()).close()
    for file in (data / "gainboard.db", objects / "an object"):
        file.touch()
        file.chmod(0o644)
    data.chmod(0o700)
    monkeypatch.setenv("GAINBOARD_OBJECTS", objects.as_uri())
    notes = doctor.advised("rights", "--data", str(data))
    assert f"may use {data / 'gainboard.db'} (-rw-r--r--), and" in notes[f"chmod -R go= {data}"]
    assert f"may use {objects / 'an object'} (-rw-r--r--), and" in notes[f"chmod -R go= '{objects}'"]
    for advice in notes:
        subprocess.run(["sh", "-c", advice], check=True)
    assert doctor.found("--data", str(data))["rights"] == [("ok", f"only this user may use {data}, {objects}")]


def test_beside_a_database_elsewhere_only_its_own_files_are_looked_at(tmp_path, doctor, monkeypatch):
    new_settings(tmp_path)
    (tmp_path / "a thesis").touch()
    tmp_path.chmod(0o755)
    (tmp_path / "gainboard.db").chmod(0o640)
    monkeypatch.setenv("GAINBOARD_DATABASE_URL", f"sqlite:///{tmp_path / 'gainboard.db'}")
    ((advice, said),) = doctor.advised("rights").items()
    assert advice == f"chmod go= {tmp_path / 'gainboard.db'}"
    assert "(-rw-r-----)" in said


@pytest.mark.skipif(not Path("/proc/self/mounts").exists(), reason="only Linux lists what is mounted there")
def test_the_file_system_of_a_folder_is_that_of_its_nearest_mount():
    assert file_system(Path("/proc/self")) == "proc"
