"""Who may what: every operation of the OpenAPI description, for every kind of token, in every state of a collection.

A new operation fails until it has a row in `TABLE`, and in `UNPUBLISHED` if it can name a draft of the qrels.
"""

import json
from collections import defaultdict
from functools import cache, partial
from uuid import uuid4

import pytest

from gainboard.dashboard import rendering
from gainboard.dashboard.installing import PAGES
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.store.database import Database
from tests.api.routes import BODIES, answer_of, every_route, operations, seen
from tests.world.campaigns import Campaign, judged, refused, run_text
from tests.world.laboratories import LONG, REPORT, SHORT, qrels_text, rotated, work

STATES = ("hidden", "released", "public")
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"}
C = "/v1/collections/{collection}"
J = "/v1/jobs/{job}"
R = "/v1/reports/{report}"
# Statuses for: nobody, a bad token, a reader, the team, another team, an organiser, one of elsewhere, the admin.
OPEN = ("200 200 200 200 200 200 200 200",) * 3
TOKEN = ("401 401 200 200 200 200 200 200",) * 3
INSTANCE = ("401 401 403 403 403 403 403 200",) * 3
ORGANISER = ("401 401 403 403 403 200 404 200",) * 2 + ("401 401 403 403 403 200 403 200",)
JUDGMENTS = ("401 401 403 403 403 200 404 200", "401 401 200 200 200 200 404 200", "200 401 200 200 200 200 200 200")
JOB = ("401 401 404 404 404 200 404 200", *JUDGMENTS[1:])
SEEN = ("401 401 200 200 200 200 404 200", *JUDGMENTS[1:])
TEAM = ("401 401 404 200 404 200 404 200", *JUDGMENTS[1:])
ASK = ("401 401 403 403 403 202 404 202", "401 401 202 202 202 202 404 202", "401 401 202 202 202 202 202 202")
VERIFY = ("401 401 404 404 404 202 404 202", *ASK[1:])
CANCEL = ("401 401 404 404 404 202 404 202", "401 401 403 202 403 202 404 202", "401 401 403 202 403 202 403 202")
CHANGE_RUN = ("401 401 404 200 404 200 404 200", *ORGANISER[1:])
EXHIBITS = ("/tables/{table}.csv", "/tables/{table}.tex", "/figures/{figure}.svg")
OF_WORK = ("", "/events", "/result", "/dependencies", *EXHIBITS)


def _returning(status, table):
    return tuple(row.replace("200", status) for row in table)


def _all(table, of, *rest):
    return dict.fromkeys((f"{of}{each}" for each in rest), table)


