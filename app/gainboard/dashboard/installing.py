"""The dashboard's part of the application: all pages, and problems as pages."""

from __future__ import annotations

from fastapi import FastAPI

from gainboard.dashboard import (
    assets,
    board,
    compare,
    docs,
    embed,
    errors,
    home,
    jobs,
    judgments,
    me,
    metrics,
    pool,
    problems,
    runs,
    settings,
    signing_in,
    submissions,
    topics,
)

PAGES = (
    home,
    signing_in,
    me,
    board,
    topics,
    compare,
    runs,
    pool,
    judgments,
    jobs,
    submissions,
    settings,
    embed,
    metrics,
    docs,
    problems,
)
"""The modules of pages, each with its `router`. They come before the API, whose addresses some of them share."""


def install(application: FastAPI) -> None:
    """Add the pages, before the API's routes are added and after its handlers of problems."""
    errors.install(application)
    for module in (assets, *PAGES):
        application.include_router(module.router)
