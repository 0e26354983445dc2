"""The recipes of docs/contributing.md, each followed to the letter in a copy of the checkout and then used."""

import json
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from tests.outside import ROOT, outside
from tests.world.pages import DOCS, block

pytestmark = [pytest.mark.outer, pytest.mark.proof]  # a process or more for each, and servers in them
WHOLE = "app migrations tests docs scripts benchmarks deploy pyproject.toml README.md CHANGELOG.md LICENSE".split()
PAGE = DOCS["contributing.md"]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".pytest_cache")
A_SERVICE = """
from pathlib import Path
from tests.waiting import over
from tests.world.campaigns import judged
from tests.world.people import Person
from tests.world.servers import ADMIN, new_settings, serving
with serving(new_settings(Path("data"))) as service:
    organiser, campaign = service.organiser, judged(service, name="web")
"""


class Copy:
    """A copy of the checkout that somebody changes."""

    def __init__(self, folder):
        self.folder, self.changed = folder, set()
        for name in WHOLE:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name, **({"ignore": LEFT_OUT} if copy is shutil.copytree else {}))

    def add(self, path, text, after="", into=""):
        """Adds lines: after a line of a file, inside of one behind a text, or at the end of an old or new file."""
        file = self.folder / path
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        if after or into:
            anchor = f"\n{after}\n" if after else into
            assert before.count(anchor) == 1, f"{path} has {before.count(anchor)} times: {anchor}"
            before = before.replace(anchor, f"{anchor}{text}")
        else:
            before += text
        file.write_text(before, encoding="utf-8")
        self.changed.add(path)

    def run(self, *command):
        """Runs Python in the copy; what it prints."""
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            env=outside(PYTHONPATH=str(self.folder / "app")),
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout

    def speak(self, *tests):
        """Runs tests in the copy, which all pass."""
        self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not postgresql", *tests)

    def serve(self, steps):
        """Runs steps over `service`, whose `campaign` has judgments and a run."""
        return self.run("-c", A_SERVICE + textwrap.indent(textwrap.dedent(steps), "    "))

    def has_changed_as_many_files_as(self, recipe):
        """Whether the page counts the files of the source, of tests, and pages."""
        (cells,) = re.findall(rf"^\| \[[^]]*\]\(#{recipe}\) \|(.*)\|(.*)\|(.*)\|$", PAGE, re.MULTILINE)
        folders = (("app/", "migrations/"), ("tests/",), ("docs/",))
        counted = [sum(path.startswith(of) for path in self.changed) for of in folders]
        return all(str(count) in re.findall(r"\d+", cell) for count, cell in zip(counted, cells, strict=True)), counted


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


def test_a_metric_with_a_new_parameter(copy):
    family, types = "app/gainboard/metrics/precision.py", "app/gainboard/metrics/parameters.py"
    of_page = textwrap.dedent(block(PAGE, "example: metric"))
    parameter = 'Portion = Annotated[Number, number("portion", "The weight of precision.", least=0, most=1)]\n'
    copy.add(types, parameter, after='AT_R: Final = "R"')
    copy.add(family, "    Portion,\n", after="    Penalties,")
    copy.add(family, f'''

{of_page}

@metric("Mixed", title="Precision and recall, mixed", reference="Worked by hand")
def mixed(rankings: BinaryRankings, *, portion: Portion = 0.5, cutoff: Rank) -> Value:
    """Mixed@l is P@l and Recall@l, weighted."""
    found = rankings.relevant(upto=cutoff).number
    return portion * (found / cutoff) + (1.0 - portion) * (found / rankings.relevant_count)
''')
    copy.add("tests/metrics/plain.py", '''

@define("Hit")
def hit(t, cutoff):
    return float(t.count(cutoff) > 0)


@define("Mixed")
def mixed(t, portion, cutoff):
    return portion * t.count(cutoff) / cutoff + (1 - portion) * t.count(cutoff) / t.R
''')
    # By hand: S is at rank 3, the only document of its level.
    by_hand = '    ("Hit(rel=3)@2", EX1, 0.0),\n    ("Mixed(rel=3,portion=0.25)@3", EX1, 1 / 12 + 3 / 4),\n'
    copy.add("tests/metrics/test_published.py", by_hand, after="BY_HAND = [")
    copy.add("tests/metrics/test_definitions.py", '    "portion": ("0", "0.3", "1"),\n', after="VALUES = {")
    copy.add("tests/metrics/test_ties.py", '"Hit", ', into="DRAWN = {")
    copy.speak("tests/metrics/test_definitions.py", "tests/metrics/test_published.py")
    copy.speak("tests/metrics/test_ties.py", "-k", "Hit or Mixed or formulas")
    assert copy.has_changed_as_many_files_as("add-a-metric")[0]
    copy.serve('''
        asked = campaign.get("/scores", metric=["Hit@2", "Mixed(portion=0.25)@2"])
        assert asked.status_code == 200, asked.text
        assert list(asked.json()["runs"][0]["means"].values()) == [1.0, 0.875], asked.text
        wrong = campaign.get("/scores", metric="Mixed(portion=2)@2")
        assert wrong.status_code == 422 and "a number >= 0, at most 1" in wrong.text, wrong.text
        assert campaign.get("/scores", metric="Mixed@2", portion="0.25").status_code == 200
        shown = service.anonymous.get("/help/metrics.html").text
        assert "Mixed: Precision and recall, mixed" in shown and "The weight of precision." in shown
        assert service.anonymous.get("/help/metrics/Mixed?portion=0.3").status_code == 200
    ''')
