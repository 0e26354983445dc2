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
    """The command, and what it said last."""

    def __init__(self, capsys):
        self._capsys = capsys

    def said(self, *arguments):
        """What it prints."""
        self.code = cli.main(["doctor", *arguments])
        return self._capsys.readouterr().out

    def advised(self, check, *arguments):
        """The notes of one check, by their advice."""
        findings = json.loads(self.said("--json", *arguments))["findings"]
        return {
            each["advice"]: each["said"] for each in findings if (each["check"], each["verdict"]) == (check, "note")
        }

    def found(self, *arguments):
        """Verdict and text of every finding, by the name of its check."""
        report = json.loads(self.said("--json", *arguments))
        found = {}
        for each in report["findings"]:
            found.setdefault(each["check"], []).append((each["verdict"], each["said"]))
        problems = sum(verdict == "problem" for all_of_one in found.values() for verdict, _ in all_of_one)
        assert (self.code, report["problems"]) == (int(problems > 0), problems)
        return found


@pytest.fixture
def doctor(capsys):
    """The command."""
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


@pytest.mark.outer
def test_it_looks_while_the_service_runs_and_says_that_it_works_the_jobs(address, doctor):
    with serving(Settings.read({}, database_url=address, admin_token=ADMIN, job_slots=1)) as service:
        lab = Laboratory(service)
        lab.finished(lab.ask())
        found = doctor.found()
    assert found["jobs"] == [("ok", found["jobs"][0][1])]
    assert found["jobs"][0][1].startswith("1 succeeded; run by a server")


def test_jobs_that_nobody_works_are_a_problem(address, doctor):
    with serving(Settings.read({}, database_url=address, admin_token=ADMIN, job_slots=0)) as service:
        assert Laboratory(service).ask(**LONG).status_code == 202
        assert doctor.found()["jobs"][1] == ("problem", "jobs are waiting, and no server runs them")


def test_a_newer_schema_and_one_from_before_the_first_release_are_problems(address, doctor):
    for revision, advice in (("9999", "Install that version"), ("0004", LAST_COMMIT)):
        database = Database(address)
        with database.writing() as tx:
            tx.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        database.close()
        (found,) = doctor.found()["schema"]
        assert found[0] == "problem"
        assert found[1].startswith(revision)
        assert advice in doctor.said("--json")


def test_a_database_of_an_earlier_version_is_looked_at_and_not_upgraded(tmp_path, doctor):
    with closing(sqlite3.connect(tmp_path / "gainboard.db")) as connection:
        connection.executescript((RECORDED / "0018.sql").read_text(encoding="utf-8"))
    before = looked_at(tmp_path)
    assert doctor.found("--data", str(tmp_path), "--thorough")["schema"][0][0] == "note"
    assert doctor.code == 0
    assert looked_at(tmp_path) == before


def test_what_is_absent_is_not_made(tmp_path, doctor):
    found = doctor.found("--data", str(tmp_path / "absent"))
    assert (doctor.code, found["database"][0][0]) == (0, "note")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_a_problem_in_the_drivers_words(doctor, monkeypatch):
    monkeypatch.setenv("GAINBOARD_DATABASE_URL", "postgresql+psycopg://somebody:secret@127.0.0.1:1/name")
    ((verdict, said),) = doctor.found()["database"]
    assert verdict == "problem"
    assert "Connection refused" in said


def test_a_damaged_file_is_a_problem(tmp_path, doctor):
    workspace, _ = open_workspace(Settings.read({}, data=tmp_path))
    workspace.database.close()
    file = tmp_path / "gainboard.db"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    found = doctor.found("--data", str(tmp_path))
    assert doctor.code == 1
    assert "problem" in {verdict for name in ("integrity", "database") for verdict, _ in found.get(name, [])}
    file.write_text("Dear diary, " * 500)
    assert "file is not a database" in doctor.found("--data", str(tmp_path))["database"][0][1]


def test_a_forged_audit_log_and_a_rotten_file_are_problems(tmp_path, doctor):
    with serving(Settings.read({}, data=tmp_path, admin_token=ADMIN)) as service:
        Laboratory(service)
    with closing(sqlite3.connect(tmp_path / "gainboard.db")) as connection:
        connection.execute("DROP TRIGGER audit_is_not_changed")
        connection.execute("UPDATE audit SET subject = 'forged' WHERE number = 3")
        connection.execute("UPDATE blob_parts SET data = (SELECT max(data) FROM blob_parts)")
        connection.commit()
    found = doctor.found("--data", str(tmp_path), "--thorough")
    assert "entry 3" in found["audit log"][0][1]
    assert {verdict for verdict, _ in found["files"]} == {"problem"}
    assert len(found["files"]) == 4


