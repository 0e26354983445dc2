"""Pages show each role in each phase what the API gives it, and refuse what the API refuses."""

import html
import re
import shlex

import httpx
import pytest

from tests.dashboard.every_page import addresses
from tests.world.campaigns import RUN, WORSE, judged, token_of
from tests.world.people import Person
from tests.world.servers import NO_AUTHORITIES, new_settings, serving

OF_API = {
    "/c/web": "",
    "/c/web/card": "",
    "/c/web/topics": "/compare?run=tag&run=worse",
    "/c/web/topics/1": "/topics/1/rankings",
    "/c/web/compare": "/compare?run=tag&run=worse",
    "/c/web/compare?baseline=tag": "/compare?baseline=tag",
    "/c/web/runs/tag": "/runs/tag",
    "/c/web/pool": "/runs/tag/profile",
    "/c/web/judgments": "/qrels",
    "/c/web/judgments/1": "/qrels/1/impact",
    "/c/web/answers": "/answers",
    "/c/web/judges": "/compare?run=tag&run=worse",
    "/c/web/analyses": "/compare?run=tag&run=worse",
    "/c/web/analyses/job/stability": "/compare?run=tag&run=worse",
    "/c/web/rankings.json?topic=1": "/topics/1/rankings",
    "/c/web/qrels.json": "/qrels",
    "/c/web/settings": "/audit",
    "/c/web/teams": "/tokens",
    "/c/web/teams/invitations.csv": "/tokens",
    "/c/web/board.json": "/leaderboard",
    "/c/web/board.tex": "/leaderboard",
    "/c/web/topics.json": "/scores?topics=all",
    "/c/web/topics.md": "/scores?topics=all",
    "/c/web/compare.md?run=tag&run=worse": "/compare?run=tag&run=worse",
    "/c/web/scores.json?topics=all": "/scores?topics=all",
    "/c/web/compare.json?run=tag&run=worse": "/compare?run=tag&run=worse",
    "/c/web/audit.ndjson": "/audit?format=ndjson",
    "/c/web/releases/1.tar": "/releases/1/archive",
    "/r/web-1": "/releases/1",
}
"""Pages of a collection, and the address of the API that shows as much."""
FILES = (
    ("/c/web/runs/tag", "/c/web/runs/tag/file.txt", "/runs/tag"),
    ("/c/web/judgments", "/c/web/judgments/1/file.txt", "/qrels/1"),
)
"""A page with a link to a file, the file, and the address of the API that has it as text."""
ROLES = ("organiser", "participant", "other team", "reader", "anonymous")


@pytest.fixture(scope="module", params=["hidden", "released", "public"])
def campaign(request, tmp_path_factory):
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        campaign = judged(service, RUN, WORSE, name="web")
        if request.param != "hidden":
            campaign.release(public=request.param == "public")
            campaign.organiser.post(f"{campaign.path}/releases", json={}).raise_for_status()
        yield campaign


@pytest.fixture(scope="module", params=ROLES)
def visitor(request, campaign):
    """Somebody with a browser, and the same person with a program."""
    role, team = {"participant": ("participant", "lemur"), "other team": ("participant", "otter")}.get(
        request.param, (request.param, None)
    )
    if role == "anonymous":
        return Person(campaign.service), campaign.service.anonymous
    client = campaign.service.organiser if role == "organiser" else campaign.client(role, team)
    return Person(campaign.service, token_of(client)), client


def test_pages_are_there_for_whom_the_api_answers(visitor, campaign):
    person, client = visitor
    shown = {page: person.get(page).status_code for page in OF_API}
    answered = {page: client.get(campaign.path + path).status_code for page, path in OF_API.items()}
    assert shown == answered
    me = client.get("/v1/me")
    may_send = me.status_code if me.status_code != 200 else 403 if me.json()["role"] == "reader" else 200
    assert person.get("/c/web/submissions").status_code == may_send


def test_files_are_offered_to_whom_the_api_gives_them(visitor, campaign):
    person, client = visitor
    for page, file, path in FILES:
        of_api = client.get(campaign.path + path, headers={"Accept": "text/plain"})
        assert person.get(file).status_code == of_api.status_code
        assert (f'href="{file}"' in person.get(page).text) == (of_api.status_code == 200)
        assert of_api.status_code != 200 or person.get(file).content == of_api.content


def test_a_hidden_phase_shows_nothing_of_the_judgments(visitor, campaign):
    person, client = visitor
    if client.get(f"{campaign.path}/qrels").status_code == 200:
        return  # this visitor may see them
    texts = "".join(person.get(page).text for page in OF_API)
    assert "0.6309" not in texts  # nDCG of a run, which is known from the API of organisers
    assert "Ideal ranking" not in texts
    assert "median of" not in texts


def test_every_page_of_a_collection_is_in_the_table():
    values = {"collection": "web", "run": "tag", "topic": "1", "version": "1", "noun": "job", "kind": "stability"}
    mine = {address for address in addresses() if address.startswith("/c/")}
    filled = set()
    for address in mine:
        for name, value in values.items():
            address = address.replace(f"{{{name}}}", value)
        filled.add(address)
    # The test above has the first, and test_invitations.py the other.
    assert filled - {page.partition("?")[0] for page in OF_API} == {"/c/web/submissions", "/c/web/joined"}


def test_an_embedded_board_is_for_what_everybody_may_see(campaign):
    answer = campaign.service.anonymous.get("/embed/c/web", headers={"Accept": "text/html"})
    is_public = campaign.service.anonymous.get(f"{campaign.path}/leaderboard").status_code == 200
    assert answer.status_code == (200 if is_public else 401)
    frames = "frame-ancestors *" if is_public else "frame-ancestors 'none'"
    assert frames in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "page", ["/c/demo-small", "/c/demo-small/topics/001", "/c/demo-small/compare", "/c/demo-small/judgments"]
)
def test_the_request_that_a_page_shows_is_answered(demo_service, page):
    text = Person(demo_service).get(page).text
    curl, python = (
        html.unescape(found) for found in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.DOTALL)
    )
    answer = httpx.get(shlex.split(curl)[1], verify=NO_AUTHORITIES, timeout=60)
    assert answer.status_code == 200
    names = {}
    exec(python, names)
    assert names["answer"] is not None
