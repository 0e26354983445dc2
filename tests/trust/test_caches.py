"""Who may keep an answer: every route of the application, asked by a session, with a token, and by nobody."""

import re
from dataclasses import dataclass

import httpx
import pytest

from gainboard.dashboard import rendering
from gainboard.dashboard.installing import PAGES
from tests import nginx
from tests.api.routes import BODIES, answer_of, operations
from tests.world.laboratories import Laboratory, qrels_text, work
from tests.world.people import Person
from tests.world.servers import ADMIN, free_port

ABSENT = "absent"
EXHIBITS = ("table", "figure")
ACCEPTS = ("text/html", "application/json", "text/csv")
QUERIES = {
    **dict.fromkeys(("{collection}/compare", "/compare.{form}"), "?run=run-0&run=run-1"),
    "/rankings.json": "?topic=1",
    "/identify": "?number=0.5",
}
"""What some addresses need to be answered."""
SHARED = ("/", "/problems/{slug}")
"""Addresses of pages at which programs get JSON."""
CACHE = """
proxy_cache_path {folder}/cache keys_zone=shared:1m;
server {{
    listen 127.0.0.1:{port};
    location / {{
        proxy_pass {url};
        proxy_cache shared;
        add_header X-Cache $upstream_cache_status always;
    }}
}}
"""
"""A cache as people put it in front of any service, without thinking of this one."""


@dataclass(frozen=True)
class Operation:
    """A method and a path, and whether it is a page's."""

    method: str
    path: str
    is_page: bool

    def filled(self, values):
        """The address, of something absent where the operation would change what there is."""
        known = values if self.method == "GET" else {}
        path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: known.get(found[1], ABSENT), self.path)
        return path + next((query for end, query in QUERIES.items() if self.path.endswith(end)), "")


class Campaign(Laboratory):
    """A campaign with all that an address can name, and somebody signed in as its organiser."""

    def __init__(self, service):
        super().__init__(service)
        assert self.organiser.put(f"{self.path}/topic-groups/half", json=["1"]).is_success
        matrix = "run,1,2\nrun-0,0.5,1\n"
        assert self.organiser.put(f"{self.path}/score-matrices/nuggets", content=matrix).is_success
        assert self.organiser.put(f"{self.path}/nuggets", content=BODIES["nuggets"]).is_success
        for judge in ("official", "model"):
            assert self.organiser.put(f"{self.path}/answers/{judge}", content=answer_of("run-0")).is_success
        job = self.worked(self.ask("bootstrap-sensitivity", metrics=["AP"], resamples=20))
        asked = self.report()
        work(service.application.state.workspace)
        report = self.organiser.get(asked.headers["location"]).json()
        for each in (job, report):  # its figures are drawn
            self.organiser.get(each["figures"][0]["svg"])
        work(service.application.state.workspace)
        token = self.new_token()
        instance = service.organiser.post("/v1/tokens", json={}).json()
        self.draft(qrels_text(shift=1))
        self.person = Person(service, ADMIN)
        self.values = {
            **{"collection": self.name, "run": "run-0", "topic": "1", "team": "team-0", "version": "1", "form": "json"},
            **{"judgments": "official", "group": "half", "matrix": "nuggets", "name": "nDCG", "slug": "not-found"},
            "page_name": "index",
            "file": "index.html",
            **{"job": job["id"], "report": report["id"], "noun": "job", "kind": "stability", "token": token["id"]},
            **{"judge": "official", "other": "model"},
            **{"number": "1", "release": f"{self.name}-1"},
        }
        self.change(policy={"phase": "released"})
        assert self.organiser.post(f"{self.path}/releases", json={}).is_success
        pool = self.worked(self.ask("pool", depth=2))
        self.values_at = {
            "pools/{job}": {"job": pool["id"], "form": "txt"},
            "/judgments/{version}": {"version": "2"},
            "/v1/tokens/{token}": {"token": instance["id"]},
            **{f"jobs/{{job}}/{each}s/{{{each}}}": {each: job[f"{each}s"][0]["name"]} for each in EXHIBITS},
            **{f"reports/{{report}}/{each}s/{{{each}}}": {each: report[f"{each}s"][0]["name"]} for each in EXHIBITS},
        }

    def address(self, operation):
        own = (values for part, values in self.values_at.items() if part in operation.path)
        return operation.filled({**self.values, **next(own, {})})


@pytest.fixture(scope="module")
def campaign(still):
    return Campaign(still)


@pytest.fixture(scope="module")
def every(still):
    """Every operation of the application but static files, which are the same for everybody."""
    pages = {each for module in PAGES for each in operations(module.router.routes)}
    static = set(operations(rendering.router.routes))
    found = sorted(set(operations(still.application.routes)) - static)
    return [Operation(*each, is_page=each in pages) for each in found]


