"""A client of the service: `Gainboard`, and `AsyncGainboard`, whose calls are awaited."""

from app.client.errors import ClientError, MissingPackage, NoAnswer, NotGainboard, Problem, WorkFailed
from app.client.gainboard import AsyncGainboard, Gainboard
from app.client.uploads import Source
from app.client.work import AsyncJob, AsyncReport, Job, Report

__all__ = [
    "AsyncGainboard",
    "AsyncJob",
    "AsyncReport",
    "ClientError",
    "Gainboard",
    "Job",
    "MissingPackage",
    "NoAnswer",
    "NotGainboard",
    "Problem",
    "Report",
    "Source",
    "WorkFailed",
]
