"""Which server, as whom, about which collection: options, then environment, then file, then what is always there."""

import itertools
import re

import pytest

from gainboard.cli.command import CommandParser, command
from gainboard.cli.connecting import OneCollection
from gainboard.client.connections import DEFAULT_SERVER
from gainboard.errors import BadSetting
from gainboard.settings import Settings

FILE = 'server = "https://file"\ntoken = "of-file"\ncollection = "in-file"\n'
ENVIRONMENT = {
    "GAINBOARD_SERVER": "https://environment",
    "GAINBOARD_TOKEN": "of-environment",
    "GAINBOARD_COLLECTION": "in-environment",
}
OPTIONS = ["--server", "https://option", "--token", "of-option", "--collection", "in-option"]


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch, tmp_path):
    for name in (*ENVIRONMENT, "GAINBOARD_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "config.toml", FILE)


def written(path, text, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def target(*arguments):
    found = []

    @command("")
    def ask(at: OneCollection):
        """Keep the target."""
        found.append(at.target)

    ask.add_to(commands := CommandParser().add_subparsers())
    parsed = commands.choices["ask"].parse_args(arguments)
    parsed.run_command(parsed)
    return found[0]


def values(found):
    token, collection = found.token, found.collection
    return found.server.value, token.value if token else None, collection.value if collection else None


def test_without_anything_this_machine_is_asked_as_anybody(monkeypatch):
    assert (values(target()), target().server.origin) == ((DEFAULT_SERVER, None, None), "the default")
    monkeypatch.setenv("GAINBOARD_SERVER", "")
    assert values(target())[0] == DEFAULT_SERVER


@pytest.mark.parametrize(
    ("in_file", "in_environment", "as_option"), list(itertools.product([False, True], repeat=3))[1:]
)
def test_an_option_wins_over_the_environment_and_that_over_the_file(
    file, monkeypatch, in_file, in_environment, as_option
):
    if in_environment:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
    if in_file:
        monkeypatch.setenv("GAINBOARD_CONFIG", str(file))
    winner = "option" if as_option else "environment" if in_environment else "file"
    found = target(*(OPTIONS if as_option else []))
    assert values(found) == (f"https://{winner}", f"of-{winner}", f"in-{winner}")


def test_each_setting_is_looked_for_by_itself(file, monkeypatch):
    monkeypatch.setenv("GAINBOARD_TOKEN", "of-environment")
    found = target("--config", str(file), "-c", "in-option")
    assert values(found) == ("https://file", "of-environment", "in-option")
    assert [each.origin for each in (found.server, found.token, found.collection)] == [
        str(file), "GAINBOARD_TOKEN", "-c",
    ]  # fmt: skip


def test_the_file_is_looked_for_where_configuration_belongs(tmp_path, monkeypatch):
    written(tmp_path / "home/.config/gainboard/config.toml", 'collection = "home"')
    assert values(target())[2] == "home"
    written(tmp_path / "xdg/gainboard/config.toml", 'collection = "xdg"')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert values(target())[2] == "xdg"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert values(target())[2] == "home"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sever = "x"\n', "there is no setting 'sever'; available: server, token, collection"),
        ("token = 12\n", "token must be text in quotes"),
        ('server = "\udcff"', "is not valid TOML"),
    ],
)
def test_a_file_that_is_absent_or_cannot_be_read_is_refused(tmp_path, monkeypatch, text, said):
    path = tmp_path / "config.toml"
    with pytest.raises(BadSetting, match=r"There is no configuration file .*config\.toml"):
        target("--config", str(path))
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadSetting, match=f"{re.escape(str(path))}.*{re.escape(said)}"):
        target("--config", str(path))
    monkeypatch.setenv("GAINBOARD_CONFIG", str(tmp_path))
    with pytest.raises(BadSetting, match=r"Cannot read .*: Is a directory"):
        target()


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_token_that_others_may_read_is_warned_of(tmp_path, capsys, mode, warned):
    target("--config", str(written(tmp_path / "config.toml", FILE, mode)))
    assert ("chmod 600" in capsys.readouterr().err) is warned
    target("--config", str(written(tmp_path / "no-token.toml", 'server = "https://file"', mode)))
    assert capsys.readouterr().err == ""


def test_the_token_of_the_file_is_for_its_server_alone_and_in_no_representation(file, capsys):
    assert "of-file" not in repr(target("--config", str(file)))
    found = target("--config", str(file), "--server", "https://other")
    assert values(found) == ("https://other", None, "in-file")
    assert "not sent to https://other" in capsys.readouterr().err
    assert values(target("--config", str(file), "--server", "https://file/"))[1] == "of-file"
    assert capsys.readouterr().err == ""


def test_the_service_does_not_take_these_variables_for_misspelt():
    assert Settings.unknown({**ENVIRONMENT, "GAINBOARD_CONFIG": "x", "GAINBOARD_SEVER": "x"}) == ["GAINBOARD_SEVER"]
