"""Score matrices that a release holds, and files of ir_metadata beside runs.

Revision ID: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "release_matrices",
        sa.Column("release_id", sa.Integer(), nullable=False),
        sa.Column("matrix_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["release_id"], ["releases.id"], name="fk_release_matrices_release_id"),
        sa.ForeignKeyConstraint(["matrix_id"], ["score_matrices.id"], name="fk_release_matrices_matrix_id"),
        sa.PrimaryKeyConstraint("release_id", "matrix_id", name="pk_release_matrices"),
    )
    op.create_index("ix_release_matrices_matrix_id", "release_matrices", ["matrix_id"])
    op.create_table(
        "run_metadata",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_metadata_run_id"),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_metadata"),
    )
