"""`/c/{collection}/pool`: the pools of documents to judge, and how much of what the runs found is judged, by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from gainboard.analyses.job_kinds import schema_of
from gainboard.analyses.pool import Pooling
from gainboard.dashboard.figures import FigureOnPage
from gainboard.dashboard.places import Place, PlaceDep
from gainboard.dashboard.rendering import page_of, pages
from gainboard.dashboard.schema_forms import fields_of
from gainboard.errors import NoQrels
from gainboard.evaluation.judgments.judged_shares import judged_shares
from gainboard.evaluation.judgments.pools import PoolFormat, pool_pieces
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.jobs.access import JobsWanted, list_jobs
from gainboard.jobs.pools import find_pool, judging_progress

router = pages()
RANKS = (1, 5, 10, 20, 50, 100)
THIN = 0.5
LISTED = 10
MEDIA_TYPES = {"csv": "text/csv", "json": "application/json"}
FIRST_FIELDS = ("depth", "order", "budget", "top")


@router.get("/c/{collection}/pool")
def show_pool(place: PlaceDep, job: Annotated[str | None, Query()] = None) -> Response:
    """Show the pools to organisers, and the share of judged documents by rank, of all runs and of each."""
    pools = _pools(place, job) if place.view.organises else None
    return page_of(place, "pool.html", f"Pool of {place.title}", "Pool", pools=pools, **_shares(place))


def _pools(place: Place, job: str | None) -> dict[str, Any]:
    """Return what organisers see: the pools that there are, the one that is shown, and the form for another."""
    workspace, principal = place.workspace, place.principal
    jobs = [seen.work for seen in list_jobs(workspace, principal, JobsWanted(place.name, Pooling.name), None, LISTED)]
    shown = job or next((work.id for work in jobs if work.state == "succeeded"), None)
    fields = fields_of(schema_of(Pooling.params_model), {})
    values = {"jobs": jobs, "shown": shown, "fields": fields, "first_fields": FIRST_FIELDS, "pool": None}
    if shown is None:
        return values
    pool = find_pool(workspace, principal, place.name, shown, "query.job")
    progress = judging_progress(workspace, principal, place.name, pool)
    figures = [FigureOnPage.of(figure) for figure in pool.figures()]
    rows = [(topic, [version.by_topic[number] for version in progress]) for number, topic in enumerate(pool.topics)]
    return values | {"pool": pool, "figures": figures, "progress": progress, "rows": rows}


@router.get("/c/{collection}/pools/{job}.{form}")
def read_pool(job: str, form: Literal["txt", "ntcir", "csv", "json"], place: PlaceDep) -> Response:
    """Return the file of a pool for assessors: it does not tell who found a document."""
    pool = find_pool(place.workspace, place.principal, place.name, job, "path.job")
    kind: PoolFormat = "trec" if form == "txt" else form
    name = f"{place.name}-pool-{job[:12]}.{'txt' if form == 'ntcir' else form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(
        pool_pieces(pool.pool, kind), media_type=MEDIA_TYPES.get(form, "text/plain"), headers=headers
    )


def _shares(place: Place) -> dict[str, Any]:
    """Return the shares of judged documents by rank, in numbers and as a figure; or why there are none."""
    try:
        judged = judged_shares(place.workspace, place.principal, place.name)
    except NoQrels as error:
        return {"judged": None, "why": error.message}
    mean, deepest = judged.mean, judged.shares.shape[1]
    ranks = [rank for rank in RANKS if rank <= deepest]
    every_rank: Sequence[float] = list(range(1, deepest + 1))
    series = [Series("mean of all runs", every_rank, mean.tolist(), "line")]
    last = judged.shares[:, -1]
    if not np.isnan(last).all():  # a run that retrieves nothing for the judged topics has no shares
        for title, row in (("least judged", int(np.nanargmin(last))), ("most judged", int(np.nanargmax(last)))):
            series.append(Series(f"{title}: {judged.runs[row].name}", every_rank, judged.shares[row].tolist(), "line"))
    axes = Axis("Rank", counts=True), Axis("Share of judged documents", limits=(0.0, 1.0))
    caption = "The share of judged documents among the first r, mean over topics."
    return {
        "judged": judged,
        "ranks": ranks,
        "by_run": [
            (run, [shares[rank - 1] for rank in ranks]) for run, shares in zip(judged.runs, judged.shares, strict=True)
        ],
        "mean": [mean[rank - 1] for rank in ranks],
        "thin": next((rank for rank, share in enumerate(mean.tolist(), start=1) if share < THIN), None),
        "figure_shown": FigureOnPage.of(Figure("judged", caption, [Panel(*axes, series)])),
    }
