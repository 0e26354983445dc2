"""`/c/{collection}/answers`: how many runs have each nugget of a topic, and how two judges agree."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from typing_extensions import TypedDict

from gainboard.api.queries import asked_by
from gainboard.dashboard.rendering import page_of, pages
from gainboard.dashboard.sessions import PlaceDep
from gainboard.evaluation.judgments import nuggets
from gainboard.evaluation.judgments.nuggets import JudgedNugget
from gainboard.notation.queries import Said
from gainboard.vocabulary import OFFICIAL

router = pages()


class AnswersQuery(TypedDict, total=False):
    """The query of the page."""

    judge: Annotated[str | None, Said(description="The judge whose verdicts are counted")]
    against: Annotated[str | None, Said(description="The judge with whom the first one is compared")]


@router.get("/c/{collection}/answers")
def show_answers(place: PlaceDep, asked: Annotated[AnswersQuery, asked_by(AnswersQuery)]) -> Response:
    """Show how many runs have each nugget of each topic, those first that nobody has, as a judge says."""
    read = place.workspace, place.principal, place.name
    judges = [judged.judge for judged in nuggets.list_judges(*read)]
    # An address may name a judge that is not there, which is an error; without one, the official judge comes first.
    judge = asked.get("judge") or (OFFICIAL if OFFICIAL in judges or not judges else judges[0])
    judged, counted = nuggets.count_nuggets(*read, judge) if judges or asked.get("judge") else (None, {})
    other = asked.get("against")
    return page_of(
        place,
        "answers.html",
        "Answers",
        "judgments",
        judges=judges,
        judge=judge,
        judged=judged,
        topics={topic: sorted(of_topic, key=_by_runs) for topic, of_topic in counted.items()},
        against=other,
        agreement=nuggets.compare_judges(*read, judge, other) if other else [],
    )


def _by_runs(nugget: JudgedNugget) -> tuple[int, int, str]:
    """Return what sorts nuggets: those that nobody has come first, and equal ones by text."""
    return nugget.full, nugget.partial, nugget.text
