"""The API's own functions at addresses of pages, for the visitor of a session in place of the sender of a token.

`/v1` never reads a cookie, so no other site can use the API by a visitor's cookie. What pages load and upload has
addresses of pages for that reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from inspect import Parameter, isfunction, signature
from typing import Annotated, Any, get_args

from fastapi import Depends
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute

from gainboard.api import jobs, qrels, reports, runs, topic_groups
from gainboard.api.dependencies import PrincipalDep, SenderDep
from gainboard.dashboard.rendering import pages
from gainboard.dashboard.sessions import VisitorDep, uploader
from gainboard.evaluation.access.principals import Principal, Sender

OPERATIONS = {
    route.name: route
    for router in (jobs.router, qrels.router, qrels.surveys, reports.router, runs.router, topic_groups.router)
    for route in router.routes
    if isinstance(route, APIRoute)
}
MOUNTED: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("GET", "/c/{collection}/qrels.json", "list_qrels", {}),
    ("POST", "/c/{collection}/qrels", "put_qrels", {}),
    ("POST", "/c/{collection}/runs", "submit_run", {"idempotency_key": None}),
    ("POST", "/c/{collection}/topic-groups", "put_topic_groups", {}),
    ("POST", "/new/qrels", "survey_qrels", {}),
    ("GET", "/jobs/{job}/events", "follow_job", {}),
    ("GET", "/jobs/{job}/result.json", "read_job_result", {"format": "json", "table": None}),
    ("GET", "/jobs/{job}/tables/{table}.csv", "read_job_table_as_csv", {}),
    ("GET", "/reports/{report}/events", "follow_report", {}),
    ("GET", "/reports/{report}/result.json", "read_report_result", {"format": "json"}),
    ("GET", "/reports/{report}/tables/{table}.csv", "read_report_table_as_csv", {}),
)
"""Method and address, the API's operation, and the values of its parameters that no request can change."""


async def _principal(visitor: VisitorDep) -> Principal:
    return visitor.principal


async def _sender(visitor: VisitorDep) -> Sender:
    return visitor.sender


OF_VISITOR = {get_args(PrincipalDep)[1].dependency: _principal, get_args(SenderDep)[1].dependency: _sender}


@cache  # one object for each dependency, because FastAPI calls the same object once in a request
def by_session(function: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """Return a function of the API, or one of its dependencies, that asks for the visitor and not for a token.

    It is the same function under another signature, by which FastAPI goes. The functions that it depends on change in
    the same way, so none is forgotten. Parameters that are `fixed` are no part of the signature.
    """
    if function in OF_VISITOR or not isfunction(function):
        return OF_VISITOR.get(function, function)
    described = signature(function, eval_str=True)
    parameters = [_by_session(each) for each in described.parameters.values() if each.name not in fixed]
    if parameters == [*described.parameters.values()]:
        return function
    twin = partial(function, **fixed)
    setattr(twin, "__signature__", described.replace(parameters=parameters))  # noqa: B010 (partial declares none)
    return twin


def _by_session(parameter: Parameter) -> Parameter:
    def changed(part: Any) -> Any:
        is_dependency = isinstance(part, Dependency) and part.dependency is not None
        return replace(part, dependency=by_session(part.dependency)) if is_dependency else part

    annotation, parts = parameter.annotation, get_args(parameter.annotation)
    if hasattr(annotation, "__metadata__"):
        annotation = Annotated[tuple(map(changed, parts))]
    return parameter.replace(annotation=annotation, default=changed(parameter.default))


router = pages()
for method, path, operation, fixed in MOUNTED:
    route = OPERATIONS[operation]
    router.add_api_route(
        path,
        by_session(route.endpoint, **fixed),
        methods=[method],
        name=operation,
        response_class=route.response_class,
        dependencies=[Depends(uploader)] if method == "POST" else [],
    )
