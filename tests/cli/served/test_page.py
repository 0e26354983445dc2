"""What docs/command-line.md shows of the commands against a server, done from top to bottom in one shell."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gainboard.cli.connecting import MEMBERS
from gainboard.cli.parsing import every_command
from gainboard.settings import Settings
from tests.conftest import ADMIN, serving
from tests.outside import ROOT, outside

pytestmark = pytest.mark.outer

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8").partition("## Against a server")[2]
ORDER = ("organiser", "team", "scores", "work")


def block(name: str) -> str:
    """The lines of an example."""
    found = re.search(rf"<!-- example: {name} -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> tuple[subprocess.CompletedProcess[str], Path]:
    """What came of it, and the folder in which it was done."""
    folder = tmp_path_factory.mktemp("walk") / "own"
    shutil.copytree(prepared, folder)
    function = f'gainboard() {{ {shlex.quote(sys.executable)} -m gainboard "$@"; }}'
    script = "\n".join(["set -eux", function, *map(block, ORDER)])
    with serving(Settings.read({}, data=folder / "data", admin_token=ADMIN)) as service:
        world = outside(HOME=str(folder), GAINBOARD_SERVER=service.url, GAINBOARD_TOKEN=ADMIN)
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=world, capture_output=True, text=True)
    return done, folder


def test_the_page_can_be_followed(walked: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, folder = walked
    assert done.returncode == 0, done.stderr
    assert "runs/otter.txt: otter: 12 topics, 480 documents" in done.stdout
    for name, files in (
        ("stability", {".html", ".json", ".csv", ".tex", ".svg"}),
        ("appendix", {".html", ".json", ".csv", ".tex", ".svg"}),
    ):
        assert {path.suffix for path in (folder / name).iterdir()} == files


def test_the_page_names_every_command_that_asks_a_server() -> None:
    ours = {"submit", "runs", "withdraw", "scores", "leaderboard", "sweep", "job", "report"}
    ours |= {"collection", "qrels", "token", "me", "completion"}
    assert ours <= {each.name for each in every_command()}
    assert [name for name in sorted(ours) if f"`{name}`" not in PAGE and f"`gainboard {name} " not in PAGE] == []


def test_the_page_names_every_setting() -> None:
    rows = re.findall(r"^\| [^|]+ \| `(\S+) \w+` \| `GAINBOARD_(\w+)` \| `(\w+) = ", PAGE, re.MULTILINE)
    assert [(variable.lower(), member) for _, variable, member in rows] == [(name, name) for name in MEMBERS]