TABLE = {
    **_all(OPEN, "GET /", "", "healthz", "readyz", "problems/{slug}", "v1/metrics", "v1/job-kinds", "v1/report-kinds"),
    **_all(TOKEN, "GET /v1/", "me", "me/limits", "jobs", "reports"),
    "POST /v1/design": TOKEN,
    "GET /metrics": ("401 401 403 403 403 200 200 200",) * 3,
    "POST /v1/survey": INSTANCE,
    "POST /v1/imports": _returning("422", INSTANCE),
    **_all(INSTANCE, "GET /v1/", "audit", "tokens", "tokens/{token}"),
    "POST /v1/tokens": _returning("201", INSTANCE),
    "DELETE /v1/tokens/{token}": _returning("204", INSTANCE),
    "GET /v1/collections": ("200 401 200 200 200 200 200 200",) * 3,
    "POST /v1/collections": ("401 401 403 403 403 403 403 201",) * 3,
    **_all(SEEN, f"GET {C}", "", "/runs", "/teams", "/topic-groups", "/topic-groups/{group}"),
    **_all(TEAM, f"GET {C}", "/runs/{run}", "/runs/{run}/metadata", "/runs/{run}/receipt", "/teams/{team}"),
    **_all(JUDGMENTS, f"GET {C}", "/qrels", "/qrels/{version}", "/judgments", "/judged-shares", "/scores", "/sweep"),
    **_all(JUDGMENTS, f"GET {C}", "/leaderboard", "/feed", "/compare", "/topics/{topic}/rankings", "/releases"),
    **_all(JUDGMENTS, f"GET {C}", "/runs/{run}/profile", "/runs/{run}/identify", "/score-matrices"),
    **_all(JUDGMENTS, f"GET {C}", "/score-matrices/{matrix}"),
    f"GET {C}/releases/{{number}}": (JUDGMENTS[0].replace("200", "404"), *JUDGMENTS[1:]),
    f"GET {C}/releases/{{number}}/archive": (
        JUDGMENTS[0].replace("200", "404"),
        JUDGMENTS[1],
        "401 401 200 200 200 200 200 200",
    ),
    **_all(JUDGMENTS, f"GET {C}", "/nuggets", "/nuggets/{version}", "/answers", "/answers/{judge}"),
    **_all(ORGANISER, f"GET {C}", "/qrels/{version}/impact", "/tokens", "/tokens/{token}", "/audit"),
    f"GET {C}/pool": _returning("308", ORGANISER),
    **_all(ORGANISER, f"PATCH {C}", "", "/judgments/{judgments}"),
    **_all(ORGANISER, f"PUT {C}", "/topic-groups", "/topic-groups/{group}"),
    **_all(ORGANISER, f"POST {C}", "/qrels/{version}/publish", "/nuggets/{version}/publish"),
    **_all(
        _returning("201", ORGANISER), f"PUT {C}", "/qrels", "/score-matrices/{matrix}", "/nuggets", "/answers/{judge}"
    ),
    **_all(_returning("201", ORGANISER), f"POST {C}", "/tokens", "/tokens/{token}/rotate", "/teams"),
    **_all(_returning("204", ORGANISER), f"DELETE {C}", "", "/qrels/{version}", "/judgments/{judgments}"),
    **_all(_returning("204", ORGANISER), f"DELETE {C}", "/tokens/{token}", "/score-matrices/{matrix}"),
    **_all(_returning("204", ORGANISER), f"DELETE {C}", "/topic-groups/{group}", "/teams/{team}"),
    **_all(_returning("204", ORGANISER), f"DELETE {C}", "/nuggets/{version}", "/answers/{judge}"),
    f"POST {C}/releases": (_returning("409", ORGANISER)[0], *_returning("201", ORGANISER)[1:]),
    f"POST {C}/runs": (
        "401 401 403 201 404 201 404 201",
        "401 401 403 403 404 201 404 201",
        "401 401 403 403 404 201 403 201",
    ),
    f"PATCH {C}/runs/{{run}}": CHANGE_RUN,
    f"PUT {C}/runs/{{run}}/metadata": CHANGE_RUN,
    f"DELETE {C}/runs/{{run}}": _returning("204", CHANGE_RUN),
    f"POST {C}/jobs": ASK,
    "POST /v1/reports": ASK,
    **_all(JOB, f"GET {J}", *OF_WORK, "/pairs"),
    **_all(JOB, f"GET {R}", *OF_WORK),
    f"POST {J}/verify": VERIFY,
    f"POST {R}/verify": VERIFY,
    f"DELETE {J}": CANCEL,
    f"DELETE {R}": CANCEL,
}
DRAFT = "404 401 404 404 404 200 404 200"
JOB_OVER_DRAFT = DRAFT.replace("404", "401", 1)
UNPUBLISHED = {
    **{title: TABLE[title][2] for title in (f"DELETE {C}/qrels/{{version}}", f"POST {C}/qrels/{{version}}/publish")},
    **{
        title: TABLE[title][2] for title in (f"DELETE {C}/nuggets/{{version}}", f"POST {C}/nuggets/{{version}}/publish")
    },
    f"GET {C}/nuggets/{{version}}": DRAFT,
    f"GET {C}/qrels/{{version}}/impact": ORGANISER[2],
    **_all(DRAFT, f"GET {C}", "/qrels/{version}", "/scores", "/sweep", "/leaderboard", "/compare", "/judged-shares"),
    **_all(DRAFT, f"GET {C}", "/topics/{topic}/rankings", "/runs/{run}/profile", "/runs/{run}/identify"),
    **_all(JOB_OVER_DRAFT, f"GET {J}", *OF_WORK, "/pairs"),
    **dict.fromkeys((f"POST {C}/jobs", f"DELETE {J}", f"POST {J}/verify"), JOB_OVER_DRAFT.replace("200", "202")),
}
"""One row for each operation that can name a draft of the qrels, or a job over a draft, in a public collection."""
UNRELEASED = {title: row for title, row in UNPUBLISHED.items() if "/nuggets/" not in title} | {
    f"GET {C}/qrels": DRAFT,
    **{each: TABLE[each][2] for each in (f"PUT {C}/qrels", f"PATCH {C}/judgments/{{judgments}}")},
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

    def new_set(self):
        """The name of a new judgment set with a published version."""
        name = f"s-{uuid4().hex}"
        self.campaign.put_qrels(qrels_text(highest=2), judgments=name)
        return name

    def own_run(self):
        answer = self.campaign.submit(self.new_run(), team="own")
        return str(answer.json()["name"])

    def new_run(self):
        return run_text({"1": ["good", uuid4().hex]}, f"r{uuid4().hex}")

    def new_draft(self):
        answer = self.campaign.put_qrels(f"{qrels_text(highest=2)}1 0 {uuid4().hex} 0\n", draft=True)
        return str(answer.json()["version"])

    def put(self, path, **sent):
        """The name of something that is put, and may be deleted."""
        self.campaign.organiser.put(f"{self.campaign.path}/{path}", **sent).raise_for_status()
        return path.partition("/")[2]

    def new_nuggets(self, *, draft=False):
        """The number of a new version of the nuggets."""
        nuggets = {"qid": "1", "nuggets": [{"text": uuid4().hex, "importance": "vital"}]}
        path = f"{self.campaign.path}/nuggets"
        sent = self.campaign.organiser.put(path, content=json.dumps(nuggets), params={"draft": draft})
        return str(sent.raise_for_status().json()["version"])

    def new_team(self):
        sent = {"name": f"t-{uuid4().hex}"}
        return str(self.campaign.organiser.post(f"{self.campaign.path}/teams", json=sent).json()["name"])

    def organisers_id(self):
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
        if not self.reported:
            self.prepare_for_jobs()
            self.reported = self.campaign.organiser.post("/v1/reports", json=self.report()).json()["id"]
            assert self.worked(f"/v1/reports/{self.reported}") == "succeeded"
        return self.reported

    def report(self, name=REPORT, **params):
        seed = {"seed": uuid4().int % 2**64}
        return {"name": name, "collections": [self.campaign.name], "params": {**params, **seed}}

    def prepare_for_jobs(self):
        self.campaign.put_qrels(qrels_text(highest=2))
        for number in range(2):
            self.campaign.submit(rotated(number))

    def new_request(self, kind="stability", **params):
        """A request for a job like no other, over a draft of the qrels where that is what is asked for."""
        draft = {"qrels": int(self.new_draft())} if self.state == "unpublished" else {}
        if self.state == "unreleased":
            draft = {"judgments": self.new_set()}
        return {"kind": kind, "params": {**params, **draft, "seed": uuid4().int % 2**64}}


def _absent(route, client, fill, sent, name):
    """Return what is seen of the answer about something absent, in the words for what there is."""
    theirs = fill[name]
    absent = "987654321" if name in ("version", "topic", "number") else theirs[::-1]
    assert absent != theirs
    return seen(route.ask(client, {**fill, name: absent}, **sent), {absent: theirs})


def _prepared(scene, route):
    """What to put for the parameters, so that the operation can succeed, and what to send."""
    of_instance = route.path.startswith("/v1/tokens")
    is_removed = route.method == "DELETE"
    matrix = partial(scene.put, "score-matrices/nuggets", content=BODIES["{matrix}"])
    make = {
        "collection": lambda: scene.campaign.name,
        "version": scene.new_draft if is_removed or scene.state == "unpublished" else lambda: "1",
        "judgments": scene.new_set,
        "judge": (lambda: scene.put("answers/model", content=answer_of(scene.own_run())))
        if route.method != "PUT"
        else lambda: "model",
        "run": scene.own_run,
        "token": scene.organisers_id if of_instance else lambda: scene.campaign.new_token()["id"],
        "team": scene.new_team if is_removed else lambda: "own",
        "group": lambda: scene.put("topic-groups/half", json=["1"]),
        "matrix": matrix if route.method != "PUT" else lambda: f"m{uuid4().hex}",
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
        f"PUT {C}/qrels": lambda: f"1 0 good 1\n1 0 {uuid4().hex} 0\n",
        f"PUT {C}/nuggets": lambda: json.dumps({"qid": "1", "nuggets": [{"text": uuid4().hex, "importance": "okay"}]}),
        f"PUT {C}/answers/{{judge}}": lambda: answer_of(scene.own_run()),
        f"POST {C}/runs": scene.new_run,
        "POST /v1/tokens": lambda: {"holder": "R. Mokoena"},
        f"POST {C}/teams": lambda: {"name": f"t-{uuid4().hex}"},
        f"POST {C}/jobs": lambda: scene.new_request(**SHORT),
        "POST /v1/reports": scene.report,
    }
    if route.title in (f"POST {C}/jobs", "POST /v1/reports"):
        scene.prepare_for_jobs()
    if "/nuggets/" in route.path:
        make["version"] = partial(scene.new_nuggets, draft=is_removed or scene.state == "unpublished")
    fill = {name: make[name]() for name in route.parameters}
    query = {"team": "own"} if route.title == f"POST {C}/runs" else {}
    if route.title == f"GET {C}/compare":
        query = {"run": [scene.own_run(), scene.own_run()]}
    if route.title == f"GET {C}/runs/{{run}}/identify":
        query = {"number": "0.5"}
    if scene.state == "unpublished" and "qrels" in route.queries:
        query["qrels"] = scene.new_draft()
    if scene.state == "unreleased" and "judgments" in route.queries:
        query["judgments"] = scene.new_set()
        if is_removed:
            scene.campaign.put_qrels(f"1 0 {uuid4().hex} 1\n", draft=True, judgments=query["judgments"])
            fill["version"] = "2"
    return fill, {"query": query, "body": bodies.get(route.title, lambda: None)()}


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
    pages = {each for module in (rendering, *PAGES) for each in operations(module.router.routes)}
    assert every - (pages - described) == described | {("GET", "/openapi.json")}


def test_methods_that_are_not_described_are_not_allowed(still):
    campaign = judged(still)
    fill = {name: "1" for route in every_route() for name in route.parameters} | {"collection": campaign.name}
    allowed = defaultdict(set)
    for route in every_route():
        allowed[route.filled(fill)].add(route.method)
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


OF_ORGANISERS = {"unpublished": UNPUBLISHED, "unreleased": UNRELEASED}


@pytest.mark.parametrize(
    ("state", "route"),
    [
        pytest.param(state, route, id=f"{state}-{route.title}")
        for state, rows in OF_ORGANISERS.items()
        for route in every_route()
        if route.title in rows
    ],
)
def test_what_is_not_published_or_released_is_for_organisers_alone(scene_of, state, route):
    assert " ".join(_statuses(scene_of(state), route)) == OF_ORGANISERS[state][route.title]


def _statuses(scene, route):
    """Yield the status for each kind of token. What is not theirs must look like what is absent, and HEAD like GET."""
    prepared = None
    for who, client in scene.clients.items():
        fill, sent = prepared = prepared or _prepared(scene, route)
        answer = route.ask(client, fill, **sent)
        status = answer.status_code
        yield str(status)
        if route.method == "GET" and scene.state == "hidden" and who in ("anonymous", "own", "admin"):
            head = client.head(route.filled(fill), params=sent["query"])
            assert (head.status_code, head.content) == (status, b""), who
        # Members know that the collection exists, and everybody does of a public one. While it is hidden, a 403 does
        # not tell members what is in it either.
        if status == 404 or (status == 403 and scene.state == "hidden"):
            is_secret = who == "foreign" and scene.state in ("hidden", "released")
            for name in route.parameters if is_secret else {*route.parameters} - {"collection"}:
                assert seen(answer) == _absent(route, client, fill, sent, name), f"{who}: {name}"
            if theirs := sent["query"].get("judgments"):
                absent = theirs[::-1]
                other = route.ask(client, fill, **{**sent, "query": {**sent["query"], "judgments": absent}})
                assert seen(answer) == seen(other, {absent: theirs}), f"{who}: judgments"
        if answer.is_success and route.method != "GET":
            prepared = None
            if status == 202 and route.method == "POST":
                scene.service.organiser.delete(answer.headers["location"])
            if route.title == f"DELETE {C}":
                scene.renew()


def test_a_deleted_collection_looks_like_one_that_never_was(still):
    scene = Scene(still, "public")
    scene.campaign.organiser.delete(scene.campaign.path).raise_for_status()
    fill = {name: "1" for route in every_route() for name in route.parameters} | {"collection": scene.campaign.name}
    for route in (each for each in every_route() if "collection" in each.parameters):
        for who in ("anonymous", "reader", "organiser", "foreign", "admin"):
            client = scene.clients[who]
            sent = {"query": {"number": "0.5"}} if route.path.endswith("/identify") else {}
            answer = route.ask(client, fill, **sent)
            assert answer.status_code in (401, 404), f"{who}: {route.title}"
            assert seen(answer) == _absent(route, client, fill, sent, "collection"), f"{who}: {route.title}"


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
