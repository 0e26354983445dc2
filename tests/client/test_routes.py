"""Every route of the API is one that a call of the client asks for, or is left out for a reason."""

import inspect
import re
from contextlib import suppress

import httpx
import pytest

from gainboard.api.models.jobs import JobAnswer, ReportAnswer
from gainboard.client import AsyncGainboard, Gainboard, Job, Problem, Report
from gainboard.client.connections import Both
from tests.world.servers import description

ROUTES = [f"{method.upper()} {path}" for path, methods in description()["paths"].items() for method in methods]
LEFT_OUT = {
    "GET /v1/collections/{collection}/pool": "it leads to the list of jobs, which the client asks for itself",
    "GET /": "it leads people, and programs that know no route, to the others",
    "GET /v1/collections/{collection}/feed": "it is for feed readers",
    "GET /v1/jobs/{job}/events": "`wait` asks with `?wait=`, which needs no stream to be kept open",
    "GET /v1/reports/{report}/events": "as of a job",
}


def calls(of):
    return {name for base in of.__mro__ for name, value in vars(base).items() if isinstance(value, Both)}


def given(parameter, folder):
    kinds = {
        "Source": b"1",
        "Table": b"1",
        "PathLike": folder / "file",
        "Sequence": ["1"],
        "OneOrMore": ["1"],
        "int": 1,
    }
    return next((value for kind, value in kinds.items() if kind in str(parameter.annotation)), "csv")


def use_all(of, folder):
    """Do each call of an object once, as far as its first request."""
    for name in calls(type(of)):
        call, positional, named = getattr(of, name), [], {}
        for each in inspect.signature(call).parameters.values():
            if each.kind is each.POSITIONAL_ONLY:
                positional.append(given(each, folder))
            elif each.kind is not each.VAR_KEYWORD and (each.default is each.empty or each.name == "name"):
                named[each.name] = given(each, folder)
        with suppress(Problem):
            found = call(*positional, **named)
            list(found if inspect.isgenerator(found) else ())


def test_every_route_is_reached_by_a_call_or_left_out_for_a_reason(tmp_path):
    seen = set()

    def refuse(request):
        seen.add(f"{request.method} {request.url.path}")
        return httpx.Response(404, headers={"Content-Type": "application/problem+json"}, json={})

    with Gainboard("http://127.0.0.1:8000", transport=httpx.MockTransport(refuse)) as gb:
        shown = {"id": "0", "state": "succeeded", "tables": None}
        job, report = JobAnswer.model_construct(**shown), ReportAnswer.model_construct(**shown)
        for of in (gb, Job(gb._connection, job), Report(gb._connection, report)):
            use_all(of, tmp_path)
        with suppress(Problem):
            list(gb.audit("web"))
    patterns = {each: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(each))) for each in ROUTES}
    assert {each for each, pattern in patterns.items() if not any(map(pattern.fullmatch, seen))} == LEFT_OUT.keys()


@pytest.mark.parametrize(("of", "alike"), [(Gainboard, AsyncGainboard), (Job, Report)])
def test_both_kinds_have_the_same_calls_with_a_text_and_a_signature(of, alike):
    assert calls(of) == calls(alike)
    for name in calls(of):
        now, later = getattr(of, name), getattr(alike, name)
        assert inspect.getdoc(now) == inspect.getdoc(later) is not None
        assert list(inspect.signature(now).parameters.values()) == list(inspect.signature(later).parameters.values())
