"""Who may what: every route, for every kind of token, in every state of a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import httpx
import pytest

from tests.api.campaign import Campaign, judged, run_text
from tests.conftest import Service

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
    "200 200 200 200 200 200 200 200",
)
SEEN = ("401 401 200 200 200 200 404 200", *JUDGMENTS[1:])
C = "/v1/collections/{collection}"


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
    f"POST {C}/runs": (
        "401 401 403 201 404 201 404 201",
        "401 401 403 201 404 201 404 201",
        "401 401 403 201 404 201 403 201",
    ),
    f"GET {C}/runs": SEEN,
    f"GET {C}/runs/{{run}}": ("401 401 404 200 404 200 404 200", *JUDGMENTS[1:]),
    f"DELETE {C}/runs/{{run}}": (
        "401 401 404 204 404 204 404 204",
        "401 401 403 204 403 204 404 204",
        "401 401 403 204 403 204 403 204",
    ),
    f"GET {C}/pool": ORGANISER_200,
    f"GET {C}/scores": JUDGMENTS,
    f"GET {C}/leaderboard": JUDGMENTS,
    f"POST {C}/tokens": _returning("201", ORGANISER_200),
    f"GET {C}/tokens": ORGANISER_200,
    f"DELETE {C}/tokens/{{token}}": _returning("204", ORGANISER_200),
}


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
        if self.state != "hidden":
            self.campaign.release(public=self.state == "public")

    def own_run(self) -> str:
        """The name of a new run of the participant `own`."""
        answer = self.campaign.submit(self.new_run(), self.clients["own"])
        return str(answer.json()["name"])

    def new_run(self) -> str:
        """A run file like no other."""
        return run_text({"1": ["good", uuid4().hex]}, f"r{uuid4().hex}")

    def token_id(self) -> str:
        """The id of a new token."""
        answer = self.campaign.organiser.post(f"{self.campaign.path}/tokens", json={"role": "reader"})
        return str(answer.json()["id"])


def _ask(scene: Scene, who: str, route: str) -> int:
    method, path = route.split(" ")
    fill: dict[str, Callable[[], str]] = {
        "{collection}": lambda: scene.campaign.name,
        "{version}": lambda: "1",
        "{run}": scene.own_run,
        "{token}": scene.token_id,
        "{slug}": lambda: "not-found",
    }
    for part, value in fill.items():
        if part in path:
            path = path.replace(part, value())
    json = {
        f"PATCH {C}": {"title": "new"},
        "POST /v1/collections": {"name": f"n-{uuid4().hex}", "levels": 1},
        f"POST {C}/tokens": {"role": "reader"},
    }.get(route)
    files = {f"PUT {C}/qrels": f"1 0 good 1\n1 0 {uuid4().hex} 0\n", f"POST {C}/runs": scene.new_run()}
    query = {"team": "own"} if route == f"POST {C}/runs" else None
    return scene.clients[who].request(method, path, json=json, content=files.get(route), params=query).status_code


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
    for path in ("", "/scores", "/runs", "/runs/tag", "/qrels", "/qrels/1", "/leaderboard", "/pool", "/tokens"):
        if scene.state == "public":
            continue
        theirs = foreign.get(f"/v1/collections/{name}{path}")
        absent = foreign.get(f"/v1/collections/{name[::-1]}{path}")
        assert theirs.status_code == 404
        assert theirs.text == absent.text.replace(name[::-1], name)
        assert {**theirs.headers, "x-request-id": "", "date": ""} == {**absent.headers, "x-request-id": "", "date": ""}


def test_the_run_of_another_team_and_an_absent_run_get_the_same_answer(shared: Service) -> None:
    scene = Scene(shared, "hidden")
    name = scene.own_run()
    theirs = scene.campaign.get(f"/runs/{name}", scene.clients["other"])
    absent = scene.campaign.get(f"/runs/{name[::-1]}", scene.clients["other"])
    assert theirs.status_code == 404
    assert theirs.text == absent.text.replace(name[::-1], name)
