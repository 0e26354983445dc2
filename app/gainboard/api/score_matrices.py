"""`/v1/collections/{collection}/score-matrices`"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.models.common import Page, ReceiptAnswer
from gainboard.api.models.runs import MatrixAnswer, WholeMatrix
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import ReadersDep
from gainboard.errors import (
    Forbidden,
    HeldByRelease,
    JudgmentsHidden,
)
from gainboard.evaluation.access.visibility import require_organiser
from gainboard.evaluation.runs.receipts import MATRIX, receipt_of
from gainboard.evaluation.scoring import score_matrices
from gainboard.evaluation.scoring.score_matrices import MatrixSettings, csv_of_matrix
from gainboard.notation.types import INTEGER, NUMBER, Slug
from gainboard.store.records import ScoreMatrix
from gainboard.vocabulary import Direction

router = APIRouter(
    prefix="/v1/collections/{collection}/score-matrices",
    tags=["scores"],
    responses=documented(),
    route_class=CheckedRoute,
)

MatrixName = Annotated[str, Path(description="The matrix's name, without `custom:`")]


class ScoreMatrixUploadQuery(BaseModel):
    """The query of an upload of scores."""

    direction: Annotated[Direction, Field(description="Whether higher or lower scores are better")] = "up"
    low: Annotated[
        float | None,
        Field(
            description="The lowest score that is possible. With a range, scores outside of it are faults",
        ),
        NUMBER,
    ] = None
    high: Annotated[float | None, Field(description="The highest score that is possible"), NUMBER] = None
    missing: Annotated[
        str | None,
        Field(
            max_length=32,
            description="What a missing score is: a number, `zero` (direction up only), or `drop-topic`, which leaves "
            "out the topic. Without it, a missing score is a fault",
        ),
    ] = None
    format: Annotated[
        Literal["json", "csv", "trec_eval"] | None, Field(description="The form of the file; guessed by default")
    ] = None
    measure: Annotated[
        str | None, Field(max_length=128, description="The measure to read, if the file has several")
    ] = None
    run: Annotated[
        str | None, Field(max_length=128, description="The run of a file of trec_eval, which may lack `runid`")
    ] = None

    def settings(self) -> MatrixSettings:
        """Return what was said of the matrix."""
        return MatrixSettings(self.direction, self.low, self.high, self.missing, self.format, self.measure, self.run)


def show(matrix: ScoreMatrix) -> MatrixAnswer:
    """Return a matrix without its scores."""
    return MatrixAnswer(**_values(matrix))


def _values(matrix: ScoreMatrix) -> dict[str, Any]:
    same = ("name", "version", "direction", "low", "high", "missing", "filled", "sha256", "created_at")
    return {name: getattr(matrix, name) for name in same} | {
        "metric": f"custom:{matrix.name}",
        "label": f"custom:{matrix.name}(version={matrix.version})",
        "dropped": list(matrix.dropped),
        "runs": len(matrix.runs),
        "topics": len(matrix.topics),
    }


def show_whole(matrix: ScoreMatrix, scores: NDArray[np.float64]) -> WholeMatrix:
    """Return a matrix with its scores."""
    runs, topics = list(matrix.runs), list(matrix.topics)
    return WholeMatrix(**_values(matrix), run_names=runs, topic_names=topics, scores=scores.tolist())


@router.put(
    "/{matrix}",
    status_code=201,
    response_model=MatrixAnswer,
    responses=documented(
        *uploads.ON_UPLOAD,
        also={200: {"model": MatrixAnswer, "description": "The newest version has the same scores and settings"}},
    ),
    openapi_extra=uploads.openapi(ScoreMatrixUploadQuery),
)
async def put_score_matrix(
    collection: CollectionName,
    matrix: Annotated[Slug, Path(description="The matrix's name: its metric is `custom:NAME`")],
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    readers: ReadersDep,
    asked: Annotated[ScoreMatrixUploadQuery, Query()],
) -> Response:
    """Upload the scores of stored runs under a metric that was computed elsewhere, as the next version of a matrix
    (organisers): CSV with a header, the text of `trec_eval -q`, or JSON. Then `custom:NAME` is a metric.
    """
    await run_in_threadpool(require_organiser, workspace, principal, collection)
    async with readers.reading(principal), uploads.received(request, workspace.limits.compressed_bytes, asked) as sent:
        settings = sent.query.settings()
        made, created = await run_in_threadpool(
            score_matrices.put_matrix, workspace, principal, collection, matrix, sent.body, settings
        )
    location = address(request, f"/v1/collections/{collection}/score-matrices/{matrix}")
    subject = f"{matrix} {made.version}"
    receipt = await run_in_threadpool(receipt_of, workspace, made.collection_id, MATRIX, subject, made.sha256)
    shown = show(made).model_copy(update={"receipt": ReceiptAnswer(**asdict(receipt))})
    return answer(shown, 201 if created else 200, Location=location)


@router.get("", responses=documented(JudgmentsHidden))
def list_score_matrices(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[MatrixAnswer]:
    """List the newest version of each score matrix, by name (principals who may see the judgments)."""
    found = score_matrices.list_matrices(workspace, principal, collection, paging.after, paging.wanted)
    return paging.page(found, lambda each: each.name, show)


CSV: dict[int, dict[str, Any]] = {
    200: {
        "description": "JSON; or CSV with a row for each run and a column for each topic",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


@router.get("/{matrix}", response_model=WholeMatrix, responses=documented(JudgmentsHidden, also=CSV))
def read_score_matrix(
    collection: CollectionName,
    matrix: MatrixName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    format: Annotated[Literal["json", "csv"] | None, Query(description="Overrides the Accept header")] = None,
    version: Annotated[
        int | None, Query(ge=1, lt=2**31, description="The number of a version; the newest by default"), INTEGER
    ] = None,
) -> Response:
    """Return a version of a score matrix, with its scores (principals who may see the judgments)."""
    found, scores = score_matrices.find_matrix(workspace, principal, collection, matrix, version)
    if format == "csv" or (format is None and accepts(request, "text/csv")):
        return PlainTextResponse("".join(csv_of_matrix(found, scores)), media_type="text/csv")
    return answer(show_whole(found, scores))


@router.delete("/{matrix}", status_code=204, response_class=Response, responses=documented(Forbidden, HeldByRelease))
def delete_score_matrix(
    collection: CollectionName, matrix: MatrixName, workspace: WorkspaceDep, principal: PrincipalDep
) -> None:
    """Delete a score matrix with all its versions (organisers). Jobs about it keep their results."""
    score_matrices.delete_matrix(workspace, principal, collection, matrix)
