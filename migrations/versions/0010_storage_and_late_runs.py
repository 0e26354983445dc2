"""Collections remember their release, runs whose content was deleted are marked, and stored policies stay as they were.

Revision ID: 0010
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_collections = sa.table(
    "collections",
    sa.column("id", sa.Integer()),
    sa.column("phase", sa.String()),
    sa.column("policy", sa.JSON()),
    sa.column("released_at", sa.DateTime()),
)
_audit = sa.table("audit", sa.column("collection_id", sa.Integer()), sa.column("action"), sa.column("at", sa.String()))
_UNLIMITED = {"late": "open", "bytes": None}


def upgrade() -> None:
    op.add_column("collections", sa.Column("released_at", sa.DateTime(), nullable=True))
    op.add_column("runs", sa.Column("pruned_at", sa.DateTime(), nullable=True))
    connection = op.get_bind()
    # The new defaults are for new collections alone. Teams of a stored one were promised no such limits.
    for identity, policy in connection.execute(sa.select(_collections.c.id, _collections.c.policy)).all():
        values = {"policy": {**(policy or {}), **_UNLIMITED}}
        connection.execute(sa.update(_collections).where(_collections.c.id == identity).values(values))
    first = sa.func.min(_audit.c.at)
    released = sa.select(_audit.c.collection_id, first).where(_audit.c.action == "collection-released")
    for identity, at in connection.execute(released.group_by(_audit.c.collection_id)).all():
        time = datetime.strptime(at, "%Y-%m-%dT%H:%M:%S.%fZ")
        connection.execute(sa.update(_collections).where(_collections.c.id == identity).values(released_at=time))
