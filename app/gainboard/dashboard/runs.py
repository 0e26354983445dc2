"""`/c/{collection}/runs/{run}`: one run, its scores under all metrics, and its curves.

`/c/{collection}/submissions` has runs as they arrive, what a team has left, and the upload of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from fastapi import Query, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.api import uploads
from gainboard.api.answers import answer, server_address, uploaded_file
from gainboard.api.dependencies import CollectionName
from gainboard.api.leaderboard import cite_board
from gainboard.api.queries import asked_by, question_of, version_of
from gainboard.api.runs import RunName, in_slot
from gainboard.api.uploads import ReadersDep
from gainboard.dashboard.board import DIGITS, shown_digits
from gainboard.dashboard.figures import FigureOnPage
from gainboard.dashboard.rendering import PrintedRequest, lead_to, page_of, pages, query_of
from gainboard.dashboard.sessions import FormDep, Place, PlaceDep, UploaderDep, VisitorDep
from gainboard.errors import JudgmentsHidden, NoQrels, NotFound, Refused
from gainboard.evaluation.access import score_budget
from gainboard.evaluation.access.teams import list_teams, runs_left
from gainboard.evaluation.access.visibility import View, require_participation
from gainboard.evaluation.boards.leaderboard import Board, Row, TopicScore, leaderboard
from gainboard.evaluation.boards.rankings import RunProfile, run_profile
from gainboard.evaluation.judgments import qrels
from gainboard.evaluation.judgments.impact import shown_scores_changed_at
from gainboard.evaluation.runs import run_properties, runs
from gainboard.evaluation.runs.receipts import receipt_of_run
from gainboard.evaluation.runs.run_properties import identify_numbers, score_ties
from gainboard.evaluation.runs.runs import RunDetails, SeenRun
from gainboard.evaluation.scoring.identification import Numbers, in_words
from gainboard.evaluation.scoring.requests import Question, score
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.notation.queries import MetricsQuery, RankingOptions, RunUploadQuery, Said, UsersQuery
from gainboard.notation.types import INTEGER
from gainboard.statistics.means import competition_ranks
from gainboard.vocabulary import OFFICIAL

router = pages()


class RunPageQuery(MetricsQuery, RankingOptions, UsersQuery, total=False):
    """The query of the page: that of the API's leaderboard, which has the scores of all runs, and of `/identify`."""

    number: Annotated[str, Said(longest=40)]
    called: Annotated[str, Said(longest=100)]


@router.get("/c/{collection}/runs/{run}")
def show_run(
    run: RunName, place: PlaceDep, asked: Annotated[RunPageQuery, asked_by(RunPageQuery, is_form=True)]
) -> Response:
    """Show a run as far as this visitor may see it."""
    workspace, principal, collection = place.workspace, place.principal, place.name
    receipt, profile = None, None
    board, why = _find_board(place, replace(question_of(asked), cwl=False), asked.get("by"), run)
    rows = board.rows if board else []
    at = next((number for number, row in enumerate(rows) if row.run.name == run), None)
    if at is not None and rows[at].replicates:
        return lead_to(place.request, f"{place.path}?find={run}")  # a system is no run, and the board unfolds its runs
    seen = runs.find_run(workspace, principal, collection, run)
    is_judged = not place.view.collection.has_scores_alone
    if is_judged and (place.view.organises or seen.run.team_id == place.view.own_team):
        # A run that arrived before the audit log began has none.
        with suppress(NotFound):
            receipt = receipt_of_run(workspace, principal, collection, run)
    if is_judged and place.view.sees_judgments:
        profile = run_profile(workspace, principal, collection, run, qrels=version_of(asked))
    row = rows[at] if at is not None else None
    by_topic = row if row and place.view.sees_free_scores and row.topics else None
    figures = [*([_topics_figure(by_topic)] if by_topic else ()), *([_figure(profile)] if profile else ())]
    of_others = ("by", "number", "called")
    query = query_of({"run": run} | {name: value for name, value in asked.items() if name not in of_others})
    return page_of(
        place,
        "run.html",
        f"Run {run} of {place.title}",
        "Board",
        seen=seen,
        receipt=receipt,
        described=_described(place, run) if is_judged else (),
        is_judged=is_judged,
        scores=_scores(row) if row else [],
        why=why or (board.scores.withheld.get(run) if board else None),
        digits=shown_digits(board) if board else DIGITS,
        cited=cite_board(board, f"{server_address(place.request)}{place.path}/runs/{run}?{query}", row)
        if board and row and place.view.sees_judgments
        else None,
        count=len(rows),
        sees_all=place.view.sees_free_scores or place.view.scores == "all",
        above=rows[at - 1].run.name if at else None,
        below=rows[at + 1].run.name if at is not None and at + 1 < len(rows) else None,
        ties=_ties(place, seen, board) if board else None,
        board=board,
        has_users=is_judged and seen.run.has_ranking and board is not None and place.view.sees_judgments,
        numbers_of_users=_numbers_of_users(place, run, board) if board and asked.get("cwl") else None,
        weakest=_weakest(by_topic) if by_topic else [],
        figures=[FigureOnPage.of(figure) for figure in figures],
        explained=_explained(place, run, asked) if is_judged and place.view.sees_judgments else [],
        asked=asked,
        numbers=query,
        asking=PrintedRequest.of(place, "scores", query),
    )


