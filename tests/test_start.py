"""What a start makes and prints: tokens, the folder of the data, the log."""

import json
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress

import httpx
import pytest

from gainboard import children
from gainboard.main import open_workspace
from gainboard.settings import Settings
from tests.cli.shells import Shell, interrupted, served
from tests.cli.terminals import in_terminal
from tests.outside import ROOT
from tests.waiting import until
from tests.world.servers import ADMIN, serving

pytestmark = pytest.mark.outer

OTHER = "another-admin-token-of-the-tests"


def started(url, admin_token=None):
    workspace, token = open_workspace(Settings.read({}, database_url=url, admin_token=admin_token))
    workspace.database.close()
    return token


def test_an_admin_token_takes_the_place_of_every_earlier_one_and_is_valid_once_it_is_set_again(database_url):
    tokens = (started(database_url), OTHER, ADMIN)
    assert started(database_url, OTHER) is None
    for admin, statuses in ((ADMIN, [401, 401, 200]), (OTHER, [401, 200, 401])):
        with serving(Settings.read({}, database_url=database_url, admin_token=admin)) as service:
            assert [service.client(token).get("/v1/me").status_code for token in tokens] == statuses


def test_a_setting_out_of_range_ends_the_start_with_its_name_and_not_its_secret():
    done = gainboard("serve", GAINBOARD_ADMIN_TOKEN="short")
    assert (done.code, "GAINBOARD_ADMIN_TOKEN" in done.err, "short" in done.err) == (1, True, False)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "postgresql+psycopg://user:password@host/name"),
        ("mysql://host/name", "'mysql' is not supported"),
        ("postgresql://host:port/name", "The address of the database is invalid"),
        ("postgresql+psycopg://somebody:secret@127.0.0.1:1/name", "Connection refused"),
    ],
)
def test_an_address_that_is_no_database_of_ours_is_refused_in_a_sentence(url, said):
    done = gainboard("migrate", GAINBOARD_DATABASE_URL=url)
    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err
    assert "secret" not in done.err


def test_a_file_that_is_no_database_and_a_folder_that_is_none_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "gainboard.db").write_text("this is a diary and no database at all, as one can see")
    assert "file is not a database" in gainboard("migrate", "--data", str(tmp_path)).err
    assert "it is a file" in gainboard("serve", "--port", "0", "--data", str(tmp_path / "gainboard.db")).err


def test_a_port_that_is_taken_is_named_before_anything_is_made(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = gainboard("serve", "--data", str(tmp_path / "data"), "--port", port, GAINBOARD_MAX_LINEZ="3")
    assert done.code == 1
    assert f"Port {port} is taken" in done.err
    assert "GAINBOARD_MAX_LINEZ is not a setting" in done.err
    assert not (tmp_path / "data").exists()


def test_a_start_prints_its_address_first_and_then_text_on_a_terminal(tmp_path):
    line = ["serve", "--data", str(tmp_path / "data"), "--port", "0"]
    _, seen = in_terminal(line, lambda seen: "Application startup complete." in seen, GAINBOARD_ADMIN_TOKEN=ADMIN)
    first, *log = seen.splitlines()
    assert re.match(r"Gainboard serves at http://127\.0\.0\.1:[1-9]\d+ ", first)
    assert re.match(r"\d\d:\d\d:\d\d Started server process", log[0])
    assert "{" not in seen


def test_a_start_off_a_terminal_logs_json_lines(tmp_path):
    shell = Shell(tmp_path, GAINBOARD_ADMIN_TOKEN=ADMIN)
    done, (url, _) = served(shell, "gainboard serve", lambda url: (url, httpx.get(f"{url}/healthz", timeout=60)))
    assert done.out.startswith(f"Gainboard serves at {url} (")
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert [line["path"] for line in lines if line["message"] == "request"][-1] == "/healthz"


def test_a_demo_that_is_terminated_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def loads():
        for file in tmp_path.glob("*/gainboard.db"):
            with (
                suppress(sqlite3.OperationalError),
                closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db,
            ):
                return db.execute("SELECT 1 FROM runs").fetchone() is not None
        return False

    done, _ = interrupted(Shell(tmp_path), "gainboard demo --port 0", lambda: until(loads), signal.SIGTERM)
    assert "takes some seconds" in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_demo_leaves_what_is_in_its_place_alone(tmp_path):
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("not to be touched")
    for folder, said in ((tmp_path, "is not empty"), (thesis, "thesis.txt")):
        done = gainboard("demo", "--data", str(folder))
        assert (done.code, done.err.count("\n"), said in done.err) == (1, 1, True), done.err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["not to be touched"]


def test_a_start_says_that_others_may_use_the_data(tmp_path):
    folder = tmp_path / "campaign"
    for mode, expected in ((0o755, True), (0o700, False)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
        done, _ = served(Shell(tmp_path), "gainboard serve --data campaign", lambda url: url)
        assert ("chmod go= campaign" in done.err) is expected


def gainboard(*arguments, **environment):
    return Shell(ROOT, **environment).run(shlex.join(["gainboard", *arguments]))


def test_processes_of_a_server_do_not_inherit_its_secrets(monkeypatch):
    """Those that run jobs are told the database's address, and those that read uploads need none."""
    monkeypatch.setenv("GAINBOARD_ADMIN_TOKEN", "secret-1")
    monkeypatch.setenv("GAINBOARD_DATABASE_URL", "postgresql://somebody:secret-2@127.0.0.1/x")
    shown = [sys.executable, "-c", "import os; print(dict(os.environ))"]
    inherited = subprocess.run(shown, env=children.environment(), capture_output=True, text=True, check=True).stdout
    assert "secret-" not in inherited
    assert "PYTHONPATH" in inherited
