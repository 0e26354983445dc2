"""The folder of a release: it needs no service, no other origin and no script, and everything in it can be checked."""

import csv
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import pytest

from tests.api.changes import log
from tests.jobs.test_importing import send, with_document
from tests.waiting import over
from tests.world.files import contents_of, unpacked
from tests.world.laboratories import REPORT, Laboratory, rotated
from tests.world.people import Person
from tests.world.servers import ADMIN, new_settings, serving

NAME = "</script><b>"
"""A title that a page must escape, in a script's data too."""
MARKUP = "</script></style></title>\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}"
ADDRESS = "javascript:alert(3)"
PAGES = ("settings", "teams", "judgments", "analyses", "submissions", "compare", "topics", "runs/run-0")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        lab = Laboratory(service, title=NAME)
        lab.release(public=True)
        lab.finished(lab.ask("bootstrap-sensitivity", metrics=["AP"], resamples=50))
        over(lab.organiser, lab.report(REPORT).headers["location"])
        asked = {
            "metrics": ["AP", "nDCG@5"],
            "creators": ["R. Mokoena"],
            "doi": "10.5281/zenodo.42",
            "license": "https://spdx.org/licenses/CC0-1.0",
        }
        lab.organiser.post(f"{lab.path}/releases", json=asked).raise_for_status()
        yield lab


@pytest.fixture(scope="module")
def packed(lab):
    return lab.organiser.get(f"{lab.path}/releases/1/archive").raise_for_status().content


@pytest.fixture(scope="module")
def folder(packed, tmp_path_factory):
    return unpacked(packed, tmp_path_factory.mktemp("release"))


@pytest.mark.parametrize("noun", ["job", "report"])
def test_every_table_and_figure_is_on_its_page_in_the_forms_of_the_api(lab, noun):
    person = Person(lab.service, ADMIN)
    work, *_ = lab.organiser.get(f"/v1/{noun}s", params={"collection": lab.name}).json()["items"]
    answer = lab.organiser.get(f"/v1/{noun}s/{work['id']}").json()
    page = person.get(f"/{noun}s/{work['id']}").text
    offered = set(re.findall(r'href="(/(?:jobs|reports)/[^"]+/(?:tables|figures)/[^"]+)"', page))
    exhibits = [*answer["tables"], *answer["figures"]]
    links = [exhibit[form] for exhibit in exhibits for form in ("csv", "latex", "svg") if exhibit.get(form)]
    assert offered == {urlsplit(link).path.removeprefix("/v1") for link in links}
    for link in offered:
        assert person.get(link).raise_for_status().content == lab.organiser.get(f"/v1{link}").content
    if noun == "report":
        assert "booktabs" in person.get(f"/reports/{work['id']}/result.tex").raise_for_status().text


def test_the_folder_has_the_very_files_and_numbers_of_the_service(lab, folder):
    release = lab.organiser.get(f"{lab.path}/releases/1").json()
    document = (folder / "data/release.json").read_bytes()
    assert hashlib.sha256(document).hexdigest() == release["sha256"]
    assert json.loads(document) == release["content"]
    for number in range(4):
        assert (folder / f"data/runs/run-{number}.txt").read_text() == rotated(number)
    with (folder / "data/scores.csv").open(newline="") as file:
        scores = {(row["metric"], row["run"], row["topic"]): row["score"] for row in csv.DictReader(file)}
    asked = {"metric": ["AP", "nDCG@5"], "topics": "all"}
    for run in lab.organiser.get(f"{lab.path}/scores", params=asked).json()["runs"]:
        for label, by_topic in run["topics"].items():
            for topic, score in by_topic.items():
                assert (float(scores[label, run["name"], topic]) if score is not None else None) == score
    for each in release["content"]["results"]:
        own = folder / "data/results" / each["id"]
        assert hashlib.sha256((own / "result.json").read_bytes()).hexdigest() == each["sha256"]


def test_every_file_has_its_checksum_and_the_history_is_in_the_log(lab, folder):
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    named = {line.split("  ", 1)[1]: line.split("  ", 1)[0] for line in lines}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert named.keys() == there - {"SHA256SUMS"}
    assert all(hashlib.sha256((folder / path).read_bytes()).hexdigest() == sha256 for path, sha256 in named.items())
    entries = [json.loads(line) for line in (folder / "data/history.ndjson").read_text().splitlines()]
    logged = {each["hash"] for each in log(lab.organiser, lab.path)}
    assert logged.issuperset(each["hash"] for each in entries)
    assert entries[-1]["action"] == "release-frozen"
    assert entries[-1]["sha256"] == named["data/release.json"]


