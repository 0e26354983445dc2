"""Who may what: every operation of the OpenAPI description, for every kind of token, in every state of a collection.

A new operation fails until it has a row in `TABLE`, and in `UNPUBLISHED` if it can name a draft of the qrels.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from uuid import uuid4

import httpx
import pytest

from gainboard.dashboard import assets
from gainboard.dashboard.installing import PAGES
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.store.database import Database
from tests.api.routes import BODIES, Route, every_route, operations, seen
from tests.world.campaigns import Campaign, judged, refused, run_text
from tests.world.laboratories import LONG, REPORT, SHORT, qrels_text, rotated, work

WHO = ("anonymous", "bad", "reader", "own", "other", "organiser", "foreign", "admin")
STATES = ("hidden", "released", "public")
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"}
OPEN = ("200 200 200 200 200 200 200 200",) * 3
TOKEN = ("401 401 200 200 200 200 200 200",) * 3
ORGANISER_200 = (
    "401 401 403 403 403 200 404 200",
    "401 401 403 403 403 200 404 200",
    "401 401 403 403 403 200 403 200",
)
JUDGMENTS = ("401 401 403 403 403 200 404 200", "401 401 200 200 200 200 404 200", "200 401 200 200 200 200 200 200")
JOB = ("401 401 404 404 404 200 404 200", "401 401 200 200 200 200 404 200", "200 401 200 200 200 200 200 200")
VERIFY = ("401 401 404 404 404 202 404 202", "401 401 202 202 202 202 404 202", "401 401 202 202 202 202 202 202")
INSTANCE = ("401 401 403 403 403 403 403 200",) * 3
SEEN = ("401 401 200 200 200 200 404 200", *JUDGMENTS[1:])
C = "/v1/collections/{collection}"
J = "/v1/jobs/{job}"
R = "/v1/reports/{report}"


def _returning(status, table):
    return tuple(row.replace("200", status) for row in table)


TABLE = {
    "GET /": OPEN,
    "GET /healthz": OPEN,
    "GET /readyz": OPEN,
    "GET /metrics": ("401 401 403 403 403 200 200 200",) * 3,
    "GET /problems/{slug}": OPEN,
    "GET /v1/metrics": OPEN,
    "POST /v1/design": TOKEN,
    "POST /v1/survey": INSTANCE,
    "POST /v1/imports": _returning("422", INSTANCE),
    "GET /v1/me": TOKEN,
    "GET /v1/me/limits": TOKEN,
    "GET /v1/collections": ("200 401 200 200 200 200 200 200",) * 3,
    "POST /v1/collections": ("401 401 403 403 403 403 403 201",) * 3,
    f"GET {C}": SEEN,
    f"PATCH {C}": ORGANISER_200,
    f"DELETE {C}": _returning("204", ORGANISER_200),
    f"PUT {C}/qrels": _returning("201", ORGANISER_200),
    f"GET {C}/qrels": JUDGMENTS,
    f"GET {C}/qrels/{{version}}": JUDGMENTS,
    f"DELETE {C}/qrels/{{version}}": _returning("204", ORGANISER_200),
    f"POST {C}/qrels/{{version}}/publish": ORGANISER_200,
    f"GET {C}/qrels/{{version}}/impact": ORGANISER_200,
    f"GET {C}/judgments": JUDGMENTS,
    f"PATCH {C}/judgments/{{judgments}}": ORGANISER_200,
    f"DELETE {C}/judgments/{{judgments}}": _returning("204", ORGANISER_200),
    f"POST {C}/runs": (
        "401 401 403 201 404 201 404 201",
        "401 401 403 403 404 201 404 201",
        "401 401 403 403 404 201 403 201",
    ),
    f"GET {C}/runs": SEEN,
    f"GET {C}/runs/{{run}}": ("401 401 404 200 404 200 404 200", *JUDGMENTS[1:]),
    f"GET {C}/runs/{{run}}/metadata": ("401 401 404 200 404 200 404 200", *JUDGMENTS[1:]),
    f"PUT {C}/runs/{{run}}/metadata": (
        "401 401 404 200 404 200 404 200",
        "401 401 403 403 403 200 404 200",
        "401 401 403 403 403 200 403 200",
    ),
    f"GET {C}/runs/{{run}}/receipt": ("401 401 404 200 404 200 404 200", *JUDGMENTS[1:]),
    f"PATCH {C}/runs/{{run}}": (
        "401 401 404 200 404 200 404 200",
        "401 401 403 403 403 200 404 200",
        "401 401 403 403 403 200 403 200",
    ),
    f"DELETE {C}/runs/{{run}}": (
        "401 401 404 204 404 204 404 204",
        "401 401 403 403 403 204 404 204",
        "401 401 403 403 403 204 403 204",
    ),
    f"GET {C}/pool": _returning("308", ORGANISER_200),
    f"GET {C}/judged-shares": JUDGMENTS,
    f"GET {C}/scores": JUDGMENTS,
    f"GET {C}/sweep": JUDGMENTS,
    f"GET {C}/leaderboard": JUDGMENTS,
    f"GET {C}/feed": JUDGMENTS,
    f"GET {C}/compare": JUDGMENTS,
    f"GET {C}/topics/{{topic}}/rankings": JUDGMENTS,
    f"GET {C}/runs/{{run}}/profile": JUDGMENTS,
    f"POST {C}/jobs": (
        "401 401 403 403 403 202 404 202",
        "401 401 202 202 202 202 404 202",
        "401 401 202 202 202 202 202 202",
    ),
    "GET /v1/job-kinds": OPEN,
    "GET /v1/jobs": TOKEN,
    f"GET {J}": JOB,
    f"GET {J}/events": JOB,
    f"GET {J}/result": JOB,
    f"GET {J}/pairs": JOB,
    f"GET {J}/dependencies": JOB,
    f"POST {J}/verify": VERIFY,
    f"GET {J}/tables/{{table}}.csv": JOB,
    f"GET {J}/tables/{{table}}.tex": JOB,
    f"GET {J}/figures/{{figure}}.svg": JOB,
    f"DELETE {J}": (
        "401 401 404 404 404 202 404 202",
        "401 401 403 202 403 202 404 202",
        "401 401 403 202 403 202 403 202",
    ),
    "POST /v1/reports": (
        "401 401 403 403 403 202 404 202",
        "401 401 202 202 202 202 404 202",
        "401 401 202 202 202 202 202 202",
    ),
    "GET /v1/report-kinds": OPEN,
    "GET /v1/reports": TOKEN,
    f"GET {R}": JOB,
    f"GET {R}/events": JOB,
    f"GET {R}/result": JOB,
    f"GET {R}/dependencies": JOB,
    f"GET {R}/tables/{{table}}.csv": JOB,
    f"GET {R}/tables/{{table}}.tex": JOB,
    f"GET {R}/figures/{{figure}}.svg": JOB,
    f"POST {R}/verify": VERIFY,
    f"DELETE {R}": (
        "401 401 404 404 404 202 404 202",
        "401 401 403 202 403 202 404 202",
        "401 401 403 202 403 202 403 202",
    ),
    f"POST {C}/tokens": _returning("201", ORGANISER_200),
    f"GET {C}/tokens": ORGANISER_200,
    f"GET {C}/tokens/{{token}}": ORGANISER_200,
    f"POST {C}/tokens/{{token}}/rotate": _returning("201", ORGANISER_200),
    f"DELETE {C}/tokens/{{token}}": _returning("204", ORGANISER_200),
    "POST /v1/tokens": _returning("201", INSTANCE),
    "GET /v1/tokens": INSTANCE,
    "GET /v1/tokens/{token}": INSTANCE,
    "DELETE /v1/tokens/{token}": _returning("204", INSTANCE),
    f"POST {C}/teams": _returning("201", ORGANISER_200),
    f"GET {C}/teams": SEEN,
    f"GET {C}/teams/{{team}}": ("401 401 404 200 404 200 404 200", *JUDGMENTS[1:]),
    f"PUT {C}/score-matrices/{{matrix}}": _returning("201", ORGANISER_200),
    f"GET {C}/score-matrices": JUDGMENTS,
    f"GET {C}/score-matrices/{{matrix}}": JUDGMENTS,
    f"DELETE {C}/score-matrices/{{matrix}}": _returning("204", ORGANISER_200),
    f"PUT {C}/topic-groups": ORGANISER_200,
    f"GET {C}/topic-groups": SEEN,
    f"GET {C}/topic-groups/{{group}}": SEEN,
    f"PUT {C}/topic-groups/{{group}}": ORGANISER_200,
    f"DELETE {C}/topic-groups/{{group}}": _returning("204", ORGANISER_200),
    f"POST {C}/releases": (
        "401 401 403 403 403 409 404 409",
        "401 401 403 403 403 201 404 201",
        "401 401 403 403 403 201 403 201",
    ),
    f"GET {C}/releases": JUDGMENTS,
    f"GET {C}/releases/{{number}}": (JUDGMENTS[0].replace("200", "404"), *JUDGMENTS[1:]),
    f"GET {C}/releases/{{number}}/archive": (
        JUDGMENTS[0].replace("200", "404"),
        JUDGMENTS[1],
        "401 401 200 200 200 200 200 200",
    ),
    f"GET {C}/audit": ORGANISER_200,
    "GET /v1/audit": INSTANCE,
}
DRAFT = "404 401 404 404 404 200 404 200"
JOB_OVER_DRAFT = DRAFT.replace("404", "401", 1)
UNPUBLISHED = {
    f"GET {C}/qrels/{{version}}": DRAFT,
    f"DELETE {C}/qrels/{{version}}": TABLE[f"DELETE {C}/qrels/{{version}}"][2],
    f"POST {C}/qrels/{{version}}/publish": ORGANISER_200[2],
    f"GET {C}/qrels/{{version}}/impact": ORGANISER_200[2],
    f"GET {C}/scores": DRAFT,
    f"GET {C}/sweep": DRAFT,
    f"GET {C}/leaderboard": DRAFT,
    f"GET {C}/compare": DRAFT,
    f"GET {C}/topics/{{topic}}/rankings": DRAFT,
    f"GET {C}/runs/{{run}}/profile": DRAFT,
    f"GET {C}/judged-shares": DRAFT,
    f"POST {C}/jobs": JOB_OVER_DRAFT.replace("200", "202"),
    f"GET {J}": JOB_OVER_DRAFT,
    f"DELETE {J}": JOB_OVER_DRAFT.replace("200", "202"),
    f"GET {J}/events": JOB_OVER_DRAFT,
    f"GET {J}/result": JOB_OVER_DRAFT,
    f"GET {J}/pairs": JOB_OVER_DRAFT,
    f"GET {J}/dependencies": JOB_OVER_DRAFT,
    f"POST {J}/verify": JOB_OVER_DRAFT.replace("200", "202"),
    f"GET {J}/tables/{{table}}.csv": JOB_OVER_DRAFT,
    f"GET {J}/tables/{{table}}.tex": JOB_OVER_DRAFT,
    f"GET {J}/figures/{{figure}}.svg": JOB_OVER_DRAFT,
}
"""One row for each operation that can name a draft of the qrels, or a job over a draft, in a public collection."""
UNRELEASED = UNPUBLISHED | {
    f"GET {C}/qrels": DRAFT,
    f"PUT {C}/qrels": TABLE[f"PUT {C}/qrels"][2],
    f"PATCH {C}/judgments/{{judgments}}": ORGANISER_200[2],
    f"DELETE {C}/judgments/{{judgments}}": TABLE[f"DELETE {C}/judgments/{{judgments}}"][2],
}
"""The same for each operation that can name a judgment set which is not released, or a job over it."""


class Scene:
    """A collection in one state, and a client of every kind."""

    def __init__(self, service, state):
        self.service, self.state = service, state
        self.elsewhere = Campaign(service)
        self.renew()

    def renew(self):
        """A collection that nobody has changed yet."""
        self.campaign = judged(self.service)
        participant = self.campaign.client
        self.clients = {
            "anonymous": self.service.anonymous,
            "bad": self.service.stranger(),
            "reader": participant("reader"),
            "own": participant("participant", "own"),
            "other": participant("participant", "other"),
            "organiser": participant("organiser"),
            "foreign": self.elsewhere.client("organiser"),
            "admin": self.service.organiser,
        }
        self.finished = self.reported = ""
        if self.state != "hidden":
            self.campaign.release(public=self.state in ("public", "unpublished", "unreleased"))

    @property
    def is_unpublished(self):
        """Whether a draft of the qrels is asked for."""
        return self.state == "unpublished"

    @property
    def is_unreleased(self):
        """Whether a judgment set is asked for that is not released."""
        return self.state == "unreleased"

    def new_set(self):
        """The name of a new judgment set with a published version."""
        name = f"s-{uuid4().hex}"
        self.campaign.put_qrels(qrels_text(highest=2), judgments=name)
        return name

    def own_run(self):
        """The name of a new run of the participant `own`."""
        answer = self.campaign.submit(self.new_run(), team="own")
        return str(answer.json()["name"])

    def new_run(self):
        """A run file like no other."""
        return run_text({"1": ["good", uuid4().hex]}, f"r{uuid4().hex}")

    def token_id(self):
        """The id of a new token."""
        answer = self.campaign.organiser.post(f"{self.campaign.path}/tokens", json={"role": "reader"})
        return str(answer.json()["id"])

    def new_draft(self):
        """The number of a new draft of qrels."""
        answer = self.campaign.put_qrels(f"{qrels_text(highest=2)}1 0 {uuid4().hex} 0\n", draft=True)
        return str(answer.json()["version"])

    def group(self):
        """The name of a topic group, which may be deleted."""
        path = f"{self.campaign.path}/topic-groups/half"
        assert self.campaign.organiser.put(path, json=["1"]).is_success
        return "half"

    def matrix(self):
        """The name of a score matrix, which may be deleted."""
        path = f"{self.campaign.path}/score-matrices/nuggets"
        assert self.campaign.organiser.put(path, content=BODIES["{matrix}"]).is_success
        return "nuggets"

    def organisers_id(self):
        """The id of a new token of an organiser of the instance."""
        return str(self.service.organiser.post("/v1/tokens", json={}).json()["id"])

    def release(self):
        """The number of a release. There is none while the judgments are hidden."""
        if self.state == "hidden":
            return "1"
        made = self.campaign.organiser.post(f"{self.campaign.path}/releases", json={})
        return str(made.raise_for_status().json()["number"])

    def new_job(self):
        """The id of a new, long job, which the participant `own` has asked for where it may."""
        self.prepare_for_jobs()
        client = self.clients["organiser" if self.state in ("hidden", "unpublished", "unreleased") else "own"]
        return str(client.post(f"{self.campaign.path}/jobs", json=self.new_request(**LONG)).json()["id"])

    def finished_job(self):
        """The id of a job that has succeeded."""
        if not self.finished:
            self.prepare_for_jobs()
            sent = self.new_request("bootstrap-sensitivity", metrics=["AP"], resamples=20)
            asked = self.campaign.organiser.post(f"{self.campaign.path}/jobs", json=sent).json()["id"]
            assert self.worked(f"/v1/jobs/{asked}") == "succeeded"
            self.finished = asked
        return self.finished

    def worked(self, url):
        """The state of a job or report once all jobs are worked, and its figures."""
        workspace = self.service.application.state.workspace
        work(workspace)
        found = self.campaign.organiser.get(url).json()
        self.campaign.organiser.get(found["figures"][0]["svg"])
        work(workspace)
        return found["state"]

    def new_report(self):
        """The id of a new report that takes long, which the participant `own` has asked for where it may."""
        self.prepare_for_jobs()
        client = self.clients["organiser" if self.state == "hidden" else "own"]
        sent = self.report("controlling-late-arrival-penalty", resamples=100_000)
        return str(client.post("/v1/reports", json=sent).json()["id"])

    def finished_report(self):
        """The id of a report that has succeeded."""
        if not self.reported:
            self.prepare_for_jobs()
            self.reported = self.campaign.organiser.post("/v1/reports", json=self.report()).json()["id"]
            assert self.worked(f"/v1/reports/{self.reported}") == "succeeded"
        return self.reported

    def report(self, name=REPORT, **params):
        """A request for a report like no other."""
        seed = {"seed": uuid4().int % 2**64}
        return {"name": name, "collections": [self.campaign.name], "params": {**params, **seed}}

    def prepare_for_jobs(self):
        """Runs that can be compared."""
        self.campaign.put_qrels(qrels_text(highest=2))
        for number in range(2):
            self.campaign.submit(rotated(number))

    def new_request(self, kind="stability", **params):
        """A request for a job like no other, over a draft of the qrels where that is what is asked for."""
        draft = {"qrels": int(self.new_draft())} if self.is_unpublished else {}
        if self.is_unreleased:
            draft = {"judgments": self.new_set()}
        return {"kind": kind, "params": {**params, **draft, "seed": uuid4().int % 2**64}}


@dataclass(frozen=True)
class Asked:
    """A request that was answered, and what to put for its parameters to ask for the same of something absent."""

    route: Route
    client: httpx.Client
    fill: Mapping[str, str]
    sent: Mapping[str, Any]
    answer: httpx.Response

    def absent(self, name):
        """Return what is seen of the answer about something absent, in the words for what there is."""
        theirs = self.fill[name]
        absent = "987654321" if name in ("version", "topic", "number") else theirs[::-1]
        assert absent != theirs
        return seen(self.route.ask(self.client, {**self.fill, name: absent}, **self.sent), {absent: theirs})


def _prepared(scene, route):
    """What to put for the parameters, so that the operation can succeed, and what to send."""
    of_instance = route.path.startswith("/v1/tokens")
    is_removed = route.method == "DELETE"
    make = {
        "collection": lambda: scene.campaign.name,
        "version": scene.new_draft if is_removed or scene.is_unpublished else lambda: "1",
        "judgments": scene.new_set,
        "run": scene.own_run,
        "token": scene.organisers_id if of_instance else scene.token_id,
        "team": lambda: "own",
        "group": scene.group,
        "matrix": scene.matrix if route.method != "PUT" else lambda: f"m{uuid4().hex}",
        "number": scene.release,
        "slug": lambda: "not-found",
        "topic": lambda: "1",
        "job": scene.new_job if is_removed else scene.finished_job,
        "report": scene.new_report if is_removed else scene.finished_report,
        "table": lambda: f"tables-3-6a.{scene.campaign.name}" if "{report}" in route.path else "sensitivity",
        "figure": lambda: f"figures-4-7.{scene.campaign.name}" if "{report}" in route.path else "asl-curves",
    }
    bodies = {
        f"PATCH {C}": lambda: {"title": "new"},
        "POST /v1/collections": lambda: {"name": f"n-{uuid4().hex}", "levels": 1},
        f"PATCH {C}/judgments/{{judgments}}": lambda: {"state": "hidden"},
        f"PUT {C}/qrels": lambda: f"1 0 good 1\n1 0 {uuid4().hex} 0\n",
        f"POST {C}/runs": scene.new_run,
        f"PATCH {C}/runs/{{run}}": lambda: BODIES["{run}"],
        f"PUT {C}/runs/{{run}}/metadata": lambda: BODIES["metadata"],
        f"POST {C}/tokens": lambda: {"role": "reader"},
        "POST /v1/tokens": lambda: {"holder": "R. Mokoena"},
        f"POST {C}/teams": lambda: {"name": f"t-{uuid4().hex}"},
        f"PUT {C}/score-matrices/{{matrix}}": lambda: BODIES["{matrix}"],
        f"PUT {C}/topic-groups": lambda: BODIES["topic-groups"],
        f"PUT {C}/topic-groups/{{group}}": lambda: BODIES["{group}"],
        f"POST {C}/jobs": lambda: scene.new_request(**SHORT),
        "POST /v1/design": lambda: BODIES["design"],
        "POST /v1/survey": lambda: BODIES["qrels"],
        "POST /v1/imports": lambda: BODIES["imports"],
        "POST /v1/reports": scene.report,
    }
    if route.title in (f"POST {C}/jobs", "POST /v1/reports"):
        scene.prepare_for_jobs()
    fill = {name: make[name]() for name in route.parameters}
    query = {"team": "own"} if route.title == f"POST {C}/runs" else {}
    if route.title == f"GET {C}/compare":
        query = {"run": [scene.own_run(), scene.own_run()]}
    if scene.is_unpublished and "qrels" in route.queries:
        query["qrels"] = scene.new_draft()
    if scene.is_unreleased and "judgments" in route.queries:
        query["judgments"] = scene.new_set()
        if is_removed:
            scene.campaign.put_qrels(f"1 0 {uuid4().hex} 1\n", draft=True, judgments=query["judgments"])
            fill["version"] = "2"
    return fill, {"query": query, "body": bodies.get(route.title, dict)()}


@pytest.fixture(scope="module")
def scene_of(still):
    """A function that gives the scene of a state, which all tests share."""
    return cache(partial(Scene, still))


def test_every_operation_has_a_row_and_every_row_an_operation():
    assert sorted(TABLE) == sorted(route.title for route in every_route())
    assert sorted(UNPUBLISHED) == sorted(route.title for route in every_route() if _may_name_a_draft(route))
    assert sorted(UNRELEASED) == sorted(route.title for route in every_route() if _may_name_a_set(route))


def _may_name_a_draft(route):
    by_path = {"version", "job"}.intersection(route.parameters)
    return bool(by_path or "qrels" in route.queries or route.title == f"POST {C}/jobs")


def _may_name_a_set(route):
    by_path = {"judgments", "job"}.intersection(route.parameters)
    return bool(by_path or "judgments" in route.queries or route.title == f"POST {C}/jobs")


def test_the_application_has_no_operation_that_is_not_described():
    described = {(route.method, route.path) for route in every_route()}
    every = set(operations(create_app(Workspace(Database("sqlite://"))).routes))
    pages = {each for module in (assets, *PAGES) for each in operations(module.router.routes)}
    assert every - (pages - described) == described | {("GET", "/openapi.json")}


def test_methods_that_are_not_described_are_not_allowed(still):
    campaign = judged(still)
    names = (
        *("version", "judgments", "run", "token", "team", "group", "matrix", "slug", "topic", "job"),
        *("report", "table", "figure", "number"),
    )
    fill = dict.fromkeys(names, "1")
    allowed = defaultdict(set)
    for route in every_route():
        allowed[route.filled({"collection": campaign.name, **fill})].add(route.method)
    for path, methods in allowed.items():
        for method in METHODS - methods:
            answer = still.organiser.request(method, path)
            assert refused(answer) == (405, "method-not-allowed"), f"{method} {path}"
            assert {*answer.headers["allow"].split(", ")} - {"HEAD"} == methods, f"{method} {path}"


def _of_a_state():
    """Each state and operation. Where no collection is named, nothing depends on its state, and one is enough."""
    for state in STATES:
        for route in every_route():
            named = {"collection", "job", "report"}.intersection(route.parameters) or route.title == "POST /v1/reports"
            if named or state == "hidden":
                yield pytest.param(state, route, id=f"{state}-{route.title}")


@pytest.mark.parametrize(("state", "route"), [*_of_a_state()])
def test_each_kind_of_token_may_do_what_the_table_says(scene_of, state, route):
    assert " ".join(_statuses(scene_of(state), route)) == TABLE[route.title][STATES.index(state)]


@pytest.mark.parametrize(
    "route", [each for each in every_route() if _may_name_a_draft(each)], ids=lambda route: route.title
)
def test_what_is_not_published_is_for_organisers_alone(scene_of, route):
    assert " ".join(_statuses(scene_of("unpublished"), route)) == UNPUBLISHED[route.title]


@pytest.mark.parametrize(
    "route", [each for each in every_route() if _may_name_a_set(each)], ids=lambda route: route.title
)
def test_a_set_that_is_not_released_is_for_organisers_alone(scene_of, route):
    assert " ".join(_statuses(scene_of("unreleased"), route)) == UNRELEASED[route.title]


def _statuses(scene, route):
    """Yield the status for each of `WHO`. What is not theirs must look like what is absent, and HEAD like GET."""
    prepared = None
    for who in WHO:
        fill, sent = prepared = prepared or _prepared(scene, route)
        client = scene.clients[who]
        asked = Asked(route, client, fill, sent, route.ask(client, fill, **sent))
        status = asked.answer.status_code
        yield str(status)
        if route.method == "GET" and scene.state == "hidden":
            head = asked.client.head(route.filled(asked.fill), params=asked.sent["query"])
            assert (head.status_code, head.content) == (status, b""), who
        # Members know that the collection exists, and everybody does of a public one. While it is hidden, a 403 does
        # not tell members what is in it either.
        if status == 404 or (status == 403 and scene.state == "hidden"):
            is_secret = who == "foreign" and scene.state in ("hidden", "released")
            for name in route.parameters if is_secret else {*route.parameters} - {"collection"}:
                assert seen(asked.answer) == asked.absent(name), f"{who}: {name}"
            if theirs := asked.sent["query"].get("judgments"):
                absent = theirs[::-1]
                sent = {**asked.sent, "query": {**asked.sent["query"], "judgments": absent}}
                answer = route.ask(asked.client, asked.fill, **sent)
                assert seen(asked.answer) == seen(answer, {absent: theirs}), f"{who}: judgments"
        if asked.answer.is_success and route.method != "GET":
            prepared = None
            if status == 202 and route.method == "POST":
                scene.service.organiser.delete(asked.answer.headers["location"])
            if route.title == f"DELETE {C}":
                scene.renew()


def test_a_deleted_collection_looks_like_one_that_never_was(still):
    scene = Scene(still, "public")
    scene.campaign.organiser.delete(scene.campaign.path).raise_for_status()
    fill = dict.fromkeys(
        ("version", "judgments", "run", "token", "team", "group", "matrix", "topic", "number"), "1"
    ) | {"collection": scene.campaign.name}
    for route in (each for each in every_route() if "collection" in each.parameters):
        for who in ("anonymous", "reader", "organiser", "foreign", "admin"):
            asked = Asked(route, scene.clients[who], fill, {}, route.ask(scene.clients[who], fill))
            assert asked.answer.status_code in (401, 404), f"{who}: {route.title}"
            assert seen(asked.answer) == asked.absent("collection"), f"{who}: {route.title}"


@pytest.mark.parametrize("state", STATES)
def test_the_list_of_jobs_has_those_whose_judgments_are_seen(scene_of, state):
    scene = scene_of(state)
    job = scene.finished_job()

    def listed(who, **query):
        items = scene.clients[who].get("/v1/jobs", params={"limit": 500} | query).json()["items"]
        return job in [each["id"] for each in items]

    sees = scene.state != "hidden"
    assert [listed(who) for who in ("admin", "organiser", "own", "reader")] == [True, True, sees, sees]
    assert not listed("foreign")
    if scene.state == "public":
        assert all(listed(who, collection=scene.campaign.name) for who in ("anonymous", "foreign"))
    if scene.state == "hidden":
        answer = scene.clients["own"].get("/v1/jobs", params={"collection": scene.campaign.name})
        assert answer.status_code == 403
