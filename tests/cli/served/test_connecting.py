"""What is said where the server does not do what was asked."""

import socket

import pytest

from gainboard.cli import main

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


def test_who_is_not_known_hears_where_the_token_is_from_but_not_the_token(folder, monkeypatch, capsys):
    assert main(["me", "--token", "a-secret-that-is-wrong"]) == 1
    said = capsys.readouterr()
    assert said.err.endswith("(The token is from --token.)\n")
    assert "secret" not in said.out + said.err
    monkeypatch.setenv("GAINBOARD_TOKEN", "wrong")
    assert main(["me"]) == 1
    assert capsys.readouterr().err.endswith("(The token is from GAINBOARD_TOKEN.)\n")
