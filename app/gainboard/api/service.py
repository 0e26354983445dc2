"""`/`, `/healthz`, `/readyz`, `/v1/metrics`, `/v1/design` and `/v1/me/limits`: what the service is, has and allows."""

from __future__ import annotations

from dataclasses import asdict
from threading import Lock

from fastapi import APIRouter, Request, Response

from gainboard import acceleration
from gainboard.api.answers import NEVER, answer
from gainboard.api.dependencies import EngineDep, PrincipalDep, WorkspaceDep
from gainboard.api.models.service import (
    Catalogue,
    DesignAnswer,
    DesignRequest,
    Door,
    Health,
    MetricAnswer,
    MyLimits,
    ParameterAnswer,
    PresetAnswer,
    QuotaAnswer,
    Ready,
    Team,
    UploadLimits,
)
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute, DoorRoute
from gainboard.errors import UnsupportedMediaType
from gainboard.evaluation.access import score_budget
from gainboard.evaluation.boards.design import DesignQuestion, design_topics, pool
from gainboard.metrics import Metric, every_metric, every_preset
from gainboard.store import claims, processes

router = APIRouter(responses=documented(), route_class=CheckedRoute)
doors = APIRouter(responses=documented(), route_class=DoorRoute)
probes = APIRouter(responses=documented(), route_class=CheckedRoute, tags=["health"])
"""The routes that machines ask for all the time. They come before those of pages."""


@doors.get("/", tags=["health"])
def read_root() -> Door:
    """Return the addresses to start from."""
    return Door()


@probes.get("/healthz", response_model=Health)
async def read_health() -> Response:
    """Return that the process answers."""
    return answer(Health(), cache_control=NEVER)


@probes.get("/readyz")
def read_readiness(workspace: WorkspaceDep, engine: EngineDep, response: Response) -> Ready:
    """Return whether the database answers, and there is room on all disks; the status is 503 if not."""
    workspace.database.ping()
    workspace.database.require_room()
    response.headers["Cache-Control"] = NEVER
    with workspace.database.reading() as tx:
        living, work = processes.list_processes(tx, workspace.database.path), claims.list_work(tx)
    workers = [process for process in living if process.kind == "worker"]
    return Ready(
        jobs=engine.works,
        job_slots=engine.slots,
        servers=len(living) - len(workers),
        workers=len(workers),
        worker_slots=sum(worker.slots for worker in workers),
        worker_slots_busy=sum(len(work.get(worker.id, [])) for worker in workers),
        compiled=acceleration.loaded(),
    )


_ONE_AT_A_TIME = Lock()


@router.get("/openapi.json", include_in_schema=False)
def read_description(request: Request) -> Response:
    """Return the OpenAPI description of all routes. It is made for the first request, which waits a second or two."""
    with _ONE_AT_A_TIME:
        described = request.app.openapi()
    if root := request.scope.get("root_path", "").rstrip("/"):
        described = {**described, "servers": [{"url": root}]}
    return answer(described)


@router.get("/v1/metrics", tags=["metrics"])
def list_metrics() -> Catalogue:
    """List every metric with its names, parameters, definition and source, and every preset."""
    presets = [
        PresetAnswer(
            name=preset.name,
            title=preset.title,
            definition=preset.definition,
            reference=preset.reference,
            expressions=list(preset.expressions(3)),
        )
        for preset in every_preset()
    ]
    return Catalogue(items=[_show(metric) for metric in every_metric()], presets=presets)


def _show(metric: Metric) -> MetricAnswer:
    return MetricAnswer(
        name=metric.name,
        title=metric.title,
        aliases=list(metric.aliases),
        implied={alias: dict(values) for alias, values in metric.implied.items() if values},
        definition=metric.definition,
        reference=metric.reference,
        graded=metric.graded,
        bounded=metric.bounded,
        needs_intents=metric.needs_intents,
        takes_cutoff=metric.takes_cutoff,
        parameters=[
            ParameterAnswer(
                name=each.name,
                default=each.default,
                limits=each.limits,
                schema=dict(each.schema),
                description=each.description,
                only_in_expressions=each.only_in_expressions,
            )
            for each in metric.parameters
        ],
    )


@router.post("/v1/design", name="design_topics", tags=["metrics"], responses=documented(UnsupportedMediaType))
def design(asked: DesignRequest, principal: PrincipalDep) -> DesignAnswer:
    """Compute how many topics are enough for a wanted power or interval (holders of any token). Nothing is stored."""
    principal.require_token()
    values = asked.model_dump()
    if isinstance(asked.variance, list):
        values["variance"] = pool([(each.variance, each.degrees_of_freedom) for each in asked.variance])
    needed = design_topics(DesignQuestion(**values))
    return DesignAnswer(method=asked.method, **asdict(needed))


@router.get("/v1/me/limits", tags=["tokens"])
def read_my_limits(workspace: WorkspaceDep, principal: PrincipalDep) -> MyLimits:
    """Return what is left of quotas and budgets, and the limits on a file."""
    allowance = score_budget.allowance_of(workspace, principal)
    upload = UploadLimits.model_validate(workspace.limits)
    if allowance is None:
        return MyLimits(submissions_left=None, answers_left=None, team=None, upload=upload)
    team = Team(
        opens_at=allowance.opens_at,
        closes_at=allowance.closes_at,
        runs={name: QuotaAnswer.model_validate(quota) for name, quota in allowance.runs.items()},
        bytes=QuotaAnswer.model_validate(allowance.bytes),
        answers=QuotaAnswer.model_validate(allowance.answers),
        bits_an_answer=allowance.bits_an_answer,
        bits_left=allowance.bits_left,
    )
    return MyLimits(submissions_left=allowance.runs_left, answers_left=allowance.answers.left, team=team, upload=upload)
