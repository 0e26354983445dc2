"""The API's own functions at addresses of pages, for the visitor of a session in place of the sender of a token.

`/v1` never reads a cookie, so no other site can use the API by a visitor's cookie. What pages load and upload has
addresses of pages for that reason.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Depends
from fastapi.routing import APIRoute

from gainboard.api import jobs, qrels, rankings, releases, reports, runs, scores, topic_groups
from gainboard.api.queries import asked_by
from gainboard.dashboard import archives
from gainboard.dashboard.rendering import pages
from gainboard.dashboard.sessions import by_session, uploader
from gainboard.notation.queries import Said, ScoresQuery, TopicRankingsQuery

MODULES = (archives, jobs, qrels, rankings, reports, runs, scores, topic_groups)
ROUTERS = (qrels.surveys, releases.imports, *(module.router for module in MODULES))
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
