"""The recipes of docs/contributing.md, followed to the letter in one copy of the checkout, and then used.

`tests/recipes` has which tests a recipe names or adds, and what it adds to which file: at its end, or after the first
line that is as it says.
"""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from functools import partial

import pytest

from tests.outside import ROOT, outside
from tests.world.pages import DOCS, block

# Several processes and a server, for which the first test waits.
pytestmark = [pytest.mark.outer, pytest.mark.proof, pytest.mark.timeout(900)]
PAGE = DOCS["contributing.md"]
RECIPES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "recipes").glob("*.txt")}
RECIPES["add-a-metric"] += f"=== app/gainboard/metrics/precision.py\n{textwrap.dedent(block(PAGE, 'example: metric'))}"
RUN = re.compile(r"^runs (\S+): (.*)$", re.MULTILINE)
ADDED = re.compile(r"^=== (\S+)(?: after (.*))?\n((?:(?!=== \S*/).*\n)*)", re.MULTILINE)
A_SERVICE = """
import json, sys, traceback
from pathlib import Path
from tests.waiting import over
from tests.world.campaigns import judged
from tests.world.people import Person
from tests.world.servers import ADMIN, new_settings, serving
with serving(new_settings(Path("data"))) as service:
    for name, steps in map(json.loads, sys.stdin):
        own = {**globals(), "campaign": judged(service, name=name), "organiser": Person(service, ADMIN)}
        try:
            exec(steps, {**own, "client": service.organiser, "anonymous": service.anonymous})
            print(json.dumps(""), flush=True)
        except Exception:
            print(json.dumps(traceback.format_exc()), flush=True)
"""


