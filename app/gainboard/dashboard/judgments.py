"""`/c/{collection}/judgments`: judgment sets, their versions, what a draft would change, uploads, and pools."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal, cast

import numpy as np
from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from typing_extensions import TypedDict

from gainboard.analyses.job_kinds import schema_of
from gainboard.analyses.pool import Pooling
from gainboard.api import uploads
from gainboard.api.answers import answer, uploaded_file
from gainboard.api.collections import values_of
from gainboard.api.dependencies import CollectionName
from gainboard.api.models.collections import CollectionChange
from gainboard.api.qrels import JudgmentsDep, SetName, Version, publish_qrels
from gainboard.api.queries import asked_by, version_of
from gainboard.api.routes import JSON_BYTES
from gainboard.api.score_matrices import put_score_matrix
from gainboard.api.uploads import ReadersDep
from gainboard.dashboard.figures import FigureOnPage
from gainboard.dashboard.jobs import JobContextDep
from gainboard.dashboard.rendering import PrintedRequest, lead_to, page_of, pages
from gainboard.dashboard.schema_forms import fields_of
from gainboard.dashboard.sessions import FormDep, Place, PlaceDep, UploaderDep, VisitorDep
from gainboard.errors import InvalidRequest, NoQrels
from gainboard.evaluation import collections
from gainboard.evaluation.collections import read_queries
from gainboard.evaluation.judgments import publication, qrels, versions
from gainboard.evaluation.judgments.impact import impact
from gainboard.evaluation.judgments.judged_shares import judged_shares
from gainboard.evaluation.judgments.pools import PoolFormat, pool_pieces
from gainboard.evaluation.judgments.topic_groups import list_groups
from gainboard.evaluation.judgments.versions import list_sets
from gainboard.evaluation.releases.releases import list_releases
from gainboard.evaluation.scoring.requests import Question
from gainboard.evaluation.scoring.score_matrices import list_matrices
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.jobs.access import JobsWanted, list_jobs
from gainboard.jobs.pools import find_pool, judging_progress
from gainboard.notation.queries import LAST_VERSION, JudgmentsName, Said, ScoreMatrixUploadQuery
from gainboard.notation.texts import SLUG_PATTERN, order_topics, read_topics
from gainboard.store.records import VersionName
from gainboard.vocabulary import FROM_QRELS, OFFICIAL, SetState

router = pages()


class ComparedVersionQuery(TypedDict, total=False):
    """The query of a version's page: its set, and the version to compare it with."""

    judgments: JudgmentsName
    against: Annotated[int | None, Said(least=1, most=LAST_VERSION)]


LAYOUTS = ("trec", "topic-document-level", "topic-level-document", "topic-document", "trec-stratum")
INTENT_LAYOUTS = ("topic-intent-document-level",)
MOST = 200
MOST_MOVED = 30


@router.get("/c/{collection}/judgments")
def show_judgments(place: PlaceDep, judgments: JudgmentsDep = OFFICIAL) -> Response:
    """Show the judgment sets that this visitor may know of, and the versions of one of them."""
    workspace, principal, collection = place.workspace, place.principal, place.name
    is_judged = not place.view.collection.has_scores_alone
    versions_of_set = qrels.list_versions(workspace, principal, collection, judgments, None, MOST) if is_judged else []
    return page_of(
        place,
        "judgments.html",
        f"{'Judgments' if is_judged else 'Score files'} of {place.title}",
        "Judgments" if is_judged else "Score files",
        is_judged=is_judged,
        versions=versions_of_set[::-1],
        matrices=list_matrices(workspace, principal, collection),
        groups=list_groups(workspace, principal, collection),
        releases=list_releases(workspace, principal, collection)[1],
        queries=len(read_queries(workspace, place.view)),
        sets=list_sets(workspace, principal, collection) if is_judged else [],
        layouts=INTENT_LAYOUTS if place.view.collection.intents else LAYOUTS,
        shown=judgments,
        of_set=query_of_set(judgments),
        asking=PrintedRequest.of(place, "qrels", query_of_set(judgments)[1:])
        if is_judged
        else PrintedRequest.of(place, "score-matrices", "", method="score_matrices"),
    )


def query_of_set(judgments: str) -> str:
    """Return the query that names a judgment set, with its question mark; empty for the official one."""
    return "" if judgments == OFFICIAL else f"?judgments={judgments}"


@router.get("/c/{collection}/judgments/{version}")
def show_impact(
    version: Version,
    place: PlaceDep,
    asked: Annotated[ComparedVersionQuery, asked_by(ComparedVersionQuery, is_form=True)],
) -> Response:
    """Show a version, and what it changes compared with the one of its set in use, or with another (organisers)."""
    place.view.require_organiser()
    workspace, principal, collection = place.workspace, place.principal, place.name
    judgments = version_of(asked).judgments
    name = VersionName(judgments, version)
    seen, title = qrels.find_version(workspace, principal, collection, name), str(name)
    versions_of_set = qrels.list_versions(workspace, principal, collection, judgments, None, MOST)
    in_use = next((each.qrels.version for each in versions_of_set if each.in_use), None)
    against, change, moved = asked.get("against") or in_use, None, []
    if against not in (None, version):
        before = VersionName(judgments, against)
        change = impact(workspace, principal, collection, name, Question(), against=before)
        for metric in change.metrics:
            runs = zip(change.runs, *metric.means.tolist(), *metric.ranks.tolist(), strict=True)
            # The runs that change their rank, the largest change first: means and ranks, before and after.
            rows = [row for row in sorted(runs, key=lambda row: (-abs(row[4] - row[3]), row[4])) if row[3] != row[4]]
            moved.append(rows[:MOST_MOVED])
    return page_of(
        place,
        "version.html",
        f"{title[0].upper()}{title[1:]} of {place.title}",
        "Judgments",
        seen=seen,
        impact=change,
        others=[each.qrels.version for each in versions_of_set if each.qrels.version != version],
        moved=moved,
        level_name=lambda level: "not judged" if level is None else place.view.collection.level_name(level),
        of_set=query_of_set(judgments),
    )


