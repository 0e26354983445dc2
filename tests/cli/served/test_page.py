"""What docs/command-line.md shows of the commands against a server, done from top to bottom."""

import re
import shutil

import pytest

from gainboard.cli.connecting import MEMBERS
from tests.cli.shells import Shell
from tests.world.pages import DOCS, block
from tests.world.servers import ADMIN, new_settings, serving

pytestmark = pytest.mark.outer

PAGE = DOCS["command-line.md"].partition("## Against a server")[2]
ORDER = ("organiser", "team", "scores", "work")


def test_the_page_can_be_followed(prepared, tmp_path):
    folder = tmp_path / "own"
    shutil.copytree(prepared, folder)
    with serving(new_settings(folder / "data")) as service:
        shell = Shell(folder, GAINBOARD_SERVER=service.url, GAINBOARD_TOKEN=ADMIN)
        done = shell.run("".join(block(PAGE, f"example: {name}") for name in ORDER))
    assert done.code == 0, done.err
    assert "runs/otter.txt: otter: 12 topics, 480 documents" in done.out
    for name in ("stability", "appendix"):
        assert {path.suffix for path in (folder / name).iterdir()} == {".html", ".json", ".csv", ".tex", ".svg"}


def test_the_page_names_every_setting():
    rows = re.findall(r"^\| [^|]+ \| `(\S+) \w+` \| `GAINBOARD_(\w+)` \| `(\w+) = ", PAGE, re.MULTILINE)
    assert [(variable.lower(), member) for _, variable, member in rows] == [(name, name) for name in MEMBERS]
