"""The recipes of docs/contributing.md, each followed to the letter in a copy of the checkout, and then used.

`tests/recipes` has what each adds to which file: at its end, or after the first line that is as it says.
"""

import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from tests.outside import ROOT, outside
from tests.world.pages import DOCS, block

pytestmark = [pytest.mark.outer, pytest.mark.proof]  # several processes and a server for each
FOLDERS = ("app", "migrations", "tests", "docs", "scripts", "benchmarks", "deploy")
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
PAGE = DOCS["contributing.md"]
ADDED = re.compile(r"^=== (\S+)(?: after (.*))?\n((?:(?!=== \S*/).*\n)*)", re.MULTILINE)
A_SERVICE = """
from pathlib import Path
from tests.waiting import over
from tests.world.campaigns import judged
from tests.world.people import Person
from tests.world.servers import ADMIN, new_settings, serving
with serving(new_settings(Path("data"))) as service:
    campaign, organiser = judged(service, name="web"), Person(service, ADMIN)
    client, anonymous = service.organiser, service.anonymous
"""


class Copy:
    """A copy of the checkout that somebody changes."""

    def __init__(self, folder):
        self.folder, self.changed = folder, set()
        for name in FOLDERS:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in FILES:
            shutil.copy(ROOT / name, folder / name)

    def follow(self, name):
        """Adds what a recipe adds."""
        for path, line, text in ADDED.findall((ROOT / "tests" / "recipes" / f"{name}.txt").read_text(encoding="utf-8")):
            self.add(path, text, line)

    def add(self, path, text, line=""):
        """Adds text to a file, which is made if it is not there."""
        file = self.folder / path
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        assert f"\n{line}\n" in before or not line, f"{path} has no line {line}"
        after = before.replace(f"\n{line}\n", f"\n{line}\n{text}", 1) if line else before + text
        file.write_text(after, encoding="utf-8")
        self.changed.add(path)

    def run(self, *command):
        """Runs Python in the copy."""
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            env=outside(PYTHONPATH=str(self.folder / "app")),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"

    def speak(self, *tests):
        """Runs tests in the copy, which all pass."""
        self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not postgresql", *tests)

    def use(self, steps):
        """Takes steps over a service of the copy, which has a `campaign` with judgments and a run."""
        self.run("-c", A_SERVICE + textwrap.indent(textwrap.dedent(steps), "    "))

    def is_as_large_as(self, recipe):
        """Whether the page has the true numbers of files of the source, of tests, and pages."""
        (said,) = re.findall(rf"^\| \[[^]]*\]\(#{recipe}\) \|(.*)\|(.*)\|(.*)\|$", PAGE, re.MULTILINE)
        parts = [("app/", "migrations/"), ("tests/",), ("docs/",)]
        counts = [sum(path.startswith(part) and "/corpus/" not in path for path in self.changed) for part in parts]
        return all(str(count) in re.findall(r"\d+", cell) for count, cell in zip(counts, said, strict=True))


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


def test_a_metric_and_a_new_parameter_score_and_are_described(copy):
    copy.follow("metric")
    copy.add("app/gainboard/metrics/precision.py", textwrap.dedent(block(PAGE, "example: metric")))
    of_metrics = [f"tests/metrics/test_{name}.py" for name in ("definitions", "published", "ties")]
    copy.speak(*of_metrics, "-k", "digits or by_hand or formulas or what_the_definition or Hit or Mixed")
    copy.use("""
        found = campaign.scores("Hit@2", "Mixed(portion=0.25)@2")["runs"][0]["mean"]
        assert [*found.values()] == [1.0, 0.875]
        assert campaign.get("/scores", metric="Mixed@2", portion="0.25").status_code == 200
        assert "a number >= 0, at most 1" in campaign.get("/scores", metric="Mixed(portion=2)@2").text
        text = anonymous.get("/help/metrics.html").text
        assert "Hit: Hit at a document cut-off" in text and "The weight of precision." in text
        assert anonymous.get("/help/metrics/Mixed?portion=0.3").status_code == 200
    """)
    assert copy.is_as_large_as("add-a-metric")


