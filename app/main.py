"""The application: the only module that sees every ring."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from starlette.middleware.cors import CORSMiddleware

from app import __version__
from app.api import collections, health, leaderboard, metrics, problems, qrels, runs, scores, telemetry, tokens
from app.api.dependencies import known_query
from app.api.middleware import BoundedBody, Conditional, Observed
from app.api.telemetry import IS_INSTALLED, Measured, Telemetry
from app.evaluation.principals import ensure_organiser
from app.evaluation.workspace import Workspace
from app.settings import Settings
from app.store.database import Database
from app.store.schema import migrate

ROUTERS = (health, telemetry, metrics, collections, qrels, runs, scores, leaderboard, tokens, problems)
DESCRIPTION = """
Stores relevance judgments (qrels) and system outputs (runs), and scores runs under adjustable gain settings,
Q-measure's beta and nDCG's log base. Every error is `application/problem+json`; its `type` leads to a page.
"""


def open_workspace(settings: Settings) -> tuple[Workspace, str | None]:
    """The workspace over a migrated database, and the organiser's token if this made the first one."""
    if settings.database_url is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    workspace = Workspace(Database(settings.url), settings.limits)
    migrate(workspace.database)
    admin = settings.admin_token.get_secret_value() if settings.admin_token else None
    return workspace, ensure_organiser(workspace, admin)


def create_app(workspace: Workspace, *, cors_origins: str = "", telemetry_is_public: bool = False) -> FastAPI:
    """The application over a workspace, which it closes when it ends."""

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        yield
        workspace.database.close()

    application = FastAPI(
        title="Gainboard",
        version=__version__,
        summary="Evaluation of information retrieval with graded relevance",
        description=DESCRIPTION,
        lifespan=lifespan,
        dependencies=[Depends(known_query)],
        license_info={"name": "MIT", "identifier": "MIT"},
        redirect_slashes=False,
    )
    application.state.workspace = workspace
    application.state.query_names = {}
    application.state.telemetry = Telemetry() if IS_INSTALLED else None
    application.state.telemetry_is_public = telemetry_is_public
    problems.install(application)
    for resource in ROUTERS:
        application.include_router(resource.router)
    # The last one added is the outermost.
    application.add_middleware(Conditional)
    application.add_middleware(BoundedBody)
    if cors_origins:
        origins = [origin.strip() for origin in cors_origins.split(",")]
        application.add_middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
    if application.state.telemetry:
        application.add_middleware(Measured, telemetry=application.state.telemetry)
    application.add_middleware(Observed)
    return application


def create_app_from_environment() -> FastAPI:
    """For servers that are given a factory: `uvicorn --factory app.main:create_app_from_environment`."""
    settings = Settings.read(os.environ)
    workspace, _ = open_workspace(settings)
    return create_app(workspace, cors_origins=settings.cors_origins, telemetry_is_public=settings.metrics == "public")
