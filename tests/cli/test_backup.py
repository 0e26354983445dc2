"""`gainboard backup` and `gainboard restore`, as their users see them."""

import pytest

from gainboard import cli
from gainboard.main import open_workspace
from tests.cli.shells import unchanged
from tests.operations.test_backup_refusals import change
from tests.world.servers import new_settings


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.delenv("GAINBOARD_DATABASE_URL", raising=False)
    workspace, _ = open_workspace(new_settings(tmp_path / "data"))
    workspace.database.close()
    return tmp_path / "data"


def test_what_is_written_and_restored_is_said_and_a_refusal_leaves_the_file(data, tmp_path, capsys):
    file, other = tmp_path / "a.backup", tmp_path / "other"
    file.write_text("a thesis")
    assert cli.main(["backup", "--data", str(data), str(file)]) == 1
    assert capsys.readouterr().err == f"gainboard: {file} exists. Name another file, or replace it with --force.\n"
    assert cli.main(["restore", "--data", str(other), str(file)]) == 1
    assert capsys.readouterr().err == f"gainboard: Cannot read {file}: file is not a database.\n"
    assert (file.read_text(), other.exists()) == ("a thesis", False)
    assert cli.main(["backup", "--data", str(data), "--force", str(file)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines()[0].startswith(f"{file}: {file.stat().st_size:,} bytes, schema ")
    assert [line.split() for line in said.out.splitlines()[1:]] == [["tokens", "1"], ["audit", "1"]]
    assert cli.main(["restore", "--data", str(other), str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"restored {file}, schema ")


@pytest.mark.parametrize("command", ["serve", "migrate", "backup", "doctor"])
def test_every_command_refuses_a_database_of_a_later_version_and_says_what_to_do(data, tmp_path, capsys, command):
    change(data / "gainboard.db", "UPDATE alembic_version SET version_num = '9999'")
    before = (data / "gainboard.db").read_bytes()
    more = {"serve": ["--port", "0"], "backup": [str(tmp_path / "a.backup")]}.get(command, [])
    with unchanged():
        assert cli.main([command, "--data", str(data), *more]) == 1
    said = "".join(capsys.readouterr())
    assert "9999" in said
    assert "a later version wrote it" in said
    assert "that version or a later one" in said
    assert (data / "gainboard.db").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
