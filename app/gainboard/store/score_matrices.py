"""Stored score matrices. Whoever changes one has locked the collection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, func, insert, select, update

from gainboard.errors import RowDamaged
from gainboard.store.arrays import pack, unpack
from gainboard.store.damage import columns_of, read_row
from gainboard.store.database import Transaction
from gainboard.store.records import ScoreMatrix
from gainboard.store.tables import score_matrices as table
from gainboard.trec.bodies import ZstdError, compress, decompress
from gainboard.trec.nuggets import Verdicts

Floats = NDArray[np.float64]
_KEPT = columns_of(ScoreMatrix, table)


def _record(row: Row[Any]) -> ScoreMatrix:
    read = read_row(ScoreMatrix, row._mapping)
    return replace(read, runs=tuple(read.runs), topics=tuple(read.topics), dropped=tuple(read.dropped))


def add(tx: Transaction, scores: Floats, verdicts: Verdicts | None, **values: Any) -> ScoreMatrix:
    """Add the next version of a matrix: `scores` float64 [runs, topics], and the verdicts that they follow from."""
    of_matrix = (table.c.collection_id == values["collection_id"]) & (table.c.name == values["name"])
    last = tx.execute(select(func.max(table.c.version)).where(of_matrix)).scalar() or 0
    packed = pack({"scores": np.ascontiguousarray(scores).ravel()})
    evidence = None if verdicts is None else compress(json.dumps(asdict(verdicts)).encode())
    values |= {"version": last + 1, "scores": packed, "verdicts": evidence}
    query = insert(table).values(values).returning(*_KEPT)
    return _record(tx.execute(query).one())


def find_newest(tx: Transaction, collection_id: int, name: str) -> ScoreMatrix | None:
    """Return the newest version of a matrix, unless the matrix was deleted."""
    versions = list_versions(tx, collection_id, name)
    return versions[-1] if versions else None


def list_versions(
    tx: Transaction, collection_id: int, name: str | None = None, deleted: bool = False
) -> list[ScoreMatrix]:
    """Return all versions of all matrices, or of one, by name and version; deleted ones only if so wanted."""
    query = select(*_KEPT).where(table.c.collection_id == collection_id).order_by(table.c.name, table.c.version)
    if name is not None:
        query = query.where(table.c.name == name)
    if not deleted:
        query = query.where(table.c.deleted_at.is_(None))
    return [_record(row) for row in tx.execute(query)]


def page(tx: Transaction, collection_id: int, after: str | None, limit: int | None) -> list[ScoreMatrix]:
    """Return the newest version of each matrix by name, except deleted ones."""
    live = table.c.collection_id == collection_id, table.c.deleted_at.is_(None)
    # A later version has a higher id.
    last = select(func.max(table.c.id)).where(*live).group_by(table.c.name)
    query = select(*_KEPT).where(table.c.id.in_(last)).order_by(table.c.name).limit(limit)
    if after is not None:
        query = query.where(table.c.name > after)
    return [_record(row) for row in tx.execute(query)]


def list_names(tx: Transaction, collection_id: int, limit: int) -> list[str]:
    """Return the names of matrices, in byte order, except deleted ones."""
    query = select(table.c.name).where(table.c.collection_id == collection_id, table.c.deleted_at.is_(None))
    return list(tx.execute(query.distinct().order_by(table.c.name).limit(limit)).scalars())


def has_scores(
    tx: Transaction, matrix: ScoreMatrix, runs: Sequence[str], topics: Sequence[str], scores: Floats
) -> bool:
    """Return whether a version has these scores: float64 [runs, topics], NaN where there is none."""
    axes = list(matrix.runs), list(matrix.topics)
    return axes == (runs, topics) and np.array_equal(scores_of(tx, matrix), scores, equal_nan=True)


def scores_of(tx: Transaction, matrix: ScoreMatrix) -> Floats:
    """Return the scores of a version: float64 [runs, topics]. Raise RowDamaged if they cannot be read."""
    packed = tx.execute(select(table.c.scores).where(table.c.id == matrix.id)).scalar_one()
    scores: Floats = unpack(packed)["scores"]
    runs, topics = len(matrix.runs), len(matrix.topics)
    if matrix.damage or scores.size != runs * topics:
        what = ", ".join(map(str, matrix.damage)) or f"{scores.size} scores for {runs} runs and {topics} topics"
        raise RowDamaged(f"The score matrix {matrix.name!r} cannot be read: {what}. Delete it, and upload it again.")
    return scores.reshape(runs, topics)


def verdicts_of(tx: Transaction, matrix: ScoreMatrix) -> Verdicts | None:
    """Return the verdicts that the scores of a version follow from; None if they do not follow from any."""
    packed = tx.execute(select(table.c.verdicts).where(table.c.id == matrix.id)).scalar_one()
    try:
        return None if packed is None else Verdicts(**json.loads(decompress(packed)))
    except (ZstdError, ValueError, TypeError) as error:
        raise RowDamaged(f"The verdicts of {matrix.metric} cannot be read. Delete the judge, and send them.") from error


def delete(tx: Transaction, matrices: Sequence[ScoreMatrix], now: datetime) -> None:
    """Delete versions. Their content stays, for the jobs that are about them."""
    ids = [matrix.id for matrix in matrices]
    tx.execute(update(table).where(table.c.id.in_(ids)).values(deleted_at=now))
