"""A client of the service: `Gainboard`, and `AsyncGainboard`, whose calls are awaited."""

from gainboard.client.errors import ClientError, MissingPackage, NoAnswer, NotGainboard, Problem, WorkFailed
from gainboard.client.gainboard import AsyncGainboard, Gainboard, LocalGainboard
from gainboard.client.jobs import AsyncJob, AsyncReport, Job, Report
from gainboard.notation.sources import Source

__all__ = [
    "AsyncGainboard",
    "AsyncJob",
    "AsyncReport",
    "ClientError",
    "Gainboard",
    "Job",
    "LocalGainboard",
    "MissingPackage",
    "NoAnswer",
    "NotGainboard",
    "Problem",
    "Report",
    "Source",
    "WorkFailed",
]
