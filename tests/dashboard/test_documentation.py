"""The documentation that a service shows at `/help`. Sphinx builds it here once, with every warning as an error."""

import ast
import re
import subprocess
import sys
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

import pytest

from gainboard import errors
from gainboard.analyses.job_kinds import every_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.dashboard import documentation
from gainboard.dashboard.rendering import HELP, heading_id
from gainboard.metrics import every_metric
from gainboard.settings import PREFIX, Settings
from tests.dashboard.test_every_page import AXE, OF_COLOURS, faults_of_accessibility, is_wider
from tests.outside import ROOT, SOURCE
from tests.test_docs import codes
from tests.world.pages import DOCS, block

pytestmark = pytest.mark.proof  # Sphinx builds for half a minute, and for minutes beside other work
BUILD = "import sys; from pathlib import Path; from scripts.docs import build; build(Path(sys.argv[1]), True)"
OF_THE_SERVICE = ("help/metrics", "docs", "")
"""Where the pages lead that are not in the documentation."""

OF_EACH_SHAPE = ("index.html", "formats.html", "client.html", "search.html", "gallery.html", "python.html")
"""Pages with each element that there is: lists, tables, code, figures, a form."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "help"
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(built):
    return {path.relative_to(built).as_posix(): path.read_text(encoding="utf-8") for path in built.rglob("*.html")}


@pytest.fixture(scope="module")
def serving(built, demo_service):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documentation, "FOLDER", built)
        yield demo_service


def ids(page):
    return set(re.findall(r'\sid="([^"]+)"', page))


def explained(pages, address):
    """Whether an address below `/help/` leads to a part that exists."""
    name, _, anchor = address.partition("#")
    return name in pages and (not anchor or anchor in ids(pages[name]))


def test_every_link_leads_to_a_file_and_to_a_part_of_it(built, pages):
    parts = {name: ids(page) for name, page in pages.items()}
    wrong = []
    for name, page in pages.items():
        for link in re.findall(r'\s(?:href|src)="([^"]*)"', page):
            there = urlsplit(link)
            if there.scheme or link == "#":
                continue
            target = normpath(join("help", dirname(name), unquote(there.path))) if there.path else f"help/{name}"
            inside = target.removeprefix("help/")
            is_there = target.strip(".") in OF_THE_SERVICE or (built / inside).is_file()
            if not is_there or (there.fragment and inside in parts and unquote(there.fragment) not in parts[inside]):
                wrong.append((name, link))
    assert wrong == []


def test_nothing_of_a_page_is_inline_or_from_elsewhere(pages):
    inline = re.compile(
        r"<script(?![^>]*\ssrc=)|<style|<[^>]*\s(?:style|on\w+)=\"|(?:src|<link[^>]*href)=\"(?:https?:)?//"
    )
    assert [(name, found[0]) for name, page in pages.items() if (found := inline.search(page))] == []


def test_a_search_finds_a_page(open_page, serving):
    watched = open_page(serving)
    watched.visit("/help")
    watched.page.get_by_role("textbox").first.fill("caterpillar judged share")
    watched.page.keyboard.press("Enter")
    watched.page.get_by_role("link", name="Dashboard").first.wait_for()
    watched.visit("/help/search.html?q=bpref")
    watched.page.locator("#search-results li a").first.click()
    watched.page.wait_for_url("**/metrics.html**")
    assert (watched.errors, watched.elsewhere) == ([], [])


def test_the_wall_display_of_the_tutorial_shows_the_board(open_page, demo_service, tmp_path):
    tutorial = DOCS["tutorial-wall-display.md"]
    page = block(tutorial, "page")
    (asked,) = re.findall(r"<!-- request: board -->\n```http\nGET (\S+)\n", tutorial)
    assert asked in page
    (tmp_path / "display.html").write_text(page.replace("http://127.0.0.1:8000", demo_service.url), encoding="utf-8")
    watched = open_page(demo_service)
    watched.page.goto((tmp_path / "display.html").as_uri())
    watched.page.get_by_text("10 of 45 runs").wait_for()
    shown = watched.page.locator("tbody tr").first.locator("td").all_inner_texts()
    best = demo_service.anonymous.get(asked).json()["rows"][0]
    assert shown == ["1", best["name"], best["team"], *(f"{mean:.4f}" for mean in best["mean"].values()), "a"]
    assert watched.errors == []


def test_everybody_can_read_the_pages(open_page, serving):
    watched = open_page(serving)
    wrong = []
    for name in OF_EACH_SHAPE:
        watched.page.emulate_media(color_scheme="light")
        assert watched.visit(f"/help/{name}") == 200
        wrong += ((name, "light", *fault) for fault in faults_of_accessibility(watched, AXE))
        watched.page.emulate_media(color_scheme="dark")
        wrong += ((name, "dark", *fault) for fault in faults_of_accessibility(watched, OF_COLOURS))
        wrong += [(name, "too wide")] if is_wider(watched, 360) else []
    assert wrong == []
    # No page violates its policy, or loads from elsewhere.
    assert (watched.errors, watched.elsewhere) == ([], [])


def templates():
    """The templates that modules of the dashboard make pages from."""
    found = set()
    for path in (SOURCE / "gainboard/dashboard").glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "page":
                texts = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant)]
                found |= {text for text in texts if isinstance(text, str) and text.endswith(".html")}
    return found


def test_every_page_metric_kind_report_problem_fault_and_setting_leads_to_a_part_that_exists(pages):
    framed = {"embed.html", "new_example.html"}  # one is shown by other sites, one is a part of a page
    assert HELP.keys() == templates() - framed
    parts = [*HELP.values(), *(f"metrics.html#{heading_id(f'{each.name}: {each.title}')}" for each in every_metric())]
    parts += [f"jobs.html#{kind.name}" for kind in every_kind()]
    parts += [f"reports.html#{kind.name}" for kind in every_report_kind()]
    parts += [f"api.html#{error.slug}" for error in errors.every_error()]
    parts += [f"formats.html#{code}" for code in codes()]
    parts += [f"operating.html#{PREFIX}{name.upper()}" for name in Settings.model_fields]
    assert [part for part in parts if not explained(pages, part)] == []


def test_a_page_leads_to_its_part_and_a_problem_to_its_explanation(serving):
    wanted = {"accept": "text/html"}
    board = serving.anonymous.get("/c/demo-small", headers=wanted).text
    assert '<a href="/help/dashboard.html#the-board">Help</a>' in board
    problem = serving.anonymous.get("/problems/too-large", headers=wanted).text
    assert problem.count("/help/api.html#too-large") == 2
    assert "/help/metrics.html#q-q-measure" in serving.anonymous.get("/help/metrics/Q").text
