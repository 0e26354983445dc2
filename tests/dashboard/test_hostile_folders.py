"""The folder of a stranger whose every free text wants to be markup: pages and folders show it as text."""

import json
from urllib.parse import quote

import pytest

from tests.jobs.test_importing import send, with_document
from tests.waiting import over
from tests.world.files import contents_of, unpacked
from tests.world.laboratories import REPORT, Laboratory
from tests.world.servers import ADMIN, new_settings, serving

MARKUP = "</script></style></title>\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}"
ADDRESS = "javascript:alert(3)"


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


@pytest.mark.outer
def test_no_text_of_a_folder_runs_on_a_page_or_in_a_folder(open_page, tmp_path):
    with serving(new_settings(tmp_path / "origin")) as origin:
        lab = Laboratory(origin)
        lab.release(public=True)
        lab.finished(lab.ask("bootstrap-sensitivity", metrics=["AP"], resamples=50))
        over(lab.organiser, lab.report(REPORT).headers["location"])
        lab.organiser.post(f"{lab.path}/releases", json={"metrics": ["AP"]}).raise_for_status()
        packed = lab.organiser.get(f"{lab.path}/releases/1/archive").raise_for_status().content
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
        for path, status in [*((page, 200) for page in (*pages, f"/help?q={quote(MARKUP)}")), *odd]:
            assert watched.visit(path) == status, path
            assert watched.page.locator("img[src=x], a[href^=javascript]").count() == 0, path
        folder = service.organiser.get(f"{lab.path}/releases/1/archive").raise_for_status().content
        for file in sorted(unpacked(folder, tmp_path / "folder").rglob("*.html")):
            watched.page.goto(file.as_uri())
            assert watched.page.locator("img[src=x], a[href^=javascript]").count() == 0, file
    assert [each for each in watched.errors if "404" not in each] == []


PAGES = ("settings", "teams", "judgments", "analyses", "submissions", "compare", "topics", "runs/run-0")