def _find_board(
    place: Place, question: Question, by: str | None = None, run: str | None = None
) -> tuple[Board | None, str | None]:
    """Return the board that this visitor may see, or why there is none. `run` is on it, though it is a replicate."""
    try:
        board = leaderboard(place.workspace, place.sender, place.name, question, by)
        if run in {member.name for member in board.scores.members} - {*board.scores.names}:
            # It stands beside the other systems, as where a request names it.
            others = [row.run.name for row in board.rows if all(it["name"] != run for it in row.replicates)]
            board = leaderboard(place.workspace, place.sender, place.name, replace(question, runs=[*others, run]), by)
    except (NoQrels, Refused) as error:
        return None, error.message
    return board, None


@router.get("/c/{collection}/runs/{run}/file.txt")
def download(collection: CollectionName, run: RunName, visitor: VisitorDep) -> Response:
    """Return the file of a run, as it was uploaded."""
    seen = runs.find_run(visitor.workspace, visitor.principal, collection, run, for_file=True)
    return uploaded_file(runs.read_file(visitor.workspace, seen.run), seen.run.sha256, run)


def _explained(place: Place, run: str, asked: RunPageQuery) -> list[str]:
    """Return what gives the number that the visitor sent, if there is one."""
    if not (number := asked.get("number")):
        return []
    numbers = [Numbers([number], asked.get("called", ""))]
    return in_words(identify_numbers(place.workspace, place.principal, place.name, run, numbers, version_of(asked))[1])


def _described(place: Place, run: str) -> Sequence[tuple[str, str, Any]]:
    """Return the ir_metadata of the run, each under an id and a title, for those who may read its file."""
    with suppress(JudgmentsHidden):
        header, beside = run_properties.find_metadata(place.workspace, place.principal, place.name, run)
        described = (
            ("metadata", "What the file says of the run (ir_metadata)", header),
            ("resources", "What a file beside the run says of it (ir_metadata)", beside.read if beside else None),
        )
        return [(key, title, metadata) for key, title, metadata in described if metadata is not None]
    return []


def _scores(row: Row) -> Sequence[dict[str, Any]]:
    """Return the run's mean under each metric, with its interval and its rank."""
    metrics = row.board.scores.metrics
    # Ranks count from the highest mean, also under a metric whose lower scores are better.
    upwards = [-means if metric.is_reversed else means for metric, means in zip(metrics, row.board.means, strict=True)]
    ranks = [int(competition_ranks(means)[row.column]) for means in upwards]
    return [
        {"label": metric.label, "name": metric.metric.name, "mean": mean, "interval": interval, "rank": rank}
        for metric, mean, interval, rank in zip(metrics, row.means, row.intervals, ranks, strict=True)
    ]


