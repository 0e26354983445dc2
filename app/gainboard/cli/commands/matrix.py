"""Upload scores that were computed elsewhere."""

from __future__ import annotations

from typing import Annotated, Unpack

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.connecting import OneCollection, uploading
from gainboard.cli.printing import Format, print_many, print_utf8
from gainboard.notation.queries import ScoreMatrixUploadQuery
from gainboard.vocabulary import LEAVE_OUT

COLUMNS = ("metric", "version", "direction", "low", "high", "runs", "topics", "filled", "created_at")
MatrixName = Annotated[str, Argument("its name, without custom:")]


@command("upload scores", Example("gainboard matrix put nuggets nuggets.csv -c web --low 0 --high 1 --missing zero"))
def put(
    at: OneCollection,
    name: MatrixName,
    file: Annotated[str, Argument("the scores; - is standard input")],
    **query: Unpack[ScoreMatrixUploadQuery],
) -> None:
    """Upload scores of stored runs as the next version of a score matrix (organisers). The file is CSV with a header,
    the text of `trec_eval -q`, or JSON. From then on `custom:NAME` is a metric. In a collection of scores, the file may
    have any systems and topics.
    """
    with at.connect() as gainboard, uploading(file) as source:
        matrix = gainboard.put_score_matrix(at.collection, name, source, **query)
    happened = "left out" if matrix.missing == LEAVE_OUT else "filled"
    filled = f", {matrix.filled:,} missing scores {happened}" if matrix.filled else ""
    dropped = f", topics left out: {', '.join(matrix.dropped)}" if matrix.dropped else ""
    print(f"{matrix.label}: {matrix.runs:,} runs, {matrix.topics:,} topics{filled}{dropped}")


@command("list the score matrices", Example("gainboard matrix list -c web"))
def list_(at: OneCollection, *, format: Format = "table") -> None:
    """List the score matrices of a collection, each in its newest version."""
    with at.connect() as gainboard:
        print_many(gainboard.score_matrices(at.collection), COLUMNS, format)


@command("print scores as CSV", Example("gainboard matrix get judge -c web > judge.csv"))
def get(at: OneCollection, name: MatrixName) -> None:
    """Print a score matrix as CSV, with a row for each run and a column for each topic."""
    with at.connect() as gainboard:
        print_utf8()
        print(gainboard.score_matrix_text(at.collection, name), end="")


@command("delete a score matrix", Example("gainboard matrix delete spare -c web"))
def delete(at: OneCollection, name: MatrixName) -> None:
    """Delete a score matrix with all its versions (organisers). Jobs about it keep their results."""
    with at.connect() as gainboard:
        gainboard.delete_score_matrix(at.collection, name)
    print(f"{name}: deleted")
