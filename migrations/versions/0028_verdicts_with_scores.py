"""The verdicts of judges on answers stand with the scores that follow, so that each version keeps its own.

Revision ID: 0028
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from gainboard.trec.bodies import compress, decompress

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

VERDICTS = sa.text(
    "SELECT runs.collection_id AS collection, judge, runs.name AS run, nuggets_id, assigned, support, sample "
    "FROM verdicts JOIN runs ON runs.id = verdicts.run_id WHERE runs.withdrawn_at IS NULL ORDER BY runs.name"
).columns(assigned=sa.JSON(), support=sa.JSON(), sample=sa.Boolean())
IN_USE = sa.text(
    "SELECT id FROM nuggets WHERE collection_id = :collection AND published_at IS NOT NULL "
    "ORDER BY published_at DESC, version DESC LIMIT 1"
)
NEWEST = sa.text(
    "SELECT id FROM score_matrices WHERE collection_id = :collection AND name = :name AND deleted_at IS NULL "
    "ORDER BY version DESC LIMIT 1"
)
IMPORTANCE = {"vital": "0", "okay": "1"}


def nuggets_of(connection: sa.Connection, nuggets_id: int) -> dict[str, dict[str, str]]:
    """Return the importance of each nugget by topic and text, in the order of the file."""
    content = connection.execute(sa.text("SELECT content FROM nuggets WHERE id = :id"), {"id": nuggets_id}).scalar_one()
    records = [
        json.loads(line) for line in decompress(content).removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()
    ]
    return {
        str(record.get("qid", record.get("topic_id"))): {
            nugget["text"]: IMPORTANCE.get(str(nugget.get("importance")), "2") for nugget in record["nuggets"]
        }
        for record in records
    }


def kept(connection: sa.Connection, collection: int, rows: list[Any]) -> dict[str, Any]:
    """Return the verdicts on nuggets of a judge, over all nuggets that were judged."""
    current = nuggets_of(connection, connection.execute(IN_USE, {"collection": collection}).scalar_one())
    earlier = {row.nuggets_id: nuggets_of(connection, row.nuggets_id) for row in rows}
    both = {
        topic: {
            **{text: "-" for nuggets in earlier.values() for text in nuggets.get(topic, ())},
            **current.get(topic, {}),
        }
        for topic in sorted({topic for nuggets in (current, *earlier.values()) for topic in nuggets}, key=str.encode)
    }
    runs: dict[str, dict[str, str]] = {}
    for row in rows:
        judged = earlier[row.nuggets_id]
        runs[row.run] = {} if row.sample else dict.fromkeys(judged, "")
        for topic, digits in row.assigned.items():
            by_text = dict(zip(judged.get(topic, ()), digits, strict=False))
            runs[row.run][topic] = "".join(by_text.get(text, "-") for text in both.get(topic, ()))
    return {"runs": runs, "nuggets": both, "sampled": [row.run for row in rows if row.sample]}


def upgrade() -> None:
    connection = op.get_bind()
    op.add_column("score_matrices", sa.Column("verdicts", sa.LargeBinary(), nullable=True))
    by_judge: dict[tuple[int, str], list[Any]] = {}
    for row in connection.execute(VERDICTS):
        by_judge.setdefault((row.collection, row.judge), []).append(row)
    for (collection, judge), rows in by_judge.items():
        cited = [row for row in rows if row.support]
        evidence: dict[str, Any] = {}
        if assigned := [row for row in rows if row.nuggets_id is not None]:
            evidence["nuggets--vital_strict"] = kept(connection, collection, assigned)
        if cited:
            sampled = [row.run for row in cited if row.sample]
            of_runs = {row.run: row.support for row in cited}
            evidence["support--precision"] = {"runs": of_runs, "nuggets": {}, "sampled": sampled}
        for name, verdicts in evidence.items():
            named = {"collection": collection, "name": name if judge == "official" else f"{name}--{judge}"}
            if matrix_id := connection.execute(NEWEST, named).scalar():
                values = {"id": matrix_id, "verdicts": compress(json.dumps(verdicts).encode())}
                connection.execute(sa.text("UPDATE score_matrices SET verdicts = :verdicts WHERE id = :id"), values)
    op.drop_table("verdicts")
