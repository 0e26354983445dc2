"""The documentation that a service shows at `/help`: its links, its search, and where pages and problems lead."""

import ast
import re
from posixpath import join, normpath
from urllib.parse import unquote, urlsplit

import pytest

from gainboard import errors
from gainboard.analyses.job_kinds import every_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.cli.parts import every_part
from gainboard.dashboard import rendering
from gainboard.dashboard.rendering import HELP
from gainboard.documentation import every_page, heading_id, linked_files, render, search
from gainboard.metrics import every_metric
from gainboard.settings import PREFIX, Settings
from tests.dashboard.test_every_page import faults_of_accessibility, is_wider
from tests.outside import ROOT, SOURCE
from tests.test_docs import codes
from tests.world.pages import DOCS, block
from tests.world.servers import description

pytestmark = pytest.mark.outer
PAGES = ("/help/index.html", "/problems/too-large", "/", "/v1/metrics", "/openapi.json", "/v1/job-kinds")
OF_THE_SERVICE = ("/help/metrics", "/docs", "/")
"""Where the pages lead that are not in the documentation."""
OF_EACH_SHAPE = ("index.html", "formats.html", "client.html", "search.html?q=board", "gallery.html", "python.html")
"""Pages with each element that there is: lists, tables, code, figures, a form."""
QUESTIONS = {
    "how do I extend a deadline": "campaigns",
    "time zone of closes_at": "campaigns",
    "what do the letters mean": "statistics",
    "hide judgments until the release": "tutorial-organise",
    "invite a team": "security",
    "restore a backup": "operating",
    "which log base has nDCG": "choosing-a-metric",
    "how many topics do I need": "quality",
    "runs with equal scores, ties": "comparing-runs",
    "scripts that call trec_eval": "trec_eval",
    "cite a collection with a DOI": "archive",
    "I lost my token": "security",
    "docker": "operating",
    "an LLM as assessor": "judgments",
    "which runs are significantly different": "statistics",
    "crlf": "formats",
}
"""What newcomers asked, and the page whose section is among the first three that are found."""


@pytest.fixture(scope="module")
def pages():
    return {f"{name}.html": render(name).html for name in every_page()}


def ids(page):
    return set(re.findall(r'\sid="([^"]+)"', page))


def test_every_link_leads_to_a_file_and_to_a_part_of_it(pages):
    parts = {name: ids(page) for name, page in pages.items()}
    wrong = []
    for name, page in pages.items():
        for link in re.findall(r'\s(?:href|src)="([^"]*)"', page):
            there = urlsplit(link)
            if there.scheme:
                continue
            target = normpath(join("/help", unquote(there.path))) if there.path else f"/help/{name}"
            inside = target.removeprefix("/help/")
            is_there = target in OF_THE_SERVICE or inside in parts or inside in linked_files()
            if not is_there or (there.fragment and inside in parts and unquote(there.fragment) not in parts[inside]):
                wrong.append((name, link))
    assert wrong == []


def test_nothing_of_a_page_is_inline_or_from_elsewhere(pages):
    inline = re.compile(r"<script|<style|<[^>]*\s(?:style|on\w+)=\"|<(?:img|link)[^>]*(?:src|href)=\"(?:https?:)?//")
    assert [(name, found[0]) for name, page in pages.items() if (found := inline.search(page))] == []


def test_every_page_of_the_repository_is_listed_and_every_part_stands_on_one():
    assert {page.source for page in every_page().values()} >= {f"docs/{name}" for name in DOCS}
    whole = "\n".join((ROOT / page.source).read_text(encoding="utf-8") for page in every_page().values())
    assert sorted(re.findall(r"^<!-- made: (\S+) -->$", whole, re.MULTILINE)) == sorted(every_part())


def test_the_references_have_everything_that_there_is(pages):
    operations = [each["operationId"] for path in description()["paths"].values() for each in path.values()]
    assert [each for each in operations if f"<code>{each}</code>" not in pages["api.html"]] == []
    assert '<p>200: <a href="#door">Door</a> as <code>application/json</code></p>' in pages["api.html"]
    models = ids(pages["api.html"])
    assert [each for each in description()["components"]["schemas"] if heading_id(each) not in models] == []


@pytest.mark.parametrize(("question", "page"), QUESTIONS.items())
def test_a_question_of_a_newcomer_is_answered(question, page):
    assert page in [hit.page.name for hit in search(question)[:3]]


