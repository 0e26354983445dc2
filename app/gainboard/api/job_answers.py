"""Requests for jobs and reports and their answers: showing, waiting, following, cancelling, and files of results.

A request's body is one model for each kind in the catalogue.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, Union

from fastapi import APIRouter, Body, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import ConfigDict, Field, StringConstraints, create_model
from starlette.requests import ClientDisconnect

from gainboard.analyses.job_kinds import AnyKind, every_kind
from gainboard.analyses.params import AnyParams
from gainboard.analyses.report_kinds import ReportParams, every_report_kind
from gainboard.api.answers import PRIVATE, address, answer
from gainboard.api.dependencies import EngineDep, PrincipalDep, WatchDep, WorkspaceDep, ask_again
from gainboard.api.models.common import Model
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.uploads import until_left
from gainboard.errors import Forbidden, Refused, Unavailable
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.access import Seen, WorkType, cancel_work, find_again, find_work
from gainboard.jobs.derived_files import ask_for_derived_files, require_done
from gainboard.jobs.engine import Engine
from gainboard.jobs.job_events import Watch
from gainboard.jobs.report_planning import MOST_COLLECTIONS
from gainboard.notation.queries import LONGEST_WAIT, WaitQuery
from gainboard.notation.types import JsonBody
from gainboard.store.job_records import StoredJob, StoredReport, StoredWork
from gainboard.vocabulary import DerivedKind

T = TypeVar("T")
W = TypeVar("W", StoredJob, StoredReport)

MOST_SECONDS = LONGEST_WAIT
ASKED_AGAIN_SECONDS = 3
"""Seconds between two looks at whether a follower may still see the work: a stream ends within 5 after that."""


@dataclass(frozen=True)
class JobContext:
    """The parts of a request and of the server that every answer about work needs."""

    request: Request
    workspace: Workspace
    principal: Principal
    engine: Engine
    watch: Watch

    async def attended(self, waiting: Awaitable[T]) -> T:
        """Return the awaited value. Raise ClientDisconnect if the client leaves before."""
        answering, leaving = asyncio.ensure_future(waiting), asyncio.create_task(until_left(self.request))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                return answering.result()
            raise ClientDisconnect
        finally:
            answering.cancel()
            leaving.cancel()

    async def derived_files_made(self, files: DerivedKind, work: StoredWork) -> StoredJob:
        """Return the job that made these files of a result. The first request starts it, and waits for it.

        Raise JobNotFinished if that takes too long, NoResult if it has failed, and ResultOutdated.
        """
        making = await run_in_threadpool(ask_for_derived_files, self.workspace, files, work)
        if not making.is_over:
            self.engine.wake()
            making = await self.attended(self.watch.until_over(making, MOST_SECONDS))
            await run_in_threadpool(self._require_access, work)
        return require_done(making)

    def _require_access(self, work: StoredWork) -> None:
        """Raise an error if the principal may no longer see the work: much may have changed while we waited."""
        find_again(self.workspace, ask_again(self.request), work)


async def read_context(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, engine: EngineDep, watch: WatchDep
) -> JobContext:
    """Return what the answers about work of a request need."""
    return JobContext(request, workspace, principal, engine, watch)


JobContextDep = Annotated[JobContext, Depends(read_context)]


def exhibits(work: StoredWork) -> dict[str, Any] | None:
    """Return the names of the tables and figures that were stored with a result; None if there are none."""
    maker = work.layout if isinstance(work, StoredReport) else work
    if maker is None or not maker.exhibits or work.state != "succeeded":
        return None
    return {"tables": [], "figures": [], **maker.exhibits}


@dataclass(frozen=True)
class WorkAnswers(Generic[W]):
    """The answers about jobs, or about reports. `show` makes the model, with exhibits or, in lists, without."""

    work_type: WorkType[W]
    show: Callable[[Request, Seen[W], dict[str, Any] | None], Model]
    also_cancelled: str = ""
    """A sentence on what else is cancelled."""

    def address(self, request: Request, work: W) -> str:
        """Return the address of the job or report."""
        return address(request, f"/v1/{self.work_type.noun}s/{work.id}")

    def asked(self, context: JobContext, identity: str) -> Response:
        """Answer a request for work, and wake the workers."""
        context.engine.wake()
        # Read again rather than taken from whoever queued it: a job that is damaged, or is seen no more, is told here
        # alone.
        seen = find_work(context.workspace, context.principal, self.work_type, identity)
        headers = {"Location": self.address(context.request, seen.work), **_wait_headers(is_over=seen.work.is_over)}
        return answer(self._whole(context.request, seen), 200 if seen.work.is_over else 202, **headers)

    def again(self, context: JobContext, earlier: Response) -> Response:
        """Return the earlier answer to a request for work. Raise NotFound if the principal may not see the work now."""
        find_work(context.workspace, context.principal, self.work_type, json.loads(bytes(earlier.body))["id"])
        return earlier

    async def read(self, context: JobContext, seen: Seen[W], wait: float) -> Response:
        """Answer with the work as soon as it is over, or after `wait` seconds."""
        if wait and not seen.work.is_over:
            await context.attended(context.watch.until_over(seen.work, wait))
            seen = await run_in_threadpool(self._find_again, context, seen.work.id)
        return answer(self._whole(context.request, seen), 200, **_wait_headers(is_over=seen.work.is_over))

    async def follow(self, context: JobContext, first: Seen[W]) -> AsyncIterator[ServerSentEvent]:
        """Yield the work now, and again at every change, until it is over or the principal may no longer see it."""
        sent: W | None = None
        async for work in context.watch.changes(first.work, ASKED_AGAIN_SECONDS):
            try:
                seen = await run_in_threadpool(self._find_again, context, work.id)
            except (Refused, Unavailable):
                # A token or session has ended, the judgments were hidden, or the database does not answer. A new
                # connection gets the error.
                return
            # The pulse has only asked again whether the work may still be seen.
            if work == sent:
                continue
            sent = work
            shown = self._whole(context.request, replace(seen, work=work))
            yield ServerSentEvent(event=self.work_type.noun, id=f"{work.state}-{work.parts_done}", data=shown)

    def _find_again(self, context: JobContext, identity: str) -> Seen[W]:
        return find_work(context.workspace, ask_again(context.request), self.work_type, identity)

    def cancel(self, context: JobContext, identity: str) -> Response:
        """Cancel the work, and answer with its new state."""
        seen, is_cancelled = cancel_work(context.workspace, context.principal, self.work_type, identity)
        context.engine.wake()
        return answer(self._whole(context.request, seen), 202 if is_cancelled else 200)

    def add_routes(self, router: APIRouter, model: type[Model], seen: Callable[..., Seen[W]]) -> None:
        """Add the routes that read, follow and cancel one. `seen` is the dependency that finds it."""
        noun, organisers = self.work_type.noun, self.work_type.organisers
        path = f"/{noun}s/{{{noun}}}"
        seen_work: Any = Depends(seen)
        named: Any = Path(alias=noun, description=f"The {noun}'s id")
        unchanged: dict[int, dict[str, Any]] = {
            200: {"model": model, "description": f"The {noun} was already over, and is unchanged"}
        }

        @router.get(
            path,
            name=f"read_{noun}",
            response_model=model,
            description=f"Return one {noun}. With `wait`, answer as soon as the {noun} is over, or when the time is "
            "up.",
        )
        async def read(
            context: JobContextDep, seen: Seen[Any] = seen_work, *, asked: Annotated[WaitQuery, asked_by(WaitQuery)]
        ) -> Response:
            return await self.read(context, seen, asked.get("wait", 0))

        @router.get(
            f"{path}/events",
            name=f"follow_{noun}",
            response_class=EventSourceResponse,
            responses=documented(also=documented_events(noun, model.__name__)),
            description=f"Send the {noun} now, and again at every change of its state or progress, as server-sent "
            f"events (`event: {noun}`) until it is over. Close the stream then: otherwise a browser's EventSource "
            "connects again.",
        )
        async def follow(context: JobContextDep, first: Seen[Any] = seen_work) -> AsyncIterable[ServerSentEvent]:
            async for event in self.follow(context, first):
                yield event

        @router.delete(
            path,
            name=f"cancel_{noun}",
            status_code=202,
            response_model=model,
            responses=documented(Forbidden, also=unchanged),
            description=f"Cancel a {noun} that is queued or running ({organisers}, and the token that asked for it), "
            "or delete one that is damaged."
            f"{self.also_cancelled}",
        )
        def cancel(context: JobContextDep, identity: str = named) -> Response:
            return self.cancel(context, identity)

    def _whole(self, request: Request, seen: Seen[W]) -> Model:
        return self.show(request, seen, exhibits(seen.work))


def _wait_headers(*, is_over: bool) -> dict[str, str]:
    """Return the headers of an answer about a job or report for requests that repeat."""
    # A shared cache would answer waiting clients at once, again and again, so an unfinished state is never cached.
    return {} if is_over else {"Retry_After": "1", "Cache_Control": PRIVATE}


def finished(noun: str, model: type[Model]) -> dict[int, dict[str, Any]]:
    """Return the OpenAPI response to a request for work that is done already."""
    return {200: {"model": model, "description": f"The {noun} exists and has succeeded"}}


def documented_events(noun: str, schema: str) -> dict[int, dict[str, Any]]:
    """Return the OpenAPI responses of a stream of events, whose data has the schema of this name."""
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{schema}"},
    }
    event = {
        "type": "object",
        "properties": {"event": {"const": noun}, "id": {"type": "string"}, "data": data},
        "required": ["event", "id", "data"],
    }
    return {
        200: {
            "description": f"Server-sent events. Each has `event: {noun}`, an `id`, and in `data` the {noun} as one "
            f"line of JSON (`{schema}`). The first comes at once. The last has the final state; then the stream ends. "
            "Comments keep the connection open, at least every 15 seconds.",
            "content": {"text/event-stream": {"itemSchema": event}},
        }
    }


Names = Annotated[
    list[Annotated[str, StringConstraints(max_length=128)]], Field(min_length=1, max_length=MOST_COLLECTIONS)
]


# The models defer their build, and those of single kinds are never built: the union builds its members at once.
class JobRequest(JsonBody):
    """A request for a job: its kind and its parameters."""

    model_config = ConfigDict(defer_build=True)

    kind: str
    params: AnyParams


class ReportRequest(JsonBody):
    """A request for a report: its name, its collections and its parameters."""

    model_config = ConfigDict(defer_build=True)

    name: str
    collections: Names = Field(
        description="With several collections: the tables of each one, and their unweighted average"
    )
    params: ReportParams


def _body(base: type[JsonBody], member: str, kinds: Sequence[AnyKind], params: Callable[[AnyKind], Any]) -> Any:
    """Return the type of a body: one model for each kind, chosen by the body's `member`. `params` makes their field."""
    models: list[type[JsonBody]] = []
    examples: dict[str, Any] = {}
    for kind in kinds:
        name = "".join(part.capitalize() for part in kind.name.split("-"))
        fields: dict[str, Any] = {member: (Literal[kind.name], Field()), "params": (kind.params_model, params(kind))}
        models.append(create_model(f"{name}Request", __base__=base, __doc__=kind.definition, **fields))
        summary = kind.name if member == "kind" else kind.title
        examples[kind.name] = {"summary": summary, "value": kind.example()}
    return Annotated[Union[tuple(models)], Body(discriminator=member, openapi_examples=examples)]  # noqa: UP007


if TYPE_CHECKING:
    KindName = str
    ReportName = str
    NewJob = JobRequest
    NewReport = ReportRequest
else:
    KindName = Literal[tuple(kind.name for kind in every_kind())]
    ReportName = Literal[tuple(kind.name for kind in every_report_kind())]
    NewJob = _body(
        JobRequest,
        "kind",
        every_kind(),
        lambda kind: Field(description="The kind of job; `/v1/job-kinds` describes every kind"),
    )
    NewReport = _body(
        ReportRequest,
        "name",
        every_report_kind(),
        lambda kind: Field(kind.params_model(), description="The report; `/v1/report-kinds` describes every report"),
    )


# Type checkers cannot read what is made of the catalogue.
