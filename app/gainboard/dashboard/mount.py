"""The API's own functions at addresses of pages, for the visitor of a session in place of the sender of a token.

`/v1` never reads a cookie, so no other site can use the API by a visitor's cookie. What pages load and upload has
addresses of pages for that reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from inspect import isfunction, signature
from typing import Annotated, Any, Literal, get_args

from fastapi import Depends
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute

from gainboard.api import imports, jobs, qrels, rankings, reports, runs, scores, topic_groups
from gainboard.api.dependencies import PrincipalDep, SenderDep
from gainboard.api.queries import asked_by
from gainboard.dashboard import archives
from gainboard.dashboard.rendering import pages
from gainboard.dashboard.sessions import VisitorDep, uploader
from gainboard.evaluation.access.principals import Principal, Sender
from gainboard.notation.queries import Said, ScoresQuery, TopicRankingsQuery

MODULES = (archives, imports, jobs, qrels, rankings, reports, runs, scores, topic_groups)
ROUTERS = (qrels.surveys, *(module.router for module in MODULES))
OPERATIONS = {route.name: route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)}


class RankingsQuery(TopicRankingsQuery, total=False):
    """The query of the numbers of a topic: that of the API, and the topic, whose name may have slashes."""

    topic: Annotated[str, Said(is_required=True)]


RANKINGS = asked_by(RankingsQuery)


async def _topic(asked: Annotated[RankingsQuery, RANKINGS]) -> str:
    return asked["topic"]


async def _scores_in_form(
    form: Literal["json", "csv"], asked: Annotated[ScoresQuery, asked_by(ScoresQuery)]
) -> ScoresQuery:
    return {**asked, "format": form}


async def _json() -> dict[str, str]:
    return {"format": "json"}


async def _latex() -> dict[str, str]:
    return {"format": "latex"}


JSON, LATEX = Depends(_json), Depends(_latex)
MOUNTED: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("GET", "/c/{collection}/qrels.json", "list_qrels", {}),
    ("GET", "/c/{collection}/rankings.json", "read_topic_rankings", {"asked": RANKINGS, "topic": Depends(_topic)}),
    ("GET", "/c/{collection}/scores.{form}", "read_scores", {"asked": Depends(_scores_in_form)}),
    ("GET", "/c/{collection}/releases/{number}.tar", "read_release_archive", {}),
    ("POST", "/c/{collection}/qrels", "put_qrels", {}),
    ("POST", "/c/{collection}/runs", "submit_run", {}),
    ("POST", "/c/{collection}/topic-groups", "put_topic_groups", {}),
    ("POST", "/new/import", "import_folder", {}),
    ("POST", "/new/qrels", "survey_qrels", {}),
    ("GET", "/jobs/{job}/events", "follow_job", {}),
    ("GET", "/jobs/{job}/result.json", "read_job_result", {"asked": JSON}),
    ("GET", "/jobs/{job}/figures/{figure}.svg", "read_job_figure", {}),
    ("GET", "/jobs/{job}/tables/{table}.csv", "read_job_table_as_csv", {}),
    ("GET", "/jobs/{job}/tables/{table}.tex", "read_job_table_as_latex", {}),
    ("GET", "/reports/{report}/events", "follow_report", {}),
    ("GET", "/reports/{report}/result.json", "read_report_result", {"asked": JSON}),
    ("GET", "/reports/{report}/result.tex", "read_report_result", {"asked": LATEX}),
    ("GET", "/reports/{report}/figures/{figure}.svg", "read_report_figure", {}),
    ("GET", "/reports/{report}/tables/{table}.csv", "read_report_table_as_csv", {}),
    ("GET", "/reports/{report}/tables/{table}.tex", "read_report_table_as_latex", {}),
)
"""Method and address, the API's operation, and values of its parameters, or what reads them in place of the API's."""


async def _principal(visitor: VisitorDep) -> Principal:
    return visitor.principal


async def _sender(visitor: VisitorDep) -> Sender:
    return visitor.sender


OF_VISITOR = {get_args(PrincipalDep)[1].dependency: _principal, get_args(SenderDep)[1].dependency: _sender}


@cache  # one object for each dependency, because FastAPI calls the same object once in a request
def by_session(function: Callable[..., Any], **given: Any) -> Callable[..., Any]:
    """Return a function of the API, or one of its dependencies, that asks for the visitor and not for a token.

    It is the same function under another signature, by which FastAPI goes. The functions that it depends on change in
    the same way, so none is forgotten. Parameters with a value are no part of the signature.
    """
    if function in OF_VISITOR or not isfunction(function):
        return OF_VISITOR.get(function, function)

    def change(part: Any) -> Any:
        is_dependency = isinstance(part, Dependency) and part.dependency is not None
        return replace(part, dependency=by_session(part.dependency)) if is_dependency else part

    values, parameters = {}, []
    described = signature(function, eval_str=True)
    for name, parameter in described.parameters.items():
        annotation, parts = parameter.annotation, get_args(parameter.annotation)
        if isinstance(given.get(name), Dependency):
            annotation = Annotated[parts[0], given[name]]
        elif name in given:
            values[name] = given[name]
            continue
        elif hasattr(annotation, "__metadata__"):
            annotation = Annotated[tuple(map(change, parts))]
        parameters.append(parameter.replace(annotation=annotation, default=change(parameter.default)))
    if parameters == [*described.parameters.values()]:
        return function
    twin = partial(function, **values)
    setattr(twin, "__signature__", described.replace(parameters=parameters))  # noqa: B010 (partial declares none)
    return twin


router = pages()
for method, path, operation, given in MOUNTED:
    route = OPERATIONS[operation]
    router.add_api_route(
        path,
        by_session(route.endpoint, **given),
        methods=[method],
        name=operation,
        response_class=route.response_class,
        dependencies=[Depends(uploader)] if method == "POST" else [],
    )
