"""The order of a run's lines. Commands on files need it, and do without the records of the database."""

from __future__ import annotations

from typing import Literal, NamedTuple

OrderBy = Literal["score", "score32", "rank"]


class RunOrder(NamedTuple):
    """The order of a run's lines: what determines a rank, and whether a line may be left out.

    With `ignore_identical_ids`, lines whose document id is their topic's are left out, before ranks and depth.
    """

    order_by: OrderBy = "score"
    ignore_identical_ids: bool = False

    def __str__(self) -> str:
        """Return the order for messages: "score", or "score without documents that are named like their topic"."""
        return self.order_by + (" without documents that are named like their topic" * self.ignore_identical_ids)
