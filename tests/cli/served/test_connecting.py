"""What is said where the server does not do what was asked."""

import socket

import pytest

from gainboard.cli import main
from tests.world.servers import ADMIN

pytestmark = pytest.mark.outer


def test_without_a_server_its_address_and_where_it_came_from_are_named(folder, monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert main(["me", "--server", url]) == 1
    said = capsys.readouterr().err
    assert url in said
    assert said.endswith("(The address is from --server.)\n")
    assert said.count("\n") == 1
    monkeypatch.setenv("GAINBOARD_SERVER", url)
    assert main(["me"]) == 1
    assert capsys.readouterr().err.endswith("(The address is from GAINBOARD_SERVER.)\n")


def test_a_problem_is_printed_with_its_places_and_its_kind(scored, capsys):
    assert main(["job", "run", "stability", "-m", "Q", "-m", "nonsense", "--set", "trials=0"]) == 1
    said = capsys.readouterr().err
    asked = {"kind": "stability", "params": {"metrics": ["Q", "nonsense"], "trials": 0}}
    answer = scored.organiser.post(f"{scored.path}/jobs", json=asked).json()
    assert said.startswith(f"gainboard: {answer['detail']}\n")
    assert said.endswith("(problem invalid-request)\n")
    assert all(each["message"] in said for each in answer["errors"])


def test_without_a_collection_the_command_says_how_to_name_one(folder, capsys):
    assert main(["runs"]) == 1
    assert (
        capsys.readouterr().err
        == "gainboard: No collection is named. Name it with -c NAME, or in GAINBOARD_COLLECTION.\n"
    )


def test_a_token_is_in_no_message(folder, capsys):
    assert main(["me", "--token", "a-secret-that-is-wrong"]) == 1
    said = capsys.readouterr()
    assert "(problem not-authenticated)" in said.err
    assert "secret" not in said.out + said.err


def test_who_is_not_known_hears_where_the_token_is_from_or_may_be(folder, monkeypatch, capsys):
    assert main(["me", "--token", "wrong"]) == 1
    assert capsys.readouterr().err.endswith("(The token is from --token.)\n")
    monkeypatch.setenv("GAINBOARD_TOKEN", "wrong")
    assert main(["me"]) == 1
    assert capsys.readouterr().err.endswith("(The token is from GAINBOARD_TOKEN.)\n")
    monkeypatch.delenv("GAINBOARD_TOKEN")
    assert main(["me"]) == 1
    assert "set GAINBOARD_TOKEN, write it into the configuration file, or use --token" in capsys.readouterr().err


def test_a_table_or_csv_may_be_asked_for_briefly(folder, capsys):
    assert main(["me", "-f", "csv"]) == 0
    assert capsys.readouterr().out.startswith("id,role,")


def test_the_configuration_file_is_enough(shared, folder, monkeypatch, capsys):
    token = ADMIN
    monkeypatch.delenv("GAINBOARD_SERVER")
    monkeypatch.delenv("GAINBOARD_TOKEN")
    file = folder / "home/.config/gainboard/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'server = "{shared.url}"\ntoken = "{token}"\n')
    file.chmod(0o600)
    assert main(["me"]) == 0
    out, err = capsys.readouterr()
    assert "organiser" in out
    assert err == ""
