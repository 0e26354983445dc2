"""`/v1/collections/{collection}/score-matrices`"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse
from numpy.typing import NDArray

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.models.common import Page, ReceiptAnswer
from gainboard.api.models.runs import MatrixAnswer, WholeMatrix
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import ReadersDep
from gainboard.errors import Forbidden, HeldByRelease, JudgmentsHidden
from gainboard.evaluation.runs.receipts import MATRIX, receipt_of
from gainboard.evaluation.scoring import score_matrices
from gainboard.evaluation.scoring.score_matrices import MatrixSettings, csv_of_matrix
from gainboard.notation.queries import ScoreMatrixQuery, ScoreMatrixUploadQuery
from gainboard.notation.types import Slug
from gainboard.store.records import ScoreMatrix

router = APIRouter(
    prefix="/v1/collections/{collection}/score-matrices",
    tags=["scores"],
    responses=documented(),
    route_class=CheckedRoute,
)

MatrixName = Annotated[str, Path(description="The matrix's name, without `custom:`")]


def show(matrix: ScoreMatrix) -> MatrixAnswer:
    """Return a matrix without its scores."""
    return MatrixAnswer(**_values(matrix))


def _values(matrix: ScoreMatrix) -> dict[str, Any]:
    same = ("name", "version", "direction", "low", "high", "missing", "filled", "sha256", "created_at")
    return {name: getattr(matrix, name) for name in same} | {
        "metric": matrix.metric,
        "label": matrix.label,
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
    asked: Annotated[ScoreMatrixUploadQuery, asked_by(ScoreMatrixUploadQuery)],
) -> Response:
    """Upload the scores of stored runs under a metric that was computed elsewhere, as the next version of a matrix
    (organisers): CSV with a header, the text of `trec_eval -q`, or JSON. Then `custom:NAME` is a metric. In a
    collection of scores, the file may have any systems and topics, which then are those of the collection.
    """
    sending = request, workspace, principal, readers, collection
    async with uploads.from_organiser(*sending, ScoreMatrixUploadQuery, asked) as sent:
        said = {"form" if name == "format" else name: value for name, value in sent.query.items()}
        if (direction := said.get("direction")) in ("higher", "lower"):
            said["direction"] = "up" if direction == "higher" else "down"
        settings = MatrixSettings(**said)
        stored, created = await run_in_threadpool(
            score_matrices.put_matrix, workspace, principal, collection, matrix, sent.body, settings
        )
    location = address(request, f"/v1/collections/{collection}/score-matrices/{matrix}")
    subject = f"{matrix} {stored.version}"
    receipt = await run_in_threadpool(receipt_of, workspace, stored.collection_id, MATRIX, subject, stored.sha256)
    shown = show(stored).model_copy(update={"receipt": ReceiptAnswer(**asdict(receipt))})
    return answer(shown, 201 if created else 200, Location=location)


@router.get("", responses=documented(JudgmentsHidden))
def list_score_matrices(
    collection: CollectionName, workspace: WorkspaceDep, principal: PrincipalDep, paging: PagingDep
) -> Page[MatrixAnswer]:
    """List the newest version of each score matrix, by name (principals who may see the judgments)."""
    matrices = score_matrices.list_matrices(workspace, principal, collection, paging.after, paging.wanted)
    return paging.page(matrices, lambda each: each.name, show)


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
    asked: Annotated[ScoreMatrixQuery, asked_by(ScoreMatrixQuery)],
) -> Response:
    """Return a version of a score matrix, with its scores (principals who may see the judgments)."""
    stored, scores = score_matrices.find_matrix(workspace, principal, collection, matrix, asked.get("version"))
    form = asked.get("format")
    if form == "csv" or (form is None and accepts(request, "text/csv")):
        return PlainTextResponse("".join(csv_of_matrix(stored, scores)), media_type="text/csv")
    return answer(show_whole(stored, scores))


@router.delete("/{matrix}", status_code=204, response_class=Response, responses=documented(Forbidden, HeldByRelease))
def delete_score_matrix(
    collection: CollectionName, matrix: MatrixName, workspace: WorkspaceDep, principal: PrincipalDep
) -> None:
    """Delete a score matrix with all its versions (organisers). Jobs about it keep their results."""
    score_matrices.delete_matrix(workspace, principal, collection, matrix)
