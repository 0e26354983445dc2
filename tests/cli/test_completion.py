"""Shells complete commands, options and files by the scripts that we print for them."""

import subprocess
import sys

import pytest
import shtab

from gainboard.cli import main
from gainboard.cli.parsing import every_command

pytestmark = pytest.mark.outer


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "gainboard.bash"
    with path.open("w") as file:
        code = "from gainboard.cli import main; raise SystemExit(main(['completion', 'bash']))"
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    return path


def completed(script, *words, folder=None):
    function = '"$(complete -p gainboard | sed "s/.*-F \\([^ ]*\\).*/\\1/")"'
    asked = f'source "$0"; COMP_WORDS=(gainboard "$@"); COMP_CWORD=$#; {function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", asked, str(script), *words], capture_output=True, text=True, cwd=folder)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_choices_and_files(script, tmp_path):
    (tmp_path / "audit.ndjson").touch()
    assert set(completed(script, "")) == {each.name for each in every_command()}
    for line, wanted in (
        ("mig", "migrate"),
        ("token cr", "create"),
        ("serve --ho", "--host"),
        ("token create --te", "--team"),
        ("completion z", "zsh"),
        ("audit verify aud", "audit.ndjson"),
    ):
        assert completed(script, *line.split(), folder=tmp_path) == [wanted]


@pytest.mark.parametrize("shell", shtab.SUPPORTED_SHELLS)
def test_every_shell_has_a_script(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "gainboard" in capsys.readouterr().out
