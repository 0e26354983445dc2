"""`/c/{collection}/answers`: how many runs have each nugget of a topic, and how alike judges are."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Response
from typing_extensions import TypedDict

from gainboard.analyses.answer_agreement import AnswerAgreement
from gainboard.api.queries import asked_by
from gainboard.dashboard.rendering import page_of, pages
from gainboard.dashboard.sessions import PlaceDep
from gainboard.evaluation.judgments import nuggets
from gainboard.jobs.access import JobsWanted, list_jobs
from gainboard.jobs.results import read_back
from gainboard.notation.queries import Said
from gainboard.vocabulary import OFFICIAL

router = pages()


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
