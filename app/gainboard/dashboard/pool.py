"""`/c/{collection}/pool`: how much of what the runs found is judged, by rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from fastapi import Request, Response
from numpy.typing import NDArray

from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.dashboard.figures import FigureOnPage
from gainboard.dashboard.places import enter
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.errors import NoQrels
from gainboard.evaluation.pool import JudgedShares, judged_shares
from gainboard.exhibits import Axis, Figure, Panel, Series

router = pages()
RANKS = (1, 5, 10, 20, 50, 100)
THIN = 0.5


@router.get("/c/{collection}/pool")
def show_pool(collection: CollectionName, request: Request, workspace: WorkspaceDep, visitor: VisitorDep) -> Response:
    """Show the share of judged documents by rank, of all runs and of each."""
    place = enter(workspace, visitor, collection)
    look = PageLook(f"Pool of {place.title}", place, "Pool")
    try:
        found = judged_shares(workspace, place.view.principal, collection)
    except NoQrels as error:
        return page(request, visitor, "pool.html", look, found=None, why=error.message)
    mean = found.mean
    ranks = [rank for rank in RANKS if rank <= found.shares.shape[1]]
    return page(
        request,
        visitor,
        "pool.html",
        look,
        found=found,
        ranks=ranks,
        rows=[
            (run, [shares[rank - 1] for rank in ranks]) for run, shares in zip(found.runs, found.shares, strict=True)
        ],
        mean=[mean[rank - 1] for rank in ranks],
        thin=next((rank for rank, share in enumerate(mean.tolist(), start=1) if share < THIN), None),
        figure_shown=FigureOnPage.of(_figure(found, mean)),
    )


def _figure(found: JudgedShares, mean: NDArray[np.float64]) -> Figure:
    ranks: Sequence[float] = list(range(1, len(mean) + 1))
    series = [Series("mean of all runs", ranks, mean.tolist(), "line")]
    last = found.shares[:, -1]
    if not np.isnan(last).all():  # a run that retrieves nothing for the judged topics has no shares
        for title, row in (("least judged", int(np.nanargmin(last))), ("most judged", int(np.nanargmax(last)))):
            series.append(Series(f"{title}: {found.runs[row].name}", ranks, found.shares[row].tolist(), "line"))
    axes = (Axis("Rank", counts=True), Axis("Share of judged documents", limits=(0.0, 1.0)))
    return Figure(
        "judged", "The share of judged documents among the first r, mean over topics.", [Panel(*axes, series)]
    )