def _ties(place: Place, seen: runs.SeenRun, board: Board) -> dict[str, Any] | None:
    """Return the share of tied documents, and the range of each mean over their orders, if this visitor may see it.

    Metrics that have no range for this run are left out.
    """
    is_tied = any(warning["code"] in ("tied-scores", "all-scores-equal") for warning in seen.warnings)
    labels = [bound.label for bound in board.scores.metrics if bound.metric.sorted_is_best and not bound.needs_intents]
    if not (is_tied and labels and place.view.sees_judgments):
        return None
    version = board.scores.qrels.named
    # Scores in other orders of tied documents tell more of the judgments than scores do.
    question = Question(labels, [seen.run.name], qrels=version, admit=View.require_judgments)
    table = score(place.workspace, place.sender, place.name, question)
    ((ties, scores),) = score_ties(place.workspace, table, "range")
    ends = zip(scores.means["worst"].tolist(), scores.means["best"].tolist(), strict=True)
    return {"share": ties.tied_share, "ranges": dict(zip(table.labels, ends, strict=True))}


def _numbers_of_users(place: Place, run: str, board: Board) -> Mapping[str, Mapping[str, float]]:
    """Return the five numbers of users by label: of the page's metrics, or of others if these have no user model."""
    labels = [metric.label for metric in board.scores.metrics if metric.user_model]
    labels = labels or ["RBP", "ERR", "P@10", "RR", "INST", "INSQ"]
    question = Question(labels, [run], qrels=board.scores.qrels.named, cwl=True)
    return score(place.workspace, place.sender, place.name, question).beside[0]


WEAKEST = 5


def _weakest(row: Row) -> list[TopicScore]:
    """Return the topics on which the run is furthest behind the median of all runs."""
    sign = -1 if row.board.metric.is_reversed else 1
    behind = [topic for topic in row.topics if sign * topic.score < sign * topic.median]
    return sorted(behind, key=lambda topic: sign * (topic.score - topic.median))[:WEAKEST]


def _topics_figure(row: Row) -> Figure:
    names, scores, medians = (list(values) for values in zip(*row.topics, strict=True))
    places = list(range(len(names)))
    median = f"median of {len(row.board.scores.runs)} runs"
    series = [Series("this run", places, scores, "points"), Series(median, places, medians, "line")]
    axes = Axis("Topic, the lowest median first", categories=names), Axis(row.board.by)
    caption = f"{row.board.by} of {row.run.name} by topic, and the {median}."
    return Figure("topics", caption, [Panel(*axes, series, title="Scores by topic")])


def _figure(profile: RunProfile) -> Figure:
    ranks, rank, whole = list(range(1, len(profile.gain) + 1)), Axis("Rank", counts=True), (0.0, 1.0)
    gain, judged = (Series("this run", ranks, it.tolist(), "line") for it in (profile.gain, profile.judged_share))
    ideal = Series("ideal ranking", ranks, profile.ideal_gain.tolist(), "line")
    precision = Series("this run", [level / 10 for level in range(11)], profile.precision.tolist())
    of_recall = Axis("Recall", limits=whole), Axis("Interpolated precision", limits=whole)
    panels = [
        Panel(rank, Axis("Cumulated gain"), [gain, ideal], title="Gain by rank"),
        Panel(*of_recall, [precision], title="Precision by recall"),
        Panel(rank, Axis("Share of judged documents", limits=whole), [judged], title="Judged documents"),
    ]
    caption = f"Means over topics; gains {profile.gains}, relevant from level {profile.rel}."
    return Figure("profile", caption, panels)


MOST = 2000
FEW = 10
"""The runs of each team that organisers see at first, the newest."""
MOST_TEAMS, MOST_RUNS = 25, 100
"""The most teams on a page of all, and the most runs on a page of one team."""
FORMATS = "TREC's format: topic, Q0, document, rank, score, run tag; plain, gzip or zstd"


@dataclass(frozen=True)
class TeamRuns:
    """A team with its runs, the last one first, and how many it may still send (None without a quota)."""

    name: str
    runs: Sequence[SeenRun]
    left: int | None


