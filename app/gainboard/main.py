"""The application: the only module that sees every ring."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware

from gainboard import __version__, acceleration, logs
from gainboard.acceleration import serving
from gainboard.api import (
    audit,
    collections,
    compare,
    impact,
    jobs,
    leaderboard,
    middleware,
    nuggets,
    problems,
    qrels,
    rankings,
    releases,
    reports,
    runs,
    score_matrices,
    scores,
    service,
    teams,
    telemetry,
    tokens,
    topic_groups,
)
from gainboard.api.idempotency import Unstored
from gainboard.api.models.common import build_all
from gainboard.api.response_cache import ResponseCache
from gainboard.api.routes import add_routes
from gainboard.api.telemetry import IS_INSTALLED, AccessLog, Telemetry
from gainboard.api.uploads import Readers
from gainboard.dashboard import archives
from gainboard.dashboard import installing as dashboard
from gainboard.errors import BadSetting
from gainboard.evaluation.access.organisers import ensure_organiser
from gainboard.evaluation.runs.pruning import Pruner
from gainboard.evaluation.workspace import MOST_WAITING, DearRequests, Workspace
from gainboard.jobs.engine import Engine
from gainboard.jobs.job_events import Watch
from gainboard.settings import Settings
from gainboard.store import machine
from gainboard.store.database import Database
from gainboard.store.schema import migrate
from gainboard.store.snapshots import Standings

POLLED = (leaderboard.router, scores.router, service.probes)
"""The routes that dashboards and machines poll. A request is compared with one after another, so these come first."""
ROUTERS = (
    service.router,
    telemetry.router,
    collections.router,
    qrels.router,
    impact.router,
    qrels.sets,
    runs.router,
    score_matrices.router,
    nuggets.router,
    scores.grids,
    compare.router,
    rankings.router,
    releases.news,
    jobs.router,
    reports.router,
    teams.router,
    topic_groups.router,
    tokens.router,
    audit.router,
    releases.router,
    archives.router,
    releases.imports,
    problems.router,
    qrels.surveys,
)
EXPOSED = ("ETag", "Link", "Location", "Retry-After", "WWW-Authenticate", "X-Request-ID")
"""The headers that scripts of the origins in GAINBOARD_CORS_ORIGINS may read."""
DESCRIPTION = """
Stores relevance judgments (qrels) and system outputs (runs), and scores runs under adjustable gain settings,
Q-measure's beta and nDCG's log base. Every error is `application/problem+json`; its `type` leads to a page.
There is one exception: a request that is no HTTP, or whose address has more than 64 KiB, gets 400 with plain text.
"""


def open_workspace(settings: Settings) -> tuple[Workspace, str | None]:
    """Return the workspace over a migrated database, and the organiser's token if this call created the first one."""
    database = open_database(settings)
    try:
        migrate(database)
        workspace = Workspace(database, settings.limits, settings.scoring_memory)
        admin = settings.admin_token.get_secret_value() if settings.admin_token else None
        return workspace, ensure_organiser(workspace, admin)
    except BaseException:
        database.close()
        raise


def open_database(settings: Settings) -> Database:
    """Return the database of these settings."""
    if settings.database_url is None:
        make_folder(settings)
    return Database(settings.url, objects=settings.objects)


def make_folder(settings: Settings) -> None:
    """Create the data folder if it is missing, readable by its owner only. Raise BadSetting if that fails."""
    try:
        machine.make_private_folder(settings.data)
    except OSError as error:
        why = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise BadSetting(
            f"Cannot keep data in {settings.data}: {why}. Set GAINBOARD_DATA to a folder that Gainboard may write to."
        ) from error


def start_compiled(settings: Settings) -> None:
    """Load the fast extra in the background, unless it is switched off."""
    if settings.fast == "on":
        serving.start(settings.compiled)


def warm_compiled(settings: Settings) -> None:
    """Load the fast extra now, compiled into the data folder if one is given. Raise BadSetting if that fails."""
    folder = settings.compiled if "data" in settings.model_fields_set else None
    if folder is not None:
        make_folder(settings)
        os.umask(machine.UMASK)
    try:
        acceleration.warm(folder)
    except Exception as error:  # the compiler is not ours and may raise anything
        raise BadSetting(
            f"Cannot compile, so plain code is used: {error}. Gainboard works without it, but more slowly."
        ) from error


