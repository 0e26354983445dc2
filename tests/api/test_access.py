"""Who may what: every route, for every kind of token, in every state of a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.api.campaign import Campaign, judged, run_text
from tests.api.laboratory import LONG, REPORT, SHORT, qrels_text, rotated
from tests.conftest import Service
from tests.waiting import over

pytestmark = pytest.mark.outer

WHO = ("anonymous", "bad", "reader", "own", "other", "organiser", "foreign", "admin")
STATES = ("hidden", "released", "public")
OPEN = ("200 200 200 200 200 200 200 200",) * 3
TOKEN = ("401 401 200 200 200 200 200 200",) * 3
ORGANISER_200 = (
    "401 401 403 403 403 200 404 200",
    "401 401 403 403 403 200 404 200",
    "401 401 403 403 403 200 403 200",
)
JUDGMENTS = (
    "401 401 403 403 403 200 404 200",
    "401 401 200 200 200 200 404 200",
    "200 401 200 200 200 200 200 200",
)
JOB = (
    "401 401 404 404 404 200 404 200",
    "401 401 200 200 200 200 404 200",
    "200 401 200 200 200 200 200 200",
)
INSTANCE = ("401 401 403 403 403 403 403 200",) * 3
SEEN = ("401 401 200 200 200 200 404 200", *JUDGMENTS[1:])
C = "/v1/collections/{collection}"
J = "/v1/jobs/{job}"
R = "/v1/reports/{report}"


def _returning(status: str, table: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row.replace("200", status) for row in table)


TABLE: dict[str, tuple[str, ...]] = {
    "GET /": OPEN,
    "GET /healthz": OPEN,
    "GET /readyz": OPEN,
    "GET /metrics": ("401 401 403 403 403 200 200 200",) * 3,
    "GET /problems/{slug}": OPEN,
    "GET /v1/metrics": OPEN,
    "GET /v1/me": TOKEN,
    "GET /v1/me/limits": TOKEN,
    "GET /v1/collections": TOKEN,
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
    f"POST {C}/runs": (
        "401 401 403 201 404 201 404 201",
        "401 401 403 403 404 201 404 201",
        "401 401 403 403 404 201 403 201",
    ),
    f"GET {C}/runs": SEEN,
    f"GET {C}/runs/{{run}}": ("401 401 404 200 404 200 404 200", *JUDGMENTS[1:]),
    f"DELETE {C}/runs/{{run}}": (
        "401 401 404 204 404 204 404 204",
        "401 401 403 403 403 204 404 204",
        "401 401 403 403 403 204 403 204",
    ),
    f"GET {C}/pool": ORGANISER_200,
    f"GET {C}/scores": JUDGMENTS,
    f"GET {C}/sweep": JUDGMENTS,
    f"GET {C}/leaderboard": JUDGMENTS,
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
    f"GET {R}/tables/{{table}}.csv": JOB,
    f"GET {R}/tables/{{table}}.tex": JOB,
    f"GET {R}/figures/{{figure}}.svg": JOB,
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
    f"GET {C}/audit": ORGANISER_200,
    "GET /v1/audit": INSTANCE,
}
SHOWN_BY_JOB = {"{table}": lambda: "sensitivity", "{figure}": lambda: "asl-curves"}
SHOWN_BY_REPORT = {"{table}": lambda: "tables-3-6a.COLLECTION", "{figure}": lambda: "figures-4-7.COLLECTION"}


class Scene:
    """A collection in one state, and a client of every kind."""

    def __init__(self, service: Service, state: str) -> None:
        self.service, self.state = service, state
        self.elsewhere = Campaign(service)
        self.renew()

    def renew(self) -> None:
        """A collection that nobody has changed yet."""
        self.campaign = judged(self.service)
        participant = self.campaign.client
        self.clients: dict[str, httpx.Client] = {
            "anonymous": self.service.anonymous,
            "bad": self.service.client("gainboard_unknown"),
            "reader": participant("reader"),
            "own": participant("participant", "own"),
            "other": participant("participant", "other"),
            "organiser": participant("organiser"),
            "foreign": self.elsewhere.client("organiser"),
            "admin": self.service.organiser,
        }
        self.finished = self.reported = ""
        if self.state != "hidden":
            self.campaign.release(public=self.state == "public")

    def own_run(self) -> str:
        """The name of a new run of the participant `own`."""
        answer = self.campaign.submit(self.new_run(), team="own")
        return str(answer.json()["name"])

    def new_run(self) -> str:
        """A run file like no other."""
        return run_text({"1": ["good", uuid4().hex]}, f"r{uuid4().hex}")

    def token_id(self) -> str:
        """The id of a new token."""
        answer = self.campaign.organiser.post(f"{self.campaign.path}/tokens", json={"role": "reader"})
        return str(answer.json()["id"])

    def new_draft(self) -> str:
        """The number of a new draft of qrels."""
        answer = self.campaign.put_qrels(f"1 0 good 1\n1 0 {uuid4().hex} 0\n", draft=True)
        return str(answer.json()["version"])

    def organisers_id(self) -> str:
        """The id of a new token of an organiser of the instance."""
        return str(self.service.organiser.post("/v1/tokens", json={}).json()["id"])

    def new_job(self) -> str:
        """The id of a new, long job, which the participant `own` has asked for where it may."""
        self.prepare_for_jobs()
        client = self.clients["organiser" if self.state == "hidden" else "own"]
        return str(client.post(f"{self.campaign.path}/jobs", json=self.request(**LONG)).json()["id"])

    def finished_job(self) -> str:
        """The id of a job that has succeeded."""
        if not self.finished:
            self.prepare_for_jobs()
            sent = self.request("bootstrap-sensitivity", metrics=["AP"], resamples=20)
            asked = self.campaign.organiser.post(f"{self.campaign.path}/jobs", json=sent).json()["id"]
            job = over(self.campaign.organiser, f"/v1/jobs/{asked}")
            assert job["state"] == "succeeded"
            self.finished = asked
        return self.finished

    def new_report(self) -> str:
        """The id of a new report that takes long, which the participant `own` has asked for where it may."""
        self.prepare_for_jobs()
        client = self.clients["organiser" if self.state == "hidden" else "own"]
        sent = self.report("controlling-late-arrival-penalty", resamples=100_000)
        return str(client.post("/v1/reports", json=sent).json()["id"])

    def finished_report(self) -> str:
        """The id of a report that has succeeded."""
        if not self.reported:
            self.prepare_for_jobs()
            self.reported = self.campaign.organiser.post("/v1/reports", json=self.report()).json()["id"]
            report = over(self.campaign.organiser, f"/v1/reports/{self.reported}")
            assert report["state"] == "succeeded"
        return self.reported

    def report(self, name: str = REPORT, **params: Any) -> dict[str, Any]:
        """A request for a report like no other."""
        seed = {"seed": uuid4().int % 2**64}
        return {"name": name, "collections": [self.campaign.name], "params": {**params, **seed}}

    def prepare_for_jobs(self) -> None:
        """Runs that can be compared."""
        self.campaign.put_qrels(qrels_text(highest=2))
        for number in range(2):
            self.campaign.submit(rotated(number))

    def request(self, kind: str = "stability", **params: Any) -> dict[str, Any]:
        """A request for a job like no other."""
        return {"kind": kind, "params": {**params, "seed": uuid4().int % 2**64}}


def _ask(scene: Scene, who: str, route: str) -> int:
    method, path = route.split(" ")
    fill: dict[str, Callable[[], str]] = {
        "{collection}": lambda: scene.campaign.name,
        "{version}": scene.new_draft if method == "DELETE" else lambda: "1",
        "{run}": scene.own_run,
        "{token}": scene.organisers_id if path.startswith("/v1/tokens") else scene.token_id,
        "{team}": lambda: "own",
        "{slug}": lambda: "not-found",
        "{job}": scene.new_job if method == "DELETE" else scene.finished_job,
        "{report}": scene.new_report if method == "DELETE" else scene.finished_report,
        **(SHOWN_BY_REPORT if "{report}" in path else SHOWN_BY_JOB),
    }
    for part, value in fill.items():
        if part in path:
            path = path.replace(part, value())
    path = path.replace("COLLECTION", scene.campaign.name)
    json = {
        f"PATCH {C}": {"title": "new"},
        "POST /v1/collections": {"name": f"n-{uuid4().hex}", "levels": 1},
        f"POST {C}/tokens": {"role": "reader"},
        "POST /v1/tokens": {"holder": "R. Mokoena"},
        f"POST {C}/teams": {"name": f"t-{uuid4().hex}"},
        f"POST {C}/jobs": scene.request(**SHORT),
        "POST /v1/reports": scene.report(),
    }.get(route)
    if route in (f"POST {C}/jobs", "POST /v1/reports"):
        scene.prepare_for_jobs()
    files = {f"PUT {C}/qrels": f"1 0 good 1\n1 0 {uuid4().hex} 0\n", f"POST {C}/runs": scene.new_run()}
    query = {"team": "own"} if route == f"POST {C}/runs" else None
    answer = scene.clients[who].request(method, path, json=json, content=files.get(route), params=query)
    if route in (f"DELETE {J}", f"DELETE {R}"):
        scene.service.organiser.delete(path)
    return answer.status_code


@pytest.fixture(scope="module", params=STATES)
def scene(request: pytest.FixtureRequest, shared: Service) -> Scene:
    return Scene(shared, request.param)


def _documented(service: Service) -> Iterator[str]:
    for path, methods in service.anonymous.get("/openapi.json").json()["paths"].items():
        for method in methods:
            yield f"{method.upper()} {path}"


def test_every_route_is_in_the_table(shared: Service) -> None:
    assert sorted(_documented(shared)) == sorted(TABLE)


@pytest.mark.parametrize("route", TABLE)
def test_each_kind_of_token_may_do_what_the_table_says(scene: Scene, route: str) -> None:
    found = []
    for who in WHO:
        found.append(str(_ask(scene, who, route)))
        if route == f"DELETE {C}":
            scene.renew()
    assert dict(zip(WHO, found, strict=True)) == dict(
        zip(WHO, TABLE[route][STATES.index(scene.state)].split(), strict=True)
    )


def test_what_is_absent_and_what_is_not_yours_get_the_same_answer(scene: Scene) -> None:
    foreign, name = scene.clients["foreign"], scene.campaign.name
    for path in (
        "",
        "/scores",
        "/runs",
        "/runs/tag",
        "/qrels",
        "/qrels/1",
        "/leaderboard",
        "/pool",
        "/tokens",
        "/teams",
        "/audit",
    ):
        if scene.state == "public":
            continue
        theirs = foreign.get(f"/v1/collections/{name}{path}")
        absent = foreign.get(f"/v1/collections/{name[::-1]}{path}")
        assert theirs.status_code == 404
        assert theirs.text == absent.text.replace(name[::-1], name)
        assert {**theirs.headers, "x-request-id": "", "date": ""} == {**absent.headers, "x-request-id": "", "date": ""}


def test_a_job_that_is_not_yours_to_see_and_an_absent_one_get_the_same_answer(scene: Scene) -> None:
    job, absent = scene.finished_job(), "0" * 64
    who = {"hidden": ("own", "reader", "foreign"), "released": ("foreign",), "public": ()}[scene.state]
    for client in (scene.clients[each] for each in who):
        for path in (
            "",
            "?wait=1",
            "/events",
            "/result",
            "/pairs",
            "/tables/sensitivity.csv",
            "/figures/asl-curves.svg",
        ):
            theirs, none = client.get(f"/v1/jobs/{job}{path}"), client.get(f"/v1/jobs/{absent}{path}")
            assert theirs.status_code == 404
            assert theirs.text == none.text.replace(absent, job)
            assert {**theirs.headers, "x-request-id": "", "date": ""} == {
                **none.headers,
                "x-request-id": "",
                "date": "",
            }


def test_a_report_that_is_not_yours_to_see_and_an_absent_one_get_the_same_answer(scene: Scene) -> None:
    report, absent = scene.finished_report(), "0" * 64
    who = {"hidden": ("own", "reader", "foreign"), "released": ("foreign",), "public": ()}[scene.state]
    for client in (scene.clients[each] for each in who):
        for path in ("", "?wait=1", "/events", "/result", "/tables/t.csv", "/figures/f.svg"):
            theirs, none = client.get(f"/v1/reports/{report}{path}"), client.get(f"/v1/reports/{absent}{path}")
            assert theirs.status_code == 404
            assert theirs.text == none.text.replace(absent, report)
            unlike = {"x-request-id": "", "date": ""}
            assert {**theirs.headers, **unlike} == {**none.headers, **unlike}


def test_the_list_of_jobs_has_those_whose_judgments_are_seen(scene: Scene) -> None:
    job = scene.finished_job()

    def listed(who: str, **query: str) -> bool:
        items = scene.clients[who].get("/v1/jobs", params=query).json()["items"]
        return job in [each["id"] for each in items]

    sees = scene.state != "hidden"
    assert [listed(who) for who in ("admin", "organiser", "own", "reader")] == [True, True, sees, sees]
    assert not listed("foreign")
    if scene.state == "public":
        assert all(listed(who, collection=scene.campaign.name) for who in ("anonymous", "foreign"))
    if scene.state == "hidden":
        answer = scene.clients["own"].get("/v1/jobs", params={"collection": scene.campaign.name})
        assert answer.status_code == 403


def test_the_run_of_another_team_and_an_absent_run_get_the_same_answer(shared: Service) -> None:
    scene = Scene(shared, "hidden")
    name = scene.own_run()
    theirs = scene.campaign.get(f"/runs/{name}", scene.clients["other"])
    absent = scene.campaign.get(f"/runs/{name[::-1]}", scene.clients["other"])
    assert theirs.status_code == 404
    assert theirs.text == absent.text.replace(name[::-1], name)