@router.get("/c/{collection}/submissions")
def show_submissions(
    place: PlaceDep, team: str | None = None, page: Annotated[int, Query(ge=1, le=MOST), INTEGER] = 1
) -> Response:
    """Show the runs that this visitor may see, by team, and the place to upload one."""
    require_participation(place.view)
    workspace, principal, collection = place.workspace, place.principal, place.name
    own_team = place.view.own_team
    seen = runs.list_runs(workspace, principal, collection, None, MOST)
    shown = [each for each in seen if own_team in (None, each.run.team_id)]
    shown.sort(key=lambda each: each.run.created_at, reverse=True)
    # A team sees a board without being charged under the presets, or once scores are free.
    is_free = place.view.sees_free_scores or bool(place.view.policy.presets)
    board, _ = _find_board(place, Question()) if own_team is not None and is_free else (None, None)
    means = board.scores.arrays.means_of_runs[board.place].tolist() if board else []
    _, every_team = list_teams(workspace, principal, collection, None, MOST)
    teams = [each for each in every_team if own_team in (None, each.id)]
    chosen = [each for each in teams if team in (None, each.name)]
    is_overview = place.view.organises and team is None
    counted, size = (len(chosen), MOST_TEAMS) if is_overview else (sum(each.runs for each in chosen), MOST_RUNS)
    on_page = slice(size * (page - 1), size * page)
    chosen = chosen[on_page] if is_overview else chosen
    left = runs_left(workspace, place.view, chosen)
    closed = None
    try:
        # Organisers name the team in the form, which comes with the file.
        runs.admit(workspace, principal, collection, None, team_may_follow=True)
    except Refused as refusal:
        closed = refusal.message
    return page_of(
        place,
        "submissions.html",
        f"Submissions to {place.title}",
        "Submissions",
        teams=[
            TeamRuns(each.name, [run for run in shown if run.run.team == each.name], left[each.id]) for each in chosen
        ],
        team_names=[each.name for each in teams],
        rows=slice(FEW) if is_overview else on_page,
        is_overview=is_overview,
        page=page,
        pages=-(-counted // size),
        chosen=team,
        count=len(shown),
        most=MOST,
        allowance=score_budget.allowance_of(workspace, principal),
        closed=closed,
        formats=FORMATS,
        may_withdraw=runs.may_withdraw(place.view, place.now),
        news=_judgment_news(place),
        board=board,
        digits=shown_digits(board) if board else DIGITS,
        means=dict(zip((run.name for run in board.scores.members), means, strict=True)) if board else {},
        scores_changed_at=shown_scores_changed_at(workspace, board) if board else None,
    )


def _judgment_news(place: Place) -> dict[str, Any] | None:
    """Return the version of the judgments in use and the one that it replaced; None unless it replaced one.

    None also for whoever may not see the judgments.
    """
    if not place.view.sees_judgments:
        return None
    versions = qrels.list_versions(place.workspace, place.principal, place.name, OFFICIAL, None, MOST)
    published = [each.qrels for each in versions if each.qrels.published_at is not None]
    published.sort(key=lambda version: version.published_at or version.created_at)
    return {"now": published[-1], "before": published[-2]} if len(published) > 1 else None


@router.post("/c/{collection}/check")
async def check(
    visitor: UploaderDep,
    place: PlaceDep,
    readers: ReadersDep,
    asked: Annotated[RunUploadQuery, asked_by(RunUploadQuery)],
) -> Response:
    """Check a run file, and store nothing. Problems are the same as those of an upload."""
    workspace, principal = place.workspace, place.principal
    async with (
        readers.reading(principal),
        in_slot(workspace, place.view),
        uploads.received(visitor.request, workspace.limits.compressed_bytes, RunUploadQuery, asked) as sent,
    ):
        details = RunDetails(**sent.query)
        checked = await run_in_threadpool(runs.check, workspace, principal, place.name, sent.body, details)
    return answer(asdict(checked))


@router.post("/c/{collection}/runs/{run}/withdraw")
def withdraw(collection: CollectionName, run: RunName, visitor: VisitorDep, form: FormDep) -> Response:
    """Withdraw a run, and show the others."""
    runs.withdraw(visitor.workspace, visitor.principal, collection, run)
    return lead_to(visitor.request, f"/c/{collection}/submissions")