class Copy:
    """A copy of the checkout that somebody changes."""

    def __init__(self, folder):
        self.folder, self.changed = folder, {name: set() for name in RECIPES}
        # With their bytecode, which takes as long to make as all tests here.
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)

    def follow(self, name):
        """Adds what a recipe adds. A file is made if it is not there."""
        for path, line, text in ADDED.findall(RECIPES[name]):
            file = self.folder / path
            before = file.read_text(encoding="utf-8") if file.exists() else ""
            assert f"\n{line}\n" in before or not line, f"{path} has no line {line}"
            after = before.replace(f"\n{line}\n", f"\n{line}\n{text}", 1) if line else before + text
            file.write_text(after, encoding="utf-8")
            self.changed[name].add(path)

    def start(self, *command, **streams):
        """Starts Python in the copy."""
        environment = outside(PYTHONPATH=str(self.folder / "app"))
        return subprocess.Popen([sys.executable, *command], cwd=self.folder, env=environment, text=True, **streams)

    def run(self, *command):
        """Runs Python in the copy, which ends well."""
        with self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as done:
            said, _ = done.communicate()
        assert done.returncode == 0, said
        return said

    def is_as_large_as_said(self, name):
        """Whether the page has the true numbers of files of the source, of tests, and pages."""
        (said,) = re.findall(rf"^\| \[[^]]*\]\(#{name}\) \|(.*)\|(.*)\|(.*)\|$", PAGE, re.MULTILINE)
        parts, paths = [("app/", "migrations/"), ("tests/",), ("docs/",)], self.changed[name]
        counts = [sum(path.startswith(part) and "/corpus/" not in path for path in paths) for part in parts]
        return all(str(count) in re.findall(r"\d+", cell) for count, cell in zip(counts, said, strict=True))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The copy in which all recipes are followed, and their tests pass."""
    copy = Copy(tmp_path_factory.mktemp("copy"))
    copy.run("-m", "tests.operations.record", ".")
    for name in RECIPES:
        copy.follow(name)
    copy.run("-m", "scripts.gallery", "mean-spread")
    copy.run("-m", "tests.corpus", "counts the runs", "The description of all operations", "--write")
    files, names = zip(*RUN.findall("".join(RECIPES.values())), strict=True)
    chosen = ("-m", "not postgresql", "-k", " or ".join(names))
    said = copy.run("-m", "pytest", "-v", "-p", "no:cacheprovider", *chosen, *{*files})
    assert [file for file in files if f"{file} " not in said] == []
    return copy


@pytest.fixture(scope="module")
def use(copy):
    """Takes steps over a service of the copy, in which a `campaign` of this name has judgments and a run."""
    with copy.start("-c", A_SERVICE, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:

        def take(name, steps):
            print(json.dumps([name, textwrap.dedent(steps)]), file=server.stdin, flush=True)
            assert json.loads(server.stdout.readline()) == ""
            assert copy.is_as_large_as_said(name)

        yield lambda name: partial(take, name)
        server.stdin.close()


def test_a_metric_and_a_new_parameter_score_and_are_described(use):
    use("add-a-metric")("""
        found = campaign.scores("Hit@2", "Mixed(portion=0.25)@2")["runs"][0]["mean"]
        assert [*found.values()] == [1.0, 0.875]
        assert campaign.get("/scores", metric="Mixed@2", portion="0.25").status_code == 200
        assert "a number >= 0, at most 1" in campaign.get("/scores", metric="Mixed(portion=2)@2").text
        text = anonymous.get("/help/metrics.html").text
        assert "Hit: Hit at a document cut-off" in text and "The weight of precision." in text
        assert anonymous.get("/help/metrics/Mixed?portion=0.3").status_code == 200
    """)


def test_an_analysis_is_listed_and_runs(use):
    use("add-an-analysis")("""
        assert "mean-spread" in [each["name"] for each in client.get("/v1/job-kinds").json()["items"]]
        asked = {"kind": "mean-spread", "params": {"metrics": ["AP"]}}
        job = client.post(f"{campaign.path}/jobs", json=asked).headers["location"]
        assert over(client, job)["state"] == "succeeded"
        assert client.get(f"{job}/result").json()["metrics"] == [{"metric": "AP", "spread": 0.0}]
        assert client.get(f"{job}/tables/spreads.csv").status_code == 200
        assert "Spread of means" in organiser.get("/c/add-an-analysis/analyses").text
        assert organiser.get("/c/add-an-analysis/analyses/job/mean-spread").status_code == 200
        assert all("mean-spread" in anonymous.get(f"/help/{page}.html").text for page in ("jobs", "gallery"))
    """)


def test_a_command_answers_and_is_described(use):
    use("add-a-command")("""
        import contextlib, io
        from gainboard.cli import main
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = main(["size", "-c", campaign.name, "--server", service.url, "--token", ADMIN])
        assert (code, printed.getvalue()) == (0, "1\\n")
        assert "gainboard size" in anonymous.get("/help/command-line.html").text
    """)


def test_a_route_answers_and_is_described_and_called(use):
    use("add-a-route")("""
        assert client.get(f"{campaign.path}/size").json() == {"runs": 1}
        assert anonymous.get(f"{campaign.path}/size").status_code == 401
        assert "/v1/collections/{collection}/size" in anonymous.get("/openapi.json").json()["paths"]
        texts = [anonymous.get(f"/help/{page}.html").text for page in ("api", "python")]
        assert "/v1/collections/{collection}/size" in texts[0] and "size(collection" in texts[1]
    """)


def test_a_page_is_shown_and_found(use):
    use("add-a-page")("""
        shown = organiser.get("/c/add-a-page/glance")
        assert shown.status_code == 200 and "Runs: 1" in shown.text
        assert 'href="/c/add-a-page/glance"' in organiser.get("/c/add-a-page").text
        assert anonymous.get("/c/add-a-page/glance").status_code == 401
        assert "/help/dashboard.html#topics-and-runs" in shown.text
        assert "how many runs there are" in anonymous.get("/help/dashboard.html").text
    """)


def test_a_policy_field_is_shown_and_set_and_applies(use):
    use("add-a-policy-rule")("""
        assert client.get(campaign.path).json()["policy"]["paused"] is False
        assert campaign.change(policy={"paused": True}).json()["policy"]["paused"] is True
        page = organiser.get("/c/add-a-policy-rule/settings")
        assert page.status_code == 200 and 'name="policy.paused"' in page.text
        assert campaign.submit(client=campaign.client("participant", "newt")).status_code == 403
        assert "Whether runs of participants are refused" in anonymous.get("/help/campaigns.html").text
    """)


def test_a_stored_column_is_migrated_to_and_kept_by_releases(use):
    use("add-a-stored-column")("""
        import sqlite3
        for name in ("there", "here"):
            Path(name).mkdir()
        with sqlite3.connect("data/gainboard.db") as database:
            database.execute("UPDATE collections SET sponsor = 'NII', revision = revision + 1")
        campaign.release(public=True)
        made = client.post(f"{campaign.path}/releases", json={})
        assert made.status_code == 201, made.text
        frozen = client.get(f"{campaign.path}/releases/1").json()
        assert "NII" in made.text + str(frozen), frozen
        folder = client.get(f"{campaign.path}/releases/1/archive").content
        with serving(new_settings(Path("here"))) as other:
            answer = other.organiser.post("/v1/imports", content=folder)
            assert answer.status_code == 201, answer.text
            with sqlite3.connect("here/gainboard.db") as database:
                assert database.execute("SELECT sponsor FROM collections").fetchall() == [("NII",)]
    """)