def test_the_metadata_have_what_ro_crate_requires(folder):
    metadata = json.loads((folder / "ro-crate-metadata.json").read_text())
    assert metadata["@context"] == "https://w3id.org/ro/crate/1.2/context"
    graph = {each["@id"]: each for each in metadata["@graph"]}
    assert len(graph) == len(metadata["@graph"])
    descriptor, root = graph["ro-crate-metadata.json"], graph["./"]
    assert (descriptor["@type"], descriptor["about"]) == ("CreativeWork", {"@id": "./"})
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}
    assert (root["@type"], root["name"], bool(root["description"])) == ("Dataset", NAME, True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", root["datePublished"])
    assert graph[root["license"]["@id"]]["name"] == "https://spdx.org/licenses/CC0-1.0"
    assert graph[root["author"]["@id"]]["name"] == "R. Mokoena"
    doi = graph[root["identifier"]["@id"]]
    assert (doi["@type"], doi["value"]) == ("PropertyValue", "doi:10.5281/zenodo.42")
    assert graph[root["mentions"]["@id"]]["@type"] == "CreateAction"
    mentioned = {value["@id"] for each in graph.values() for value in each.values() if isinstance(value, dict)}
    assert {key for key in graph if key.startswith(("#", "http"))} <= mentioned
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {each["@id"] for each in root["hasPart"]} == there - {"SHA256SUMS", "ro-crate-metadata.json"}
    for part in root["hasPart"]:
        file = graph[part["@id"]]
        assert (file["@type"], bool(file["name"] and file["encodingFormat"])) == ("File", True)
        assert re.fullmatch(r"[^{]+\.", file["description"])
        assert int(file["contentSize"]) == (folder / file["@id"]).stat().st_size


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src") and value]
        assert not (tag == "script" and dict(attrs).get("type") == "module")


def test_pages_name_only_files_of_the_folder(folder):
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) > 4
    for page in pages:
        links = Links()
        links.feed(page.read_text())
        for link in links.found:
            target = urlsplit(urljoin(page.as_uri(), link))
            assert target.scheme == "file", link
            assert Path(target.path).is_file(), link


def test_pages_work_when_they_are_opened_as_files_and_are_read_without_scripts(browser, folder):
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    wrong = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith("file:") else wrong.append(asked.url))
    for path in sorted(folder.rglob("*.html")):
        page.goto(path.as_uri())
        assert page.locator("h1").count() == 1
    page.goto((folder / "compare.html").as_uri())
    document = json.loads((folder / "data/release.json").read_text())
    label = document["metrics"][1]
    page.select_option("[name=metric]", label)
    page.select_option("[name=first]", "run-3")
    page.select_option("[name=second]", "run-1")
    means = {row["run"]: row["means"][label] for row in document["boards"][0]["rows"]}
    assert f"{abs(means['run-3'] - means['run-1']):.4f}" in page.locator(".verdict").inner_text()
    scored = sum(score is not None for score in document["scores"][label]["run-1"])
    assert page.locator("tbody tr").count() == scored > 1
    assert wrong == []
    context.close()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "index.html").as_uri())
    assert page.locator("table.board").count() == 2
    page.goto((folder / "compare.html").as_uri())
    assert "topics" in page.locator("noscript").inner_text() or page.get_by_text("your browser does not run").count()
    context.close()


def hostile(packed):
    """The folder with markup for every text that nothing else in it proves."""
    document = json.loads(contents_of(packed)["data/release.json"])
    document["release"] |= {"title": MARKUP, "creators": [MARKUP], "license": ADDRESS, "citation": MARKUP}
    document["settings"] |= {"title": MARKUP}
    document["made_by"] |= {"environment": MARKUP}
    for run in document["runs"]:
        run["description"] = MARKUP
    for result in document["results"]:
        result["title"] = MARKUP
    for report in document["reports"]:
        report["left_out"] = [{"what": MARKUP, "because": MARKUP}]
    return with_document(packed, json.dumps(document).encode())


def test_no_text_of_a_strangers_folder_runs_on_a_page_or_in_a_folder(packed, lab, open_page, tmp_path):
    with serving(new_settings(tmp_path / "victim")) as service:
        send(service, hostile(packed)).raise_for_status()
        works = [
            f"/{noun}/{each['id']}"
            for noun in ("jobs", "reports")
            for each in service.organiser.get(f"/v1/{noun}").json()["items"]
        ]
        for work in works:
            over(service.organiser, f"/v1{work}")
        watched = open_page(service)
        watched.page.on("dialog", lambda dialog: watched.errors.append(dialog.message))
        watched.sign_in(ADMIN)
        own = f"/c/{lab.name}"
        pages = ["/", own, f"/r/{lab.name}-1", f"/embed{own}", *(f"{own}/{name}" for name in PAGES), *works]
        odd = [(f"{page}{quote(MARKUP, safe='')}", 404) for page in ("/help/", f"{own}/runs/", f"{own}/topics/")]
        for path, status in [*((page, 200) for page in (*pages, f"/help/search.html?q={quote(MARKUP)}")), *odd]:
            assert watched.visit(path) == status, path
            assert watched.page.locator("img[src=x], a[href^=javascript]").count() == 0, path
        folder = service.organiser.get(f"{lab.path}/releases/1/archive").raise_for_status().content
        for file in sorted(unpacked(folder, tmp_path / "folder").rglob("*.html")):
            watched.page.goto(file.as_uri())
            assert watched.page.locator("img[src=x], a[href^=javascript]").count() == 0, file
    assert [each for each in watched.errors if "404" not in each] == []


def test_equal_folders_are_equal_bytes_and_hashes_can_stand_for_runs(lab, packed):
    lab.change(gains="7:3:1", title="Later")  # after the release
    assert lab.organiser.get(f"{lab.path}/releases/1/archive").content == packed
    lab.organiser.post(f"{lab.path}/releases", json={"run_files": False}).raise_for_status()
    answer = lab.organiser.get(f"{lab.path}/releases/2/archive").raise_for_status()
    assert not [name for name in contents_of(answer.content) if name.startswith("data/runs/")]
