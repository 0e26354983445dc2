"""The distribution installs one package, `gainboard`, which lives beside projects that have an `app` of their own."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import building, release
from tests.outside import ROOT, SOURCE, outside

pytestmark = pytest.mark.outer


def build(target, folder):
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


USES = """
import runpy, sys
from gainboard.main import create_app_from_environment
from gainboard.client import Gainboard
Gainboard("http://127.0.0.1:9", "token").close()
sys.argv = ["gainboard", "--version"]
runpy.run_module("gainboard", run_name="__main__")
"""


@pytest.mark.proof
def test_a_project_with_an_app_of_its_own_can_use_the_command_and_the_client(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app/__init__.py").write_text("raise SystemExit('this is the app of somebody else')\n")
    environment = outside(PYTHONPATH=os.pathsep.join((str(tmp_path), str(SOURCE))))
    done = subprocess.run([sys.executable, "-c", USES], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.proof
def test_the_wheel_installs_one_top_level_package_with_its_migrations(tmp_path):
    with zipfile.ZipFile(build("wheel", tmp_path)) as wheel:
        names = wheel.namelist()
    folders = {name.split("/")[0] for name in names}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"gainboard"}
    migrations = {path.name for path in (ROOT / "migrations" / "versions").glob("*.py")}
    assert {f"gainboard/migrations/versions/{name}" for name in migrations} <= set(names)
    assert "gainboard/py.typed" in names
    assert [name for name in names if name.endswith(".dist-info/sboms/gainboard.cdx.json")] != []
    dashboard = ROOT / "app" / "gainboard" / "dashboard"
    files = [path for folder in ("templates", "static") for path in (dashboard / folder).rglob("*.*") if path.is_file()]
    assert {path.relative_to(ROOT / "app").as_posix() for path in files} <= set(names)


def test_the_version_is_named_alike_everywhere_and_every_extra_is_tried_in_a_release():
    others = ("not committed", "CHANGELOG.md has", "the ")
    assert [fault for fault in release.names() if not fault.startswith(others)] == []
    assert release.MODULES.keys() == set(release.extras())


def test_the_bill_of_materials_has_what_is_needed_and_what_is_inside():
    parts = {each["name"]: each for each in building.bill("1")["components"]}
    assert {"fastapi", "numpy", "d3", "htmx.org"} <= {
        name for name, each in parts.items() if each["scope"] == "required"
    }
    assert parts["numba"]["scope"] == "optional"
    assert parts.keys().isdisjoint({"pytest", "sphinx"})
    assert len(parts["d3"]["hashes"][0]["content"]) == 128


def test_the_readme_is_shown_by_a_package_index():
    shown = building.without_addresses((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [*release.description_faults(shown)] == []
    assert "Gainboard evaluates information retrieval" in shown


def test_what_an_index_cannot_show_is_left_out():
    text = "![a board](docs/images/board.png)\n\nSee [the page](docs/x.md#part) and [papers](https://example.org).\n"
    assert building.without_addresses(text) == "See the page and [papers](https://example.org).\n"
    assert [*release.description_faults("[a](docs/x.md)")] == [
        "the description leads to docs/x.md, which an index does not have"
    ]


@pytest.mark.proof
def test_a_release_is_complete_and_built_twice_with_the_same_bytes(tmp_path):
    first, second = (release.built(tmp_path / number) for number in ("1", "2"))
    assert release.hashes(first) == release.hashes(second)
    wheel, sdist = (next(path for path in first if path.suffix == ending) for ending in (".whl", ".gz"))
    assert [*release.contents(wheel, sdist)] == []


def test_nothing_imports_the_source_root():
    told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    texts = [ROOT / name for name in told.rstrip("\0").split("\0") if name.endswith((".py", ".md", ".toml"))]
    imports = re.compile(r"^\s*(?:>>> )?(?:from|import) app\b|\bapp\.gainboard\b|\"app\.", re.MULTILINE)
    wrong = [path.name for path in texts if path != Path(__file__) and imports.search(path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_no_advice_installs_the_package_by_its_name_which_is_not_published():
    texts = [*SOURCE.rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    by_name = re.compile(r"\b(?:pip|uv|pipx) (?:\w+ )*install\b[^\n`]*['\" ]gainboard\b(?!-)")
    assert [path.name for path in texts if by_name.search(path.read_text(encoding="utf-8"))] == []
