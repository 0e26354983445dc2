"""JSON bodies and forms that would be dear to read, or to answer."""

import asyncio
import re
from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, Body, Request
from fastapi.routing import APIRoute

from gainboard.api.dependencies import PrincipalDep
from gainboard.api.routes import FORM_BYTES, MOST_MEMBERS, CheckedRoute, add_routes
from gainboard.api.uploads import received
from gainboard.dashboard.sessions import MOST_FIELDS
from gainboard.evaluation.workspace import Workspace
from gainboard.main import ROUTERS, create_app
from gainboard.store.database import Database
from tests.world.campaigns import refused
from tests.world.people import Person
from tests.world.servers import ADMIN

MIB = 1 << 20
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _members(count, width=1):
    return "{" + ",".join(f'"k{number}{"x" * width}":1' for number in range(count)) + "}"


BODIES = {
    "as many as may be": _members(MOST_MEMBERS - 1, 90),
    "a long name": '{"' + "x" * (MIB - 10) + '":1}',
    "a name of control characters": '{"' + "\\u0001" * (MIB // 6 - 5) + '":1}',
    "empty objects": "[" + ",".join(["{}"] * (MIB // 3 - 2)) + "]",
    "a job of numbers": '{"kind":"stability","params":{"topics":[' + ",".join(["1"] * (MIB // 2 - 60)) + "]}}",
    "many colons and few members": '{"a":"' + ":" * (MIB - 10) + '"}',
}


def _with_bodies():
    routes = (route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute))
    return [route for route in routes if route.body_field is not None]


def test_every_route_with_a_json_body_bounds_it():
    assert len(_with_bodies()) >= 9
    assert [route.path for route in _with_bodies() if not isinstance(route, CheckedRoute)] == []


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_refusal_is_short_whatever_was_sent(campaign, body):
    for route in _with_bodies():
        path = re.sub("{\\w+}", "official", route.path_format.replace("{collection}", campaign.name))
        for method in route.methods:
            answer = campaign.organiser.request(method, path, content=body, headers=JSON)
            assert refused(answer)[0] in (413, 422), path
            assert len(answer.content) <= 1 << 16, path
            assert len(answer.json().get("errors", ())) <= 100, path


def test_a_new_route_for_files_takes_large_ones_and_one_for_json_does_not():
    router = APIRouter(route_class=CheckedRoute)

    @router.put("/anywhere/file")
    async def put_file(request: Request, principal: PrincipalDep) -> int:
        async with received(request, 4 * MIB) as sent:
            return sent.body.size

    @router.put("/anywhere/json")
    async def put_json(values: Annotated[list[int], Body()]) -> int:
        return len(values)

    application = create_app(Workspace(Database("sqlite://")))
    add_routes(application, router)

    async def put(path, content):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://localhost") as client:
            return await client.put(path, content=content)

    assert asyncio.run(put("/anywhere/file", bytes(3 * MIB))).json() == 3 * MIB
    assert refused(asyncio.run(put("/anywhere/file", bytes(5 * MIB)))) == (413, "too-large")
    assert refused(asyncio.run(put("/anywhere/json", b"[" + b"1," * MIB + b"1]"))) == (413, "too-large")


def test_too_many_members_are_refused_before_they_are_looked_at(campaign):
    answer = campaign.organiser.post("/v1/collections", content=_members(MOST_MEMBERS), headers=JSON)
    assert refused(answer) == (413, "too-large")
    assert "10,000 members" in answer.json()["detail"]
    shown = campaign.organiser.post("/v1/collections", content=_members(MOST_MEMBERS - 1), headers=JSON).json()
    assert (len(shown["errors"]), shown["errors_total"]) == (100, MOST_MEMBERS)  # the name is missing


@pytest.mark.parametrize("path", ["/signin", "/signout"])
@pytest.mark.parametrize("body", [b"a=&" * (FORM_BYTES // 3 + 1), b"&" * MOST_FIELDS, b"a=%41&" * MOST_FIELDS])
def test_a_form_has_bounds(shared, path, body):
    headers = {**FORM, "Origin": shared.url, "Accept": "application/json"}
    assert refused(shared.anonymous.post(path, content=body, headers=headers)) == (413, "too-large")
    assert refused(shared.anonymous.post(path, content=iter([body]), headers=headers)) == (413, "too-large")
    within = b"a=&" * (MOST_FIELDS - 1)
    assert shared.anonymous.post(path, content=within, headers=headers).status_code != 413


def test_a_field_that_nests_without_end_is_refused(campaign, shared):
    person = Person(shared, ADMIN)
    answer = person.post(f"/c/{campaign.name}/settings", csrf=person.csrf, metrics="[" * 20_000)
    assert answer.status_code == 422, answer.text[:500]