def test_an_analysis_is_listed_and_runs(copy):
    copy.follow("analysis")
    copy.run("-m", "scripts.gallery", "mean-spread")
    of_analyses = [f"tests/analyses/test_{name}.py" for name in ("every_kind", "near_duplicates", "mean_spread")]
    copy.speak(*of_analyses, "tests/test_docs.py", "-k", "spread or every_kind_is or other_kinds")
    copy.use("""
        assert "mean-spread" in [each["name"] for each in client.get("/v1/job-kinds").json()["items"]]
        asked = {"kind": "mean-spread", "params": {"metrics": ["AP"]}}
        job = client.post(f"{campaign.path}/jobs", json=asked).headers["location"]
        assert over(client, job)["state"] == "succeeded"
        assert client.get(f"{job}/result").json()["metrics"] == [{"metric": "AP", "spread": 0.0}]
        assert client.get(f"{job}/tables/spreads.csv").status_code == 200
        assert "Spread of means" in organiser.get("/c/web/analyses").text
        assert organiser.get("/c/web/analyses/job/mean-spread").status_code == 200
        assert all("mean-spread" in anonymous.get(f"/help/{page}.html").text for page in ("jobs", "gallery"))
    """)
    assert copy.is_as_large_as("add-an-analysis")


def test_a_route_answers_and_is_described_and_called(copy):
    copy.follow("route")
    copy.run("-m", "tests.corpus", "counts the runs", "The description of all operations", "--write")
    of_routes = ["tests/api/test_access.py", "tests/corpus/test_corpus.py", "tests/client/test_routes.py"]
    copy.speak(*of_routes, "-k", "every_operation or every_route")
    copy.use("""
        assert client.get(f"{campaign.path}/size").json() == {"runs": 1}
        assert anonymous.get(f"{campaign.path}/size").status_code == 401
        assert "/v1/collections/{collection}/size" in anonymous.get("/openapi.json").json()["paths"]
        texts = [anonymous.get(f"/help/{page}.html").text for page in ("api", "python")]
        assert "/v1/collections/{collection}/size" in texts[0] and "size(collection" in texts[1]
    """)
    assert copy.is_as_large_as("add-a-route")


def test_a_page_is_shown_and_found(copy):
    copy.follow("page")
    of_pages = [f"tests/dashboard/test_{name}.py" for name in ("visibility", "documentation")]
    copy.speak(*of_pages, "tests/test_docs.py", "-k", "in_the_table or leads_to_a_part or of_the_dashboard")
    copy.use("""
        shown = organiser.get("/c/web/glance")
        assert shown.status_code == 200 and "Runs: 1" in shown.text
        assert 'href="/c/web/glance"' in organiser.get("/c/web").text
        assert anonymous.get("/c/web/glance").status_code == 401
        assert "/help/dashboard.html#topics-and-runs" in shown.text
        assert "how many runs there are" in anonymous.get("/help/dashboard.html").text
    """)
    assert copy.is_as_large_as("add-a-page")


def test_a_policy_field_is_shown_and_set_and_applies(copy):
    copy.follow("policy")
    copy.speak("tests/trust/test_policy.py", "tests/trust/test_page.py", "-k", "pause or has_all_fields")
    copy.use("""
        assert client.get(campaign.path).json()["policy"]["paused"] is False
        assert campaign.change(policy={"paused": True}).json()["policy"]["paused"] is True
        page = organiser.get("/c/web/settings")
        assert page.status_code == 200 and 'name="policy.paused"' in page.text
        assert campaign.submit(client=campaign.client("participant", "newt")).status_code == 403
        assert "Whether runs of participants are refused" in anonymous.get("/help/campaigns.html").text
    """)
    assert copy.is_as_large_as("add-a-policy-rule")


def test_a_stored_column_is_migrated_to_and_kept_by_releases(copy):
    copy.run("-m", "tests.operations.record", ".")
    copy.follow("column")
    copy.speak("tests/api/test_schema.py", "tests/operations/test_upgrades.py", "-k", "all_migrations or 0023")
    copy.use("""
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
    assert copy.is_as_large_as("add-a-stored-column")
