"""`/c/{collection}/runs/{run}`: one run, its scores under all metrics, and its curves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Request, Response

from gainboard.api.dependencies import CollectionName, WorkspaceDep
from gainboard.api.queries import asked_by, question_of, version_of
from gainboard.api.runs import RunName
from gainboard.dashboard.board import DIGITS, shown_digits
from gainboard.dashboard.figures import FigureOnPage
from gainboard.dashboard.places import Place, enter
from gainboard.dashboard.rendering import PageLook, PrintedRequest, page, pages, query_of
from gainboard.dashboard.sessions import Visitor, VisitorDep
from gainboard.errors import JudgmentsHidden, NoQrels, NotFound, Refused
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.boards.leaderboard import Board, leaderboard
from gainboard.evaluation.boards.rankings import RunProfile, run_profile
from gainboard.evaluation.runs import run_metadata, runs
from gainboard.evaluation.runs.receipts import Receipt, receipt_of_run
from gainboard.evaluation.scoring.requests import Question, score
from gainboard.evaluation.scoring.tied_runs import score_ties
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.notation.queries import MetricsQuery, RankingOptions
from gainboard.statistics.means import competition_ranks

router = pages()


class RunPageQuery(MetricsQuery, RankingOptions, total=False):
    """The query of the page: that of the API's leaderboard, which has the scores of all runs."""


@router.get("/c/{collection}/runs/{run}")
def show_run(
    collection: CollectionName,
    run: RunName,
    request: Request,
    workspace: WorkspaceDep,
    visitor: VisitorDep,
    asked: Annotated[RunPageQuery, asked_by(RunPageQuery, is_form=True)],
) -> Response:
    """Show a run as far as this visitor may see it."""
    place = enter(workspace, visitor, collection)
    seen = runs.described(workspace, place.view.principal, collection, run)
    board, why = _board(workspace, visitor, place, asked)
    query = query_of({"run": run} | {name: value for name, value in asked.items() if name != "by"})
    profile = _profile(workspace, place, run, asked)
    names = [row.run.name for row in board.rows] if board else []
    at = names.index(run) if run in names else None
    return page(
        request,
        visitor,
        "run.html",
        PageLook(f"Run {run} of {place.title}", place, "Board"),
        seen=seen,
        receipt=_receipt(workspace, place, seen),
        described=_described(workspace, place, seen),
        scores=_scores(board, run) if board else [],
        why=why or (board.scores.withheld.get(run) if board else None),
        digits=shown_digits(board) if board else DIGITS,
        count=len(names),
        sees_all=place.view.sees_free_scores or place.view.scores == "all",
        above=names[at - 1] if at else None,
        below=names[at + 1] if at is not None and at + 1 < len(names) else None,
        ties=_ties(workspace, visitor, place, seen, board) if board else None,
        figures=[FigureOnPage.of(figure) for figure in _figures(profile)] if profile else [],
        numbers=query,
        asking=PrintedRequest.of(request, "scores", collection, query),
    )


def _receipt(workspace: Workspace, place: Place, seen: runs.SeenRun) -> Receipt | None:
    """Return the receipt of the run for its team and for organisers; None for others, or if there is none."""
    if not (place.view.organises or seen.run.team_id == place.view.own_team):
        return None
    with suppress(NotFound):
        return receipt_of_run(workspace, place.view.principal, place.name, seen.run.name)
    return None


def _described(workspace: Workspace, place: Place, seen: runs.SeenRun) -> Sequence[tuple[str, str, Any]]:
    """Return the ir_metadata of the run, each under an id and a title, for those who may read its file."""
    with suppress(JudgmentsHidden):
        header, beside = run_metadata.find(workspace, place.view.principal, place.name, seen.run.name)
        found = (
            ("metadata", "What the file says of the run (ir_metadata)", header),
            ("resources", "What a file beside the run says of it (ir_metadata)", beside.read if beside else None),
        )
        return [(key, title, each) for key, title, each in found if each is not None]
    return []


def _profile(workspace: Workspace, place: Place, run: str, asked: RunPageQuery) -> RunProfile | None:
    if not place.view.sees_judgments:
        return None
    return run_profile(workspace, place.view.principal, place.name, run, qrels=version_of(asked))


def _board(
    workspace: Workspace, visitor: Visitor, place: Place, asked: RunPageQuery
) -> tuple[Board | None, str | None]:
    """Return the board, or why this visitor sees none."""
    try:
        return leaderboard(workspace, visitor.sender, place.name, question_of(asked), asked.get("by")), None
    except (NoQrels, Refused) as error:
        return None, error.message


def _scores(board: Board, run: str) -> Sequence[dict[str, Any]]:
    """Return the run's mean under each metric, with its interval and its rank."""
    row = next((row for row in board.rows if row.run.name == run), None)
    if row is None:
        return []
    upwards = [
        -means if metric.is_reversed else means for metric, means in zip(board.scores.metrics, board.means, strict=True)
    ]
    ranks = [int(competition_ranks(others)[row.column]) for others in upwards]
    columns = zip(board.scores.metrics, row.means, row.intervals, ranks, strict=True)
    return [
        {"label": metric.label, "name": metric.metric.name, "mean": mean, "interval": interval, "rank": rank}
        for metric, mean, interval, rank in columns
    ]


def _ties(
    workspace: Workspace, visitor: Visitor, place: Place, seen: runs.SeenRun, board: Board
) -> dict[str, Any] | None:
    """Return the share of tied documents, and the range of each mean over their orders, if this visitor may see it.

    Metrics that have no range for this run are left out.
    """
    is_tied = any(warning["code"] in ("tied-scores", "all-scores-equal") for warning in seen.warnings)
    ranged = [each for each in board.scores.metrics if each.metric.sorted_is_best and not each.needs_intents]
    labels = [metric.label for metric in ranged]
    if not (is_tied and labels and place.view.sees_judgments):
        return None
    version = board.scores.qrels.named
    question = Question(labels, [seen.run.name], qrels=version, admit=View.require_judgments)
    table = score(workspace, visitor.sender, place.name, question)
    ((ties, scores),) = score_ties(workspace, table, "range")
    ends = zip(scores.means["worst"].tolist(), scores.means["best"].tolist(), strict=True)
    return {"share": ties.tied_share, "ranges": dict(zip(table.labels, ends, strict=True))}


def _figures(profile: RunProfile) -> list[Figure]:
    ranks = list(range(1, len(profile.gain) + 1))
    rank = Axis("Rank", counts=True)
    gain = Panel(
        rank,
        Axis("Cumulated gain"),
        [
            Series("this run", ranks, profile.gain.tolist(), "line"),
            Series("ideal ranking", ranks, profile.ideal_gain.tolist(), "line"),
        ],
        title="Gain by rank",
    )
    recall = [level / 10 for level in range(11)]
    precision = Panel(
        Axis("Recall", limits=(0.0, 1.0)),
        Axis("Interpolated precision", limits=(0.0, 1.0)),
        [Series("this run", recall, profile.precision.tolist())],
        title="Precision by recall",
    )
    judged = Panel(
        rank,
        Axis("Share of judged documents", limits=(0.0, 1.0)),
        [Series("this run", ranks, profile.judged_share.tolist(), "line")],
        title="Judged documents",
    )
    caption = f"Means over topics; gains {profile.gains}, relevant from level {profile.rel}."
    return [Figure("profile", caption, [gain, precision, judged])]
