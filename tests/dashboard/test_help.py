"""Files of the documentation and others: sent once in each of their forms, and nothing beside them."""

import pytest

from gainboard.dashboard import assets
from tests.outside import ROOT

PAGES = ("/help/index.html", "/problems/too-large", "/", "/v1/metrics", "/openapi.json", "/v1/job-kinds")


@pytest.mark.parametrize("path", [*PAGES, "style"])
def test_the_two_forms_of_an_answer_have_two_strong_tags(sqlite_service, path):
    path = assets.address_of("gainboard.css") if path == "style" else path
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


def test_a_picture_of_a_page_is_shown(sqlite_service):
    shown = sqlite_service.anonymous.get("/help/docs/images/board.png")
    assert shown.headers["content-type"] == "image/png"
    assert shown.content == (ROOT / "docs/images/board.png").read_bytes()
