"""`/c/{collection}/topics`: all topics by all runs, and one topic with what each run found of it.

`/c/{collection}/answers` shows how many runs have each nugget of a topic, and how alike judges are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

import numpy as np
from fastapi import Request, Response
from numpy.typing import NDArray
from typing_extensions import TypedDict

from gainboard.analyses.answer_agreement import AnswerAgreement
from gainboard.api.leaderboard import DIGITS, image_answer, table_answer
from gainboard.api.queries import asked_by, question_of, version_of
from gainboard.api.scores import read_scores
from gainboard.dashboard.figures import ChartScale, FigureOnPage
from gainboard.dashboard.rendering import FORMS, Form, PrintedRequest, in_order, page_of, pages, query_of
from gainboard.dashboard.sessions import Place, PlaceDep
from gainboard.errors import NotFound
from gainboard.evaluation.boards.leaderboard import Board, leaderboard
from gainboard.evaluation.boards.rankings import topic_rankings
from gainboard.evaluation.collections import read_queries
from gainboard.evaluation.judgments import nuggets
from gainboard.evaluation.judgments.topic_groups import list_groups
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap
from gainboard.jobs.access import JobsWanted, list_jobs
from gainboard.jobs.results import read_back
from gainboard.notation.queries import MetricsQuery, RankingOptions, Said, completed
from gainboard.notation.texts import order_topics
from gainboard.vocabulary import OFFICIAL

router = pages()
MOST_RUNS = 60
"""The most rankings of one topic on a page. `all=true` shows the others, too."""
DEPTH = 60
MOST_DRAWN = 1_000_000
"""The most topics x runs that are drawn, those of the best runs: some 10 MB of a page."""
Floats = NDArray[np.float64]


class TopicsQuery(MetricsQuery, RankingOptions, total=False):
    """The query of the pages: that of the API's leaderboard, and an order."""

    sort: Annotated[str, Said(description="topic, difficulty, spread, or the name of a run", default="topic")]
    all: Annotated[bool, Said(description="Whether all runs of a topic are shown", default=False)]


def _without(asked: TopicsQuery, *names: str) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name not in names}


class TopicRow(NamedTuple):
    """A topic in numbers, over all runs."""

    topic: str
    mean: float
    spread: float
    best: str
    worst: str


class SortedTopics(NamedTuple):
    """The topics with scores, in the order that is asked for: scores are float64 [topics, runs], the best run first."""

    board: Board
    topics: Sequence[str]
    queries: Mapping[str, str]
    runs: Sequence[str]
    scores: Floats


def _sort(place: Place, asked: TopicsQuery) -> SortedTopics:
    place.view.require_free_scores()
    board = leaderboard(place.workspace, place.sender, place.name, question_of(asked), asked.get("by"))
    table, runs = _table(board), [row.run.name for row in board.rows]
    # A topic without a relevant document has no score, whatever the run. Of uploaded scores any may be missing.
    is_defined = np.asarray(~np.isnan(table).all(axis=1))
    # Topics that are equally hard are in the order for people, too.
    shown = np.array(order_topics(board.scores.topics, place.view.collection.topics), np.intp)
    defined = shown[is_defined[shown]] if runs else shown[:0]
    order = _order(table[defined], runs, asked.get("sort", "topic"), place.name)
    topics = [board.scores.topics[topic] for topic in defined[order]]
    return SortedTopics(board, topics, read_queries(place.workspace, place.view), runs, table[defined][order])


def _table(board: Board) -> Floats:
    """Return the scores under the metric that ranks, float64 [topics, runs], with runs in the order of the board."""
    order = [row.column for row in board.rows]
    scores: Floats = board.scores.by_topic[board.place, order].T
    return scores


@router.get("/c/{collection}/topics")
def show_topics(place: PlaceDep, asked: Annotated[TopicsQuery, asked_by(TopicsQuery, is_form=True)]) -> Response:
    """Show the scores of all runs on all topics, the hardest topics first if so wanted."""
    shown = _sort(place, asked)
    query = query_of(_without(asked, "sort", "all", "by") | {"topics": asked.get("topics") or "all"})
    return page_of(
        place,
        "topics.html",
        f"Topics of {place.title}",
        "Topics",
        asked=completed(TopicsQuery, asked),
        board=shown.board,
        groups=list_groups(place.workspace, place.principal, place.name),
        other_topics=query_of(_without(asked, "topics", "sort")),
        rows=_rows(shown),
        queries=shown.queries,
        runs=shown.runs,
        left_out=len(shown.board.scores.topics) - len(shown.topics),
        shown_figure=FigureOnPage.of(_heat_map(shown)) if shown.topics else None,
        links={sort: query_of({**asked, "sort": sort}) for sort in SORTS},
        numbers=query_of(asked),
        forms=FORMS,
        of_topic=query_of(_without(asked, "sort")),
        asking=PrintedRequest.of(place, "scores", query),
    )


