"""`/v1/collections/{collection}/runs`, and the old address of the pool made of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from gainboard.api import uploads
from gainboard.api.answers import address, answer, uploaded_file
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.idempotency import KeyedUploadDep
from gainboard.api.models.common import Page, ReceiptAnswer, WarningAnswer
from gainboard.api.models.runs import MetadataFileAnswer, RunAnswer, RunChange, RunMetadataAnswer
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.qrels import TEXT
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import ReadersDep
from gainboard.errors import (
    BudgetExhausted,
    Conflict,
    Forbidden,
    HeldByRelease,
    JudgmentsHidden,
    KeyInUse,
    KeyReused,
    NameRequired,
    NotFound,
    QuotaExceeded,
    RunExists,
    SubmissionsClosed,
    TeamRequired,
    Unavailable,
    UnsupportedMediaType,
    UploadAfterRelease,
    WithdrawalAfterRelease,
)
from gainboard.evaluation.access.visibility import View, require_organiser
from gainboard.evaluation.runs import run_properties, runs
from gainboard.evaluation.runs.receipts import RUN, Receipt, receipt_of, receipt_of_run
from gainboard.evaluation.runs.run_properties import MOST_METADATA, MetadataFile
from gainboard.evaluation.runs.runs import RunDetails, SeenRun
from gainboard.evaluation.runs.upload_quota import take_slot
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.queries import RunsQuery, RunUploadQuery
from gainboard.notation.types import INTEGER

router = APIRouter(
    prefix="/v1/collections/{collection}", tags=["runs"], responses=documented(), route_class=CheckedRoute
)

RunName = Annotated[str, Path(alias="run", description="The run's name")]


ON_SUBMIT = (
    *uploads.ON_UPLOAD,
    TeamRequired,
    NameRequired,
    SubmissionsClosed,
    UploadAfterRelease,
    QuotaExceeded,
    BudgetExhausted,
    RunExists,
    Conflict,
    KeyReused,
    KeyInUse,
)


def show(seen: SeenRun, receipt: Receipt | None = None) -> RunAnswer:
    """Return a run as this principal may see it, with its receipt in the answer of an upload."""
    run = seen.run
    return RunAnswer(
        name=run.name,
        team=run.team,
        tag=run.tag,
        description=run.description,
        type=run.type,
        pooled=run.pooled,
        priority=run.priority,
        system=run.system,
        replicate=run.replicate,
        family=run.family,
        topics=run.topic_count,
        retrieved=run.retrieved,
        unjudged_share=seen.judging.unjudged_share if seen.judging else None,
        sha256=run.sha256,
        created_at=run.created_at,
        late=seen.late,
        warnings=[WarningAnswer(**warning) for warning in seen.warnings],
        receipt=ReceiptAnswer(**asdict(receipt)) if receipt else None,
    )


@router.post(
    "/runs",
    status_code=201,
    response_model=RunAnswer,
    responses=documented(
        *ON_SUBMIT,
        also={
            200: {"model": RunAnswer, "description": "The same team has uploaded this file before: the run is that one"}
        },
    ),
    openapi_extra=uploads.openapi(RunUploadQuery),
)
async def submit_run(
    collection: CollectionName,
    keyed: KeyedUploadDep,
    readers: ReadersDep,
    query: Annotated[RunUploadQuery, asked_by(RunUploadQuery)],
) -> Response:
    """Submit a run file in TREC's format. It is stored whole or not at all; the answer lists all its faults."""
    request, workspace, principal = keyed.request, keyed.workspace, keyed.principal
    # A form may have the team as a field, which comes with the body.
    may_follow, team = uploads.is_form(request), query.get("team")
    view = await run_in_threadpool(runs.admit, workspace, principal, collection, team, team_may_follow=may_follow)
    async with (
        # A place is taken first: the count of a team's uploads writes to the database.
        readers.reading(principal),
        in_slot(workspace, view),
        uploads.received(request, workspace.limits.compressed_bytes, RunUploadQuery, query) as sent,
    ):
        details = RunDetails(**sent.query)

        def act() -> Response:
            seen = runs.submit(workspace, principal, collection, sent.body, details)
            location = address(request, f"/v1/collections/{collection}/runs/{seen.run.name}")
            # After the transaction, at whose end the entry of the audit log was made.
            receipt = receipt_of(workspace, seen.run.collection_id, RUN, seen.run.name, seen.run.sha256)
            return answer(show(seen, receipt), 201 if seen.created else 200, Location=location)

        permit = partial(runs.admit, workspace, principal, collection, details.team)

        def again(earlier: Response) -> Response:
            if permit().sees_judgments:
                return earlier
            # The judgments may have been hidden since, and what they tell of the run with them.
            shown = RunAnswer.model_validate_json(bytes(earlier.body))
            if shown.unjudged_share is None:
                return earlier
            rest = shown.model_copy(update={"unjudged_share": None, "warnings": []})
            return answer(rest, earlier.status_code, Location=earlier.headers["location"])

        keyed = replace(keyed, fingerprint=sent.fingerprint)
        return await run_in_threadpool(keyed.answer_once, act, permit=permit, again=again)


@asynccontextmanager
async def in_slot(workspace: Workspace, view: View) -> AsyncIterator[None]:
    """Count an upload while a participant's file arrives, if the number of uploads at once is limited."""
    # Most collections have no limit, so nothing is written before each upload. A limit that is set at this moment holds
    # from the next upload on.
    if not view.counts_uploads:
        yield
        return
    slot = await run_in_threadpool(take_slot, workspace, view)
    try:
        yield
    finally:
        # This needs no database and cannot be interrupted, so the slot is free however the upload ends.
        workspace.upload_slots.leave(slot)
        with suppress(Unavailable):
            await run_in_threadpool(workspace.upload_slots.delete_left)