@pytest.mark.outer
def test_a_rotten_table_of_a_result_is_a_problem(tmp_path, doctor):
    with serving(Settings.read({}, data=tmp_path, admin_token=ADMIN)) as service:
        lab = Laboratory(service)
        tables = lab.finished(lab.ask())["tables"]
    assert doctor.found("--data", str(tmp_path), "--thorough")["files"][0][0] == "ok"
    with closing(sqlite3.connect(tmp_path / "gainboard.db")) as connection:
        connection.execute("UPDATE job_file_parts SET data = x'00' WHERE path LIKE '%.csv'")
        connection.commit()
    found = doctor.found("--data", str(tmp_path), "--thorough")["files"]
    assert {verdict for verdict, _ in found} == {"problem"}
    assert all(any(f"tables/{each['name']}.csv of job number 1" in said for _, said in found) for each in tables)


def test_a_long_audit_log_is_verified_only_where_that_is_asked_for(address, doctor, monkeypatch):
    monkeypatch.setattr(looking, "QUICKLY_VERIFIED", 1)
    assert doctor.found()["audit log"][0][0] == "ok"
    monkeypatch.setattr(looking, "QUICKLY_VERIFIED", 0)
    assert doctor.found()["audit log"] == [("note", "1 entries, not verified")]
    assert looking.ASK in doctor.said()
    assert doctor.found("--thorough")["audit log"][0][0] == "ok"


def test_a_large_file_is_looked_through_only_where_that_is_asked_for(tmp_path, doctor, monkeypatch):
    workspace, _ = open_workspace(Settings.read({}, data=tmp_path))
    workspace.database.close()
    monkeypatch.setattr(looking, "QUICKLY_READ", 1)
    assert doctor.found("--data", str(tmp_path))["integrity"] == [("note", "not checked, because the file is large")]
    assert looking.ASK in doctor.said("--data", str(tmp_path))
    assert doctor.found("--data", str(tmp_path), "--thorough")["integrity"][0][0] == "ok"


def test_nothing_secret_is_shown(doctor, monkeypatch):
    monkeypatch.setenv("GAINBOARD_ADMIN_TOKEN", "a-secret-of-the-organisers")
    said = "postgresql+psycopg://u:a-secret@127.0.0.1:1/n?password=a-secret&sslpassword=a-secret"
    for url in (said, "a-secret", "postgresql://host:a-secret/n"):
        monkeypatch.setenv("GAINBOARD_DATABASE_URL", url)
        for report in (doctor.said(), doctor.said("--json", "--thorough")):
            assert "a-secret" not in report
            assert "GAINBOARD_ADMIN_TOKEN = ***" in report
            assert doctor.code == 1


def test_an_address_keeps_what_is_not_secret():
    shown = without_secrets("postgresql+psycopg://u:p@host/name?options=-csearch_path%3Dx&password=p")
    assert make_url(shown).query == {"options": "-csearch_path=x", "password": "***"}
    assert (make_url(shown).host, make_url(shown).password) == ("host", "***")


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


@pytest.mark.outer
def test_each_value_that_cannot_be_read_is_named_with_what_to_do(doctor, tmp_path):
    with serving(new_settings(tmp_path)) as service:
        lab = Laboratory(service)
        job = lab.finished(lab.ask())
    with closing(sqlite3.connect(tmp_path / "gainboard.db")) as database:
        database.execute("UPDATE jobs SET kind = 'nope', params = '3'")
        database.execute("UPDATE collections SET policy = '{\"decimals\": \"many\"}', created_at = 'x'")
        database.commit()
    found = doctor.found("--data", str(tmp_path))["rows"]
    assert doctor.code == 1
    assert {verdict for verdict, _ in found} == {"problem"}
    assert [said for _, said in found] == [
        "collections, id 1: created_at cannot be read: x",
        "collections, id 1: policy cannot be read: {'decimals': 'many'}",
        f"jobs, id {job['id']}: kind cannot be read: 'nope'",
        f"jobs, id {job['id']}: params cannot be read: 3",
    ]