def announce(token: str | None) -> None:
    """Show the organiser's token of a first start, on standard error and nowhere else."""
    if token is not None:
        print(
            "There was no organiser yet. This is the token of the first one. Keep it: it is shown only this "
            f"once.\n  {token}\n(To choose the token yourself, set GAINBOARD_ADMIN_TOKEN.)",
            file=sys.stderr,
            flush=True,
        )


def create_app(workspace: Workspace, settings: Settings | None = None) -> FastAPI:
    """Return the application over a workspace, which it closes when it ends."""
    settings = settings or Settings.read({})
    measured = Telemetry() if IS_INSTALLED else None
    watch, pruner = Watch(workspace), Pruner(workspace)
    engine = Engine(workspace, settings.slots, measured.work if measured else None, watch.wake)
    standings = Standings(workspace.database)
    access = AccessLog() if settings.access_log == "on" else None

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        build_all()
        serving.share_heaps()
        # Requests that wait for their turn hold threads, and others must not miss these.
        current_default_thread_limiter().total_tokens += MOST_WAITING
        engine.start()
        pruner.start()
        if access:
            access.start()
        yield
        await watch.ended()
        # Before this process leaves the register, which releases the keys of requests without an end.
        Unstored.of(workspace).close()
        engine.stop()
        pruner.stop()
        standings.close()
        workspace.database.close()
        if access:
            access.stop()

    application = FastAPI(
        title="Gainboard",
        version=__version__,
        summary="Evaluation of information retrieval with graded relevance",
        description=DESCRIPTION,
        lifespan=lifespan,
        license_info={"name": "MIT", "identifier": "MIT"},
        telemetry={"auto_configure": True, "logs": False, "operation_spans": False, "exclude": telemetry.is_probe},
        openapi_url=None,  # `service` has it: made for the first request, and in a thread
        docs_url=None,  # the dashboard has this page, without another origin
        redoc_url=None,
        redirect_slashes=False,
    )
    application.state.workspace = workspace
    application.state.public_url = settings.public_url
    application.state.engine = engine
    application.state.watch = watch
    application.state.readers = Readers(settings.most_readers)
    application.state.turns = DearRequests()
    application.state.one_parser = CapacityLimiter(1)
    application.state.telemetry = measured
    application.state.telemetry_is_public = settings.metrics == "public"
    problems.install(application)
    add_routes(application, *POLLED)
    dashboard.install(application)
    add_routes(application, service.doors, *ROUTERS)
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    _surround(application, standings, access, origins, is_shared=settings.public_cors == "on")
    return application


class NamedOrigins(CORSMiddleware):
    """A middleware for the origins that the operator names. What everybody may read stays open to every origin."""

    @staticmethod
    def allow_explicit_origin(headers: MutableHeaders, origin: str) -> None:
        """Name the origin, unless the answer is for any."""
        if headers.get("access-control-allow-origin") != "*":
            CORSMiddleware.allow_explicit_origin(headers, origin)


def _surround(
    application: FastAPI, standings: Standings, access: AccessLog | None, origins: list[str], *, is_shared: bool
) -> None:
    """Add the middleware; the last one added is the outermost."""
    application.add_middleware(middleware.Conditional)
    application.add_middleware(middleware.InTurn, turns=application.state.turns)
    application.add_middleware(middleware.Attentive)
    measured = application.state.telemetry
    application.add_middleware(
        ResponseCache, workspace=application.state.workspace, standings=standings, telemetry=measured
    )
    application.add_middleware(middleware.BoundedAddress)
    application.add_middleware(middleware.OneHost)
    application.add_middleware(middleware.Observed, access=access, telemetry=measured, is_shared=is_shared)
    if origins:
        # This is the outermost, so that scripts of other origins can read our own 500, too.
        application.add_middleware(
            NamedOrigins, allow_origins=origins, allow_methods=["*"], allow_headers=["*"], expose_headers=EXPOSED
        )


def create_app_from_environment() -> FastAPI:
    """Return the application for servers that take a factory: `uvicorn --factory`."""
    os.umask(machine.UMASK)
    settings = Settings.read(os.environ)
    logs.configure()
    workspace, token = open_workspace(settings)
    announce(token)
    start_compiled(settings)
    application = create_app(workspace, settings)
    gc.freeze()  # what was made until now lives as long as the process: no collection needs to look at it
    return application