@router.get("/runs")
def list_runs(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[RunsQuery, asked_by(RunsQuery)],
    paging: PagingDep,
) -> Page[RunAnswer]:
    """List the runs that this token may see, by name."""
    late = asked.get("late") or "include"
    seen_runs = runs.list_runs(workspace, principal, collection, paging.after, paging.wanted, late)
    return paging.page(seen_runs, lambda seen: seen.run.name, show)


@router.get("/runs/{run}", response_model=RunAnswer, responses=documented(JudgmentsHidden, also=TEXT))
def read_run(
    collection: CollectionName, run: RunName, request: Request, workspace: WorkspaceDep, principal: PrincipalDep
) -> Response:
    """Return one run; with `Accept: text/plain` the uploaded file, decompressed and otherwise unchanged."""
    is_file = accepts(request, "text/plain")
    seen = runs.find_run(workspace, principal, collection, run, for_file=is_file)
    if is_file:
        return uploaded_file(runs.read_file(workspace, seen.run), seen.run.sha256, seen.run.name)
    return answer(show(seen))


@router.get("/runs/{run}/receipt", response_model=ReceiptAnswer, responses=documented(JudgmentsHidden))
def read_run_receipt(
    collection: CollectionName, run: RunName, workspace: WorkspaceDep, principal: PrincipalDep
) -> Response:
    """Return the receipt of a run, for those who may read its file. With an export of the audit log, `gainboard audit
    verify --receipt FILE LOG` checks it.
    """
    return answer(asdict(receipt_of_run(workspace, principal, collection, run)))


@router.get("/runs/{run}/metadata", response_model=RunMetadataAnswer, responses=documented(JudgmentsHidden, also=TEXT))
def read_run_metadata(
    collection: CollectionName, run: RunName, request: Request, workspace: WorkspaceDep, principal: PrincipalDep
) -> Response:
    """Return the ir_metadata of a run, for those who may read its file: the header in that file, and the values of the
    file beside it; with `Accept: text/plain` the file beside it, as it was sent.
    """
    header, beside = run_properties.find_metadata(workspace, principal, collection, run)
    if not accepts(request, "text/plain"):
        values, text, faults = (header.values, header.text, header.faults) if header else (None, None, ())
        shown = show_metadata(beside) if beside else None
        return answer({"metadata": values, "text": text, "faults": list(faults), "file": shown})
    if beside is None:
        raise NotFound(f"There is no file of ir_metadata beside the run {run!r}. Its team may send one.")
    return uploaded_file(iter([beside.content]), beside.sha256, run, "ir_metadata.yml")


@router.put(
    "/runs/{run}/metadata",
    response_model=MetadataFileAnswer,
    responses=documented(*uploads.ON_UPLOAD, HeldByRelease),
    openapi_extra=uploads.openapi(),
)
async def put_run_metadata(
    collection: CollectionName,
    run: RunName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    readers: ReadersDep,
) -> Response:
    """Store a file of ir_metadata beside a run, in place of an earlier one: YAML of at most 64 KiB, as tirex-tracker
    writes it (its team until the release, organisers). Once a release holds the run, the file stays as it is.
    """
    principal.require_token()
    # A form has more than its file.
    most, why = 2 * MOST_METADATA, run_properties.metadata_too_large()
    async with readers.reading(principal), uploads.received(request, most, refusal=why) as sent:
        stored = await run_in_threadpool(run_properties.put_metadata, workspace, principal, collection, run, sent.body)
    return answer(show_metadata(stored))


def show_metadata(beside: MetadataFile) -> dict[str, Any]:
    """Return a file of ir_metadata beside a run."""
    return {"metadata": beside.read.values, "sha256": beside.sha256, "faults": list(beside.read.faults)}


@router.patch("/runs/{run}", response_model=RunAnswer, responses=documented(Forbidden, UnsupportedMediaType))
def change_run(
    collection: CollectionName, run: RunName, workspace: WorkspaceDep, principal: PrincipalDep, sent: RunChange
) -> RunAnswer:
    """Change the priority or the family of a run (its team until the release, organisers)."""
    return show(runs.change(workspace, principal, collection, run, sent.model_dump(exclude_unset=True)))


@router.delete(
    "/runs/{run}",
    status_code=204,
    response_class=Response,
    responses=documented(Forbidden, HeldByRelease, WithdrawalAfterRelease),
)
def withdraw_run(collection: CollectionName, run: RunName, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Withdraw a run. Its name may then be used again (its team until the release, organisers)."""
    runs.withdraw(workspace, principal, collection, run)


@router.get("/pool", status_code=308, response_class=RedirectResponse, responses=documented(Forbidden), deprecated=True)
def read_pool(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    depth: Annotated[int, Query(ge=1, le=1_000_000, description="Without effect: a job has it"), INTEGER] = 100,
) -> RedirectResponse:
    """Return a redirection to the collection's jobs of kind `pool`, newest first (organisers). A pool is a job now:
    `POST /v1/collections/{collection}/jobs` with the kind `pool` makes one. The next release removes this address.
    """
    require_organiser(workspace, principal, collection)
    return RedirectResponse(address(request, f"/v1/jobs?collection={collection}&kind=pool"), 308)