SORTS = ("topic", "difficulty", "spread")


def _order(table: Floats, runs: Sequence[str], sort: str, collection: str) -> NDArray[np.intp]:
    if sort == "topic":
        return np.arange(len(table))
    if sort == "difficulty":
        return np.argsort(np.nanmean(table, axis=1), kind="stable")
    if sort == "spread":
        return np.argsort(-np.nanstd(table, axis=1), kind="stable")
    if sort not in runs:
        raise NotFound(f"There is no run {sort!r} in {collection!r}. Sort by {', '.join(SORTS)}, or a run.")
    return np.argsort(-table[:, runs.index(sort)], kind="stable")


def _rows(topics: SortedTopics) -> list[TopicRow]:
    if not topics.topics:
        return []
    scores, runs = topics.scores, topics.runs
    means, spreads = np.nanmean(scores, axis=1).tolist(), np.nanstd(scores, axis=1).tolist()
    best, worst = np.nanargmax(scores, axis=1), np.nanargmin(scores, axis=1)
    columns = zip(topics.topics, means, spreads, best, worst, strict=True)
    return [TopicRow(topic, mean, spread, runs[best], runs[worst]) for topic, mean, spread, best, worst in columns]


def _heat_map(topics: SortedTopics) -> Figure:
    label = topics.board.by
    caption = f"{label} by topic and run, the best run on the left. The stronger the colour, the higher the score."
    notes = [topics.queries.get(topic, "") for topic in topics.topics] if topics.queries else ()
    most = max(1, MOST_DRAWN // len(topics.topics))
    if len(topics.runs) > most:
        caption += f" These are the first {most:,} of {len(topics.runs):,} runs."
    heat_map = HeatMap(topics.topics, topics.runs[:most], topics.scores[:, :most].tolist(), Axis(label), notes=notes)
    return Figure("topics", caption, [heat_map])


@router.get("/c/{collection}/topics.{form}")
def read_topics(
    form: Form, request: Request, place: PlaceDep, asked: Annotated[TopicsQuery, asked_by(TopicsQuery, is_form=True)]
) -> Response:
    """Return the scores of all runs on all topics, or the topics in numbers for print, or the heat map."""
    if form == "json" or form == "csv":
        scores: Any = {"topics": "all"} | _without(asked, "sort", "all", "by") | {"format": form}
        return read_scores.__wrapped__(place.name, request, place.workspace, place.sender, scores)
    shown = _sort(place, asked)
    if not shown.topics:
        raise NotFound(f"There is nothing to show: no topic of {place.name!r} has a score.")
    if form == "svg" or form == "png":
        return image_answer(form, lambda: _heat_map(shown))
    caption = f"Scores of {len(shown.runs)} runs by topic, under {shown.board.by}"
    numbers = [Column("mean of runs", digits=DIGITS), Column("SD of runs", digits=DIGITS)]
    columns = [Column("topic", align="left"), *numbers, Column("best run"), Column("worst run")]
    return table_answer(form, Table("topics", caption, columns, _rows(shown)))


@router.get("/c/{collection}/topics/{topic:path}")
def show_topic(
    topic: str, place: PlaceDep, asked: Annotated[TopicsQuery, asked_by(TopicsQuery, is_form=True)]
) -> Response:
    """Show one topic: its judgments, the scores of all runs, and their rankings as levels by rank.

    In a collection of scores, there are only the scores.
    """
    workspace, principal, name, collection = place.workspace, place.principal, place.name, place.view.collection
    is_judged, version = not collection.has_scores_alone, version_of(asked)
    of_topic = topic_rankings(workspace, principal, name, topic, depth=DEPTH, qrels=version) if is_judged else None
    # The topic may be outside of the group that the pages before were about.
    question = replace(question_of(asked), topics=None)
    board = leaderboard(workspace, place.sender, name, question, asked.get("by"))
    topics = in_order(board.scores.topics, collection.topics)
    if topic not in topics:
        raise NotFound(f"There is no topic {topic!r} in {name!r}, or this token may not see it.")
    at = board.scores.topics.index(topic)
    by_topic = _table(board)[at].tolist()
    scores = own = dict(zip([row.run.name for row in board.rows], by_topic, strict=True))
    if is_judged and (rows := board.scores.arrays.rows) is not None:
        # A ranking is of one replicate, and so is its score.
        own = dict(zip([run.name for run in board.scores.members], rows[board.place, :, at].tolist(), strict=True))
    sign = 1 if board.metric.is_reversed else -1
    best_first = {name: sign * score for name, score in own.items() if score == score}
    number, query = topics.index(topic), query_of(_without(asked, "all", "sort"))
    known = [score for score in by_topic if score == score]
    values: dict[str, Any] = {
        "topic": topic,
        "query_text": read_queries(workspace, place.view).get(topic),
        "board": board,
        "scores": scores,
        "own": own,
        "scale": ChartScale.around([*scores.values(), 0.0]),
        "mean": float(np.mean(known)) if known else float("nan"),
        "before": topics[number - 1] if number else None,
        "after": topics[number + 1] if number + 1 < len(topics) else None,
        "query": query,
        "count": len(scores),
        "asking": PrintedRequest.of(place, "leaderboard", query),
    }
    shown = slice(None) if asked.get("all") else slice(MOST_RUNS)
    if of_topic is not None:
        ranked = sorted(of_topic.rankings, key=lambda ranking: best_first.get(ranking.run.name, math.inf))
        # Level 0 has no colour, and the highest has the strongest, however many there are.
        highest = collection.highest_level
        colours = [1 + round(5 * level / max(highest - 1, 1)) if highest > 1 else 6 for level in range(highest)]
        cells = [(each, list(zip(each.ranks.tolist(), each.levels.tolist(), strict=True))) for each in ranked[shown]]
        path = f"topics/{quote(topic, safe='')}/rankings"
        under = query_of({name: value for name, value in asked.items() if name in ("judgments", "qrels")})
        asking = PrintedRequest.of(place, path, under, method="topic_rankings", names=[topic])
        names = [collection.level_name(level) for level in range(len(of_topic.counts))]
        values |= {"names": names, "counts": of_topic.counts.tolist(), "steps": [0, *colours], "depth": DEPTH}
        values |= {"ideal": of_topic.ideal.tolist(), "rankings": cells, "count": len(ranked), "asking": asking}
    else:
        best = sorted(scores, key=lambda name: best_first.get(name, math.inf))
        values["rankings"] = [(name, []) for name in best[shown]]
    return page_of(place, "topic.html", f"Topic {topic} of {place.title}", "Topics", is_judged=is_judged, **values)


class AnswersQuery(TypedDict, total=False):
    """The query of the page."""

    judge: Annotated[str | None, Said(description="The judge whose verdicts are counted")]


@router.get("/c/{collection}/answers")
def show_answers(place: PlaceDep, asked: Annotated[AnswersQuery, asked_by(AnswersQuery)]) -> Response:
    """Show how many runs have each nugget of each topic, those first that nobody has, as a judge says."""
    read = place.workspace, place.principal, place.name
    judges = [judged.judge for judged in nuggets.list_judges(*read)]
    # An address may name a judge that is not there, which is an error; without one, the official judge comes first.
    judge = asked.get("judge") or (OFFICIAL if OFFICIAL in judges or not judges else judges[0])
    judged, counted = nuggets.count_nuggets(*read, judge) if judges or asked.get("judge") else (None, {})
    wanted = JobsWanted(place.name, AnswerAgreement.name, "succeeded")
    seen = list_jobs(place.workspace, place.principal, wanted, None, 1)
    topics = {topic: sorted(of, key=lambda it: (it.full, it.partial, it.text)) for topic, of in counted.items()}
    compared = [(found.work.id, read_back(place.workspace, found.work).verdict()) for found in seen]
    values: dict[str, Any] = {
        "judges": judges,
        "judge": judge,
        "judged": judged,
        "topics": topics,
        "compared": compared,
    }
    return page_of(place, "answers.html", "Answers", "judgments", **values)
