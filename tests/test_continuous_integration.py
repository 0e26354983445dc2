"""The action of `deploy/gate`, and the examples of docs/in-continuous-integration.md, do what they say."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from gainboard.cli.commands import gate
from gainboard.evaluation.boards.gates import Gate, GatedMetric
from tests.cli.conftest import prepared  # noqa: F401 (a fixture)
from tests.outside import ROOT, outside
from tests.world.pages import DOCS, block

PAGE = DOCS["in-continuous-integration.md"]
ACTION = yaml.safe_load((ROOT / "deploy/gate/action.yml").read_text(encoding="utf-8"))
pytestmark = pytest.mark.outer


class World:
    """A folder with judgments, runs, a new run and a baseline; the environment has the command `gainboard`."""

    def __init__(self, folder):
        self.folder, programs = folder, folder.parent / "bin"
        programs.mkdir()
        command = programs / "gainboard"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m gainboard "$@"\n')
        command.chmod(0o755)
        self._environment = outside(PATH=f"{programs}:{os.environ['PATH']}")

    def run(self, script, **variables):
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self._environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def world(prepared, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("world") / "here"
    shutil.copytree(prepared, folder)
    shutil.copy(folder / "runs" / "civet.txt", folder / "new.txt")
    world = World(folder)
    assert world.run(block(PAGE, "example: baseline"))[0] == 0
    return world


def step(run, name, inputs, **variables):
    """Run a step as the runner does: with each input, or its default, in place of its expression."""
    values = {key: str(given.get("default", "")) for key, given in ACTION["inputs"].items()} | inputs
    (found,) = [each for each in ACTION["runs"]["steps"] if each["name"] == name]
    assert found["shell"] == "bash"
    expression = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")
    given = {key: expression.sub(lambda match: values[match[1]], text) for key, text in found["env"].items()}
    return run(found["run"], **given, **variables)


@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        ({"new": "new.txt", "baseline": "baseline.json"}, 0, "::notice title=gainboard gate::nDCG"),
        ({"new": "runs/otter.txt", "old": "new.txt", "metrics": "nDCG@10 AP"}, 1, "::error title=gainboard gate::AP"),
        ({"new": "runs/otter.txt", "old": "new.txt", "metrics": "P@10"}, 3, ": cannot tell ("),
        ({"new": "runs/otter.txt", "old": "new.txt", "metrics": "P@10", "cannot-tell": "pass"}, 0, "::notice"),
        ({"new": "absent.txt", "old": "new.txt"}, 2, ""),
    ],
)
def test_a_step_of_the_action_ends_as_the_gate_does_with_annotations_and_a_summary(world, tmp_path, inputs, code, said):
    summary, output = tmp_path / "summary", tmp_path / "output"
    asked = {"qrels": "qrels.txt", "margin": "0.01"} | inputs
    files = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    found, printed, _ = step(world.run, "Gate", asked, **files)
    assert (found, said in printed) == (code, True)
    assert output.read_text() == f"code={code}\n"
    assert summary.exists() == (code != 2)
    assert code == 2 or summary.read_text().startswith("### ")


def test_the_action_needs_what_the_gate_needs_and_installs_its_own_repository():
    required = {name for name, given in ACTION["inputs"].items() if given.get("required")}
    assert required == {"qrels", "new", "margin"}
    (install,) = [each for each in ACTION["runs"]["steps"] if each["name"] == "Install"]
    assert install["env"]["REPOSITORY"] == "${{ github.action_path }}/../.."
    assert (ROOT / "deploy/gate/../../pyproject.toml").is_file()
    assert set(re.findall(r"inputs\.([\w-]+)", yaml.safe_dump(ACTION["runs"]))) == set(ACTION["inputs"])
    used = yaml.safe_load(re.search(r"uses: OWNER/gainboard.*?with:\n(.*?)```", PAGE, re.DOTALL)[1])
    assert used.keys() <= ACTION["inputs"].keys()
    assert required <= used.keys()


def test_the_examples_of_the_page_pass(world, tmp_path):
    folder = shutil.copytree(world.folder, tmp_path / "here")
    run = World(folder).run
    assert run(block(PAGE, "example: gate"))[0] == 0
    gitlab = yaml.safe_load(block(PAGE, "example: gitlab"))["gate"]
    assert run("\n".join(gitlab["script"]))[0] == 0
    assert "<testcase" in (folder / gitlab["artifacts"]["reports"]["junit"]).read_text()
    assert gitlab["allow_failure"]["exit_codes"] == gate.EXITS["cannot tell"]
    (line,) = re.findall(r"script: '(.*)'\)", block(PAGE, "example: jenkins"))
    assert run(line)[0] == 0
    (folder / "Makefile").write_text(block(PAGE, "example: makefile"))
    assert run("make gate")[0] == run("make baseline gate")[0] == 0
    (folder / "test_search.py").write_text(block(PAGE, "example: pytest"))
    assert run(f"{sys.executable} -m pytest -q test_search.py -p no:cacheprovider")[0] == 0
    (folder / "runs" / "civet.txt").write_text((folder / "runs" / "otter.txt").read_text())
    (folder / "runs" / "otter.txt").write_text((folder / "new.txt").read_text())
    code, printed, _ = run(f"{sys.executable} -m pytest -q test_search.py -p no:cacheprovider")
    assert code == 1
    assert "new is worse than old" in printed


def test_the_page_describes_every_field_of_the_answer():
    described = [
        name for cell in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    ]
    wanted = {*Gate.__dataclass_fields__, *GatedMetric.__dataclass_fields__, "alpha", "method"}
    assert wanted <= set(described)
    codes = dict(re.findall(r"^\| `([\w ]+)` \| .* \| (\d)\b.*\|$", PAGE, re.MULTILINE))
    assert {verdict: str(code) for verdict, code in gate.EXITS.items()} == codes