def test_the_page_of_a_search_shows_what_is_found_and_what_was_asked(sqlite_service):
    asked = {"q": "<b>caterpillar</b> invitations"}
    shown = sqlite_service.anonymous.get("/help/search.html", params=asked, headers={"accept": "text/html"}).text
    assert '<a href="/help/security.html#invitations">Invitations</a>' in shown
    assert "&lt;b&gt;caterpillar" in shown
    assert "<b>caterpillar" not in shown
    none = sqlite_service.anonymous.get("/help/search.html?q=zzzz", headers={"accept": "text/html"}).text
    assert "No page has any of these words" in none


@pytest.mark.proof
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


@pytest.mark.proof
def test_everybody_can_read_the_pages(open_page, demo_service):
    watched = open_page(demo_service)
    wrong = []
    for name in OF_EACH_SHAPE:
        assert watched.visit(f"/help/{name}") == 200
        wrong += ((name, *fault) for fault in faults_of_accessibility(watched))
        wrong += [(name, "too wide")] if is_wider(watched, 360) else []
    assert wrong == []
    # No page violates its policy, or loads from elsewhere.
    assert (watched.errors, watched.elsewhere) == ([], [])


def templates():
    """The templates that modules of the dashboard make pages from."""
    found = set()
    for path in (SOURCE / "gainboard/dashboard").glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("page", "page_of"):
                texts = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant)]
                found |= {text for text in texts if isinstance(text, str) and text.endswith(".html")}
    return found


def test_every_page_metric_kind_report_problem_fault_and_setting_leads_to_a_part_that_exists(pages):
    # One is shown by other sites, and the others are parts of pages.
    framed = {"embed.html", "new_example.html", "settings_changes.html"}
    assert HELP.keys() == templates() - framed
    parts = [*HELP.values(), *(f"metrics.html#{heading_id(f'{each.name}: {each.title}')}" for each in every_metric())]
    parts += [f"jobs.html#{kind.name}" for kind in every_kind()]
    parts += [f"reports.html#{kind.name}" for kind in every_report_kind()]
    parts += [f"api.html#{error.slug}" for error in errors.every_error()]
    parts += [f"formats.html#{code}" for code in codes()]
    parts += [f"operating.html#{PREFIX}{name.upper()}" for name in Settings.model_fields]
    there = {f"{name}#{anchor}" for name, page in pages.items() for anchor in ids(page)} | pages.keys()
    assert sorted({*parts} - there) == []


@pytest.mark.parametrize("path", [*PAGES, "style"])
def test_the_two_forms_of_an_answer_have_two_strong_tags(sqlite_service, path):
    path = rendering.address_of("gainboard.css") if path == "style" else path
    plain, packed = (
        sqlite_service.anonymous.get(path, headers={"Accept-Encoding": coding, "Accept": "text/html,*/*"})
        for coding in ("identity", "gzip")
    )
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    tags = [answer.headers["etag"] for answer in (plain, packed)]
    assert all(tag.startswith('"') for tag in tags)
    assert tags[0] != tags[1]
    assert {answer.headers["vary"].lower().count("accept-encoding") for answer in (plain, packed)} == {1}
    for coding, tag in zip(("identity", "gzip"), tags, strict=True):
        headers = {"Accept-Encoding": coding, "Accept": "text/html,*/*", "If-None-Match": tag}
        assert sqlite_service.anonymous.get(path, headers=headers).status_code == 304


@pytest.mark.parametrize("name", ["../home.py", "%2e%2e/home.py", "nothing.html", "docs", "docs/index.md"])
def test_nothing_else_is_shown(sqlite_service, name):
    assert sqlite_service.anonymous.get(f"/help/{name}", headers={"accept": "application/json"}).status_code == 404


def test_browsers_that_look_for_an_icon_find_it(sqlite_service):
    answer = sqlite_service.anonymous.get("/favicon.ico", follow_redirects=True)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml; charset=utf-8")


def test_a_picture_of_a_page_is_shown(sqlite_service):
    shown = sqlite_service.anonymous.get("/help/docs/images/board.png")
    assert shown.headers["content-type"] == "image/png"
    assert shown.content == (ROOT / "docs/images/board.png").read_bytes()
