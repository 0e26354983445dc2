"""The documentation is complete: whatever there is, a page has it, and no picture is older than what it shows.

That every field of the policy is there is tested with the policy, in tests/trust/test_page.py.
"""

import json
import re

import pytest

from benchmarks.pages import IMAGES, SHOWN, hashes_of_templates
from gainboard import errors
from gainboard.analyses.job_kinds import every_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.cli.parsing import every_command
from gainboard.dashboard.installing import PAGES
from gainboard.metrics import every_metric, every_parameter, every_preset
from gainboard.settings import PREFIX, Settings
from scripts import gallery
from tests.outside import ROOT
from tests.test_docs import DOCS, codes

WHOLE = "\n".join(DOCS.values())


def missing(names, text=WHOLE):
    """The names that no page has as code."""
    return [name for name in names if not re.search(rf"[`#]{re.escape(name)}\b", text)]


def test_every_setting_code_metric_kind_and_command_is_found():
    assert missing([f"{PREFIX}{name.upper()}" for name in Settings.model_fields], DOCS["operating.md"]) == []
    assert missing([*codes()], DOCS["formats.md"].replace("### ", "#")) == []
    assert missing([error.slug for error in errors.every_error()], DOCS["api.md"].replace("### ", "#")) == []
    assert missing([each.name for each in every_parameter()], DOCS["metrics.md"]) == []
    assert missing([metric.name for metric in every_metric()], DOCS["metrics.md"].replace("### ", "#")) == []
    assert missing([preset.name for preset in every_preset()], DOCS["metrics.md"].replace("### ", "#")) == []
    assert missing([kind.name for kind in every_kind()], DOCS["jobs.md"].replace("### ", "#")) == []
    assert missing([kind.name for kind in every_report_kind()], DOCS["reports.md"].replace("### ", "#")) == []
    names = [f"gainboard {each.name}" for each in every_command()]
    assert missing(names, DOCS["command-line.md"].replace("### ", "#")) == []


def test_every_page_of_the_dashboard_is_found():
    page = DOCS["dashboard.md"].split("## Every page")[1]
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\S+?)` \| (.+?) \|$", page, re.MULTILINE)}
    shown = {
        re.sub(r":\w+}", "}", route.path_format)
        for module in PAGES
        for route in module.router.routes
        if "GET" in route.methods and not re.search(r"\.(json|csv|ndjson|txt)$|\{form\}|/events$", route.path_format)
    }
    assert rows.keys() == shown


@pytest.mark.parametrize("kind", [*every_kind(), *every_report_kind()], ids=lambda kind: kind.name)
def test_the_gallery_has_every_kind_as_it_computes_now(kind):
    part = DOCS["gallery.md"].split(f"\n### {kind.name}\n")[1].split("\n### ")[0]
    assert gallery.mark_of(kind) in part, "to renew it: python -m scripts.gallery"
    assert json.dumps(gallery.request_of(kind)) in part, "to renew it: python -m scripts.gallery"
    pictures = re.findall(r"\]\((gallery/\S+)\)", part)
    assert [name for name in pictures if not (ROOT / "docs" / name).exists()] == []


def test_no_picture_is_older_than_the_page_that_it_shows():
    assert {path.stem for path in IMAGES.glob("*.png")} == SHOWN.keys()
    of_pictures = json.loads((IMAGES / "templates.json").read_text(encoding="utf-8"))
    assert of_pictures == hashes_of_templates(), "to renew them: python -m benchmarks.pages --screenshots"