def _expected(operation, who, answer):
    media_type = answer.headers.get("content-type", "")
    if media_type.startswith("text/event-stream") or operation.path in ("/healthz", "/readyz", "/metrics"):
        return "private, no-cache" if answer.status_code >= 400 else "private, no-store"
    if who == "session" and operation.is_page:  # the API reads no cookie: to it, a session is nobody
        is_secret = operation.path.endswith("/invitations.csv") and answer.is_success
        return "private, no-store" if is_secret or media_type.startswith("text/html") else "private, no-cache"
    may_be_kept = operation.method == "GET" and answer.status_code < 400 and who != "token"
    return "public, max-age=5" if may_be_kept else "private, no-cache"


@pytest.mark.parametrize("phase", ["hidden", "public"])
def test_every_answer_says_who_may_keep_it(campaign, every, phase):
    campaign.change(policy={"phase": "released" if phase == "public" else "hidden"}, public=phase == "public")
    clients = {"session": campaign.person.client, "token": campaign.organiser, "nobody": campaign.service.anonymous}
    found, expected, successes = {}, {}, set()
    for operation in every:
        if operation.path == "/signout":
            continue  # it has a test of its own, and would end this session
        if operation.method != "GET" and phase == "hidden":
            continue  # asked about something absent, which is in no phase
        for who, client in clients.items():
            # With a token nothing is kept, and to the API a session is nobody.
            has_forms = who == "nobody" or (who == "session" and (operation.is_page or operation.path in SHARED))
            for accept in ACCEPTS if operation.method == "GET" and phase == "public" and has_forms else ACCEPTS[:1]:
                request = client.build_request(
                    operation.method, campaign.address(operation), headers={"Accept": accept}
                )
                answer = client.send(request, stream=True)  # of events only the first line is needed
                answer.close()
                key = f"{who} {operation.method} {operation.path} {accept} {answer.status_code}"
                vary = {each.strip() for each in answer.headers["vary"].split(",")}
                found[key] = (answer.headers["cache-control"], vary)
                reads = "Cookie" if operation.is_page or operation.path in SHARED else "Authorization"
                expected[key] = (_expected(operation, who, answer), {"Accept", "Accept-Encoding", reads})
                if answer.is_success or answer.status_code == 308:  # an old address
                    successes.add((operation, who))
    assert found == expected
    unseen = {each.path for each in every if each.method == "GET"} - {each.path for each, _ in successes}
    assert not unseen or phase == "hidden", unseen


def test_static_files_are_kept_by_everybody(campaign):
    address = rendering.address_of("gainboard.css")
    for client in (campaign.person.client, campaign.organiser, campaign.service.anonymous):
        answer = client.get(address)
        assert (answer.headers["cache-control"], answer.headers["vary"]) == (rendering.FOREVER, "Accept-Encoding")
        assert client.get(f"{address}.absent").headers["cache-control"].startswith("private")


def test_an_answer_that_sets_the_cookie_is_kept_by_nobody(still):
    person = Person(still)
    answer = person.sign_in(ADMIN)
    assert "set-cookie" in answer.headers
    assert answer.headers["cache-control"] == "private, no-store"
    left = person.post("/signout", csrf=person.csrf)
    assert (left.headers["cache-control"], left.headers["clear-site-data"]) == ("private, no-store", '"cache"')


@pytest.mark.proof
@pytest.mark.skipif(nginx.NGINX is None, reason="no nginx: install it")
def test_a_shared_cache_gives_nobody_what_an_organiser_has_seen(campaign, every, tmp_path):
    campaign.change(policy={"phase": "hidden"}, public=False)
    port = free_port()
    site = CACHE.format(folder=tmp_path, port=port, url=campaign.service.url)
    cookies = dict(campaign.person.client.cookies)
    addresses = [campaign.address(each) for each in every if each.method == "GET" and "events" not in each.path]
    with nginx.running(tmp_path, site, port), httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as cached:
        for address in addresses:
            for accept in ACCEPTS:
                sent = {"Accept": accept}
                as_session = {**sent, "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
                as_token = {**sent, "Authorization": f"Bearer {ADMIN}"}
                for headers in (as_session, as_token):
                    given = cached.get(address, headers=headers)
                behind = cached.get(address, headers=sent)
                direct = campaign.service.anonymous.get(address, headers=sent)
                assert (behind.status_code, behind.is_error or behind.text) == (
                    direct.status_code,
                    direct.is_error or direct.text,
                ), address
                # What nobody was given is not what the organiser gets either.
                again = cached.get(address, headers=as_token)
                assert again.status_code == given.status_code, address
        kept = [cached.get("/v1/metrics").headers["x-cache"] for _ in range(2)]
    assert kept[1] == "HIT"  # so there is a cache