@router.get("/c/{collection}/judgments/{version}/file.txt")
def download(
    collection: CollectionName, version: Version, visitor: VisitorDep, judgments: JudgmentsDep = OFFICIAL
) -> Response:
    """Return the file of a version, as it was uploaded."""
    name = VersionName(judgments, version)
    stored = qrels.find_version(visitor.workspace, visitor.principal, collection, name).qrels
    pieces = qrels.read_file(visitor.workspace, stored)
    return uploaded_file(pieces, stored.sha256, f"{collection}-{judgments}-{version}")


class NamedMatrixQuery(ScoreMatrixUploadQuery, total=False):
    """The query of an upload of scores from a page: that of the API, and the matrix's name."""

    name: Annotated[str, Said(pattern=SLUG_PATTERN, is_required=True)]


@router.post("/c/{collection}/score-matrices")
async def put_matrix(
    collection: CollectionName,
    visitor: UploaderDep,
    readers: ReadersDep,
    asked: Annotated[NamedMatrixQuery, asked_by(NamedMatrixQuery)],
) -> Response:
    """Upload scores from elsewhere, as the API does."""
    sent = cast(ScoreMatrixUploadQuery, {name: value for name, value in asked.items() if name != "name"})
    workspace, principal = visitor.workspace, visitor.principal
    return await put_score_matrix(collection, asked["name"], visitor.request, workspace, principal, readers, sent)


@router.post("/c/{collection}/declared-topics")
async def declare(collection: CollectionName, visitor: UploaderDep) -> Response:
    """Declare the topics of a list or of a table with their queries, which then replace all others."""
    async with uploads.received(visitor.request, JSON_BYTES) as sent:
        sent.body.file.seek(0)  # it is where the last byte was written
        text = await run_in_threadpool(sent.body.file.read)
    try:
        topics, queries = read_topics(text.decode("utf-8-sig"))
        # The model of the API refuses the same topics and texts here.
        change = CollectionChange.model_validate({"topics": topics, **({"queries": queries} if queries else {})})
    except (UnicodeError, ValidationError):
        message = (
            "The file is no list of topics: write their ids, separated by spaces or lines, in UTF-8; or a line for "
            "each topic: its id, a tab, and the text of its query."
        )
        raise InvalidRequest.at("body", "bad-topics", message) from None
    await run_in_threadpool(collections.change, visitor.workspace, visitor.principal, collection, values_of(change))
    return answer({"topics": len(topics), "queries": len(queries)})


@router.post("/c/{collection}/declared-topics/from-qrels")
def declare_judged(collection: CollectionName, visitor: VisitorDep, form: FormDep) -> Response:
    """Declare the topics of the published judgments."""
    collections.change(visitor.workspace, visitor.principal, collection, {"topics": FROM_QRELS})
    return _lead_back(visitor.request, collection)


@router.post("/c/{collection}/judgments/{version}/publish")
def publish(
    collection: CollectionName,
    version: Version,
    request: Request,
    context: JobContextDep,
    form: FormDep,
    judgments: JudgmentsDep = OFFICIAL,
) -> Response:
    """Publish a version: scores are then those under it. If that takes a job, show the job."""
    published = publish_qrels(collection, version, context, judgments)
    if published.status_code == HTTPStatus.ACCEPTED:
        return lead_to(request, f"/jobs/{published.headers['location'].rpartition('/')[2]}")
    return _lead_back(request, collection, judgments)


@router.post("/c/{collection}/judgments/{version}/discard")
def discard(
    collection: CollectionName, version: Version, visitor: VisitorDep, form: FormDep, judgments: JudgmentsDep = OFFICIAL
) -> Response:
    """Discard a draft."""
    publication.discard(visitor.workspace, visitor.principal, collection, VersionName(judgments, version))
    return _lead_back(visitor.request, collection, judgments)


@router.post("/c/{collection}/judgment-sets/{judgments}/{state}")
def change_set(
    collection: CollectionName, judgments: SetName, state: SetState, visitor: VisitorDep, form: FormDep
) -> Response:
    """Release a judgment set, or hide it again."""
    versions.release(visitor.workspace, visitor.principal, collection, judgments, is_released=state == "released")
    return _lead_back(visitor.request, collection)


def _lead_back(request: Request, collection: str, judgments: str = OFFICIAL) -> Response:
    return lead_to(request, f"/c/{collection}/judgments{query_of_set(judgments)}")


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
    shown_topics = order_topics([topic.topic for topic in pool.topics], place.view.collection.topics)
    rows = [(pool.topics[number], [version.by_topic[number] for version in progress]) for number in shown_topics]
    queries = read_queries(workspace, place.view)
    return values | {"pool": pool, "figures": figures, "progress": progress, "rows": rows, "queries": queries}


@router.get("/c/{collection}/pools/{job}.{form}")
def read_pool(job: str, form: Literal["txt", "ntcir", "csv", "json", "strata"], place: PlaceDep) -> Response:
    """Return the file of a pool for assessors: it does not tell who found a document."""
    pool = find_pool(place.workspace, place.principal, place.name, job, "path.job")
    if form == "strata" and not any(topic.strata for topic in pool.pool):
        raise InvalidRequest.at("path.form", "no-strata", "This pool is no sample. Make one with `strata`.")
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
