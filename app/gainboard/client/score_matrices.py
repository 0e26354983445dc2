"""Calls about score matrices: scores of metrics that were computed elsewhere."""

from __future__ import annotations

from typing import Literal

from gainboard.api.models.common import Page
from gainboard.api.models.runs import MatrixAnswer, WholeMatrix
from gainboard.client.calling import call, listing
from gainboard.client.requests import Call, Pages, Request, api_path, delete, read_model, read_text
from gainboard.client.uploads import Source, Upload
from gainboard.store.records import Direction


class ScoreMatrixCalls:
    """Score matrices, which are metrics under the name `custom:NAME`."""

    @call
    def put_score_matrix(
        self,
        collection: str,
        name: str,
        file: Source,
        *,
        direction: Direction | None = None,
        low: float | None = None,
        high: float | None = None,
        missing: float | str | None = None,
        format: Literal["csv", "trec_eval", "json"] | None = None,
        measure: str | None = None,
        run: str | None = None,
    ) -> Call[MatrixAnswer]:
        """Upload scores of stored runs as the next version of a matrix (organisers): CSV, trec_eval's text or JSON.

        `missing` says what a missing score is: a number, `"zero"` or `"drop-topic"`. Without it, none may be missing.
        """
        query = {
            "direction": direction,
            "low": low,
            "high": high,
            "missing": missing,
            "format": format,
            "measure": measure,
            "run": run,
        }
        path = api_path("collections", collection, "score-matrices", name)
        return read_model(MatrixAnswer, Request("PUT", path, query, upload=Upload.of(file)))

    @listing
    def score_matrices(self, collection: str) -> Pages[MatrixAnswer]:
        """List the newest version of each score matrix, by name."""
        return Pages(Page[MatrixAnswer], api_path("collections", collection, "score-matrices"))

    @call
    def score_matrix(self, collection: str, name: str) -> Call[WholeMatrix]:
        """Return the newest version of a score matrix, with its scores."""
        return read_model(WholeMatrix, Request("GET", api_path("collections", collection, "score-matrices", name)))

    @call
    def score_matrix_text(self, collection: str, name: str) -> Call[str]:
        """Return the newest version of a score matrix as CSV, with a row for each run."""
        path = api_path("collections", collection, "score-matrices", name)
        return read_text(Request("GET", path, accept="text/csv"))

    @call
    def delete_score_matrix(self, collection: str, name: str) -> Call[None]:
        """Delete a score matrix with all its versions (organisers)."""
        return delete(api_path("collections", collection, "score-matrices", name))
