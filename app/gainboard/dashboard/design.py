"""`/help/design`: how many topics a new collection needs, or people must judge beside a cheap judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Request, Response
from typing_extensions import TypedDict

from gainboard.api.queries import asked_by
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.errors import InvalidRequest
from gainboard.evaluation.boards.design import TAKEN, DesignQuestion, design_topics
from gainboard.notation.queries import Said, completed
from gainboard.vocabulary import DesignMethod

router = pages()


class DesignQuery(TypedDict, total=False):
    """The query of the page: the parameters of a design, as in the API. Without any, it is an example."""

    method: Annotated[DesignMethod, Said(default="interval")]
    difference: Annotated[float | None, Said()]
    width: Annotated[float | None, Said()]
    difference_variance: Annotated[float | None, Said()]
    variance: Annotated[float | None, Said()]
    correlation: Annotated[float | None, Said()]
    topics: Annotated[int | None, Said()]
    runs: Annotated[int | None, Said()]
    alpha: Annotated[float, Said(default=0.05)]
    power: Annotated[float | None, Said()]


EXAMPLE: DesignQuery = {"width": 0.15, "difference_variance": 0.1, "correlation": 0.8, "topics": 200}


@dataclass(frozen=True)
class Box:
    """A box of the form. `methods` are the methods that take it."""

    name: str
    title: str
    help: str
    methods: str


TITLES = {
    "width": ("Width of the interval", "of the difference of two runs"),
    "difference": ("Difference to find", "of two means; with anova, of the best and the worst"),
    "power": ("Power", "the chance to find the difference; 0.8 by default"),
    "runs": ("Runs", "how many are compared"),
    "difference_variance": ("Variance of differences", "of two runs' scores, over topics"),
    "variance": ("or variance of scores", "within runs, over topics"),
    "correlation": ("Correlation of a cheap judge", "of differences under it with those under people, over topics"),
    "topics": ("Topics of the cheap judge", "any number by default"),
    "alpha": ("Alpha", "the significance level; 1 minus the level of the interval"),
}
"""Title and help of each box."""
OF_EVERY_METHOD = {"alpha", "variance"}


def boxes() -> list[Box]:
    """Return the boxes of the form."""
    return [Box(name, title, help_text, _methods(name)) for name, (title, help_text) in TITLES.items()]


def _methods(name: str) -> str:
    if name == "difference_variance":
        return "t-test, interval"
    return "" if name in OF_EVERY_METHOD else ", ".join(method for method, taken in TAKEN.items() if name in taken)


@router.get("/help/design")
def show_design(
    request: Request, visitor: VisitorDep, asked: Annotated[DesignQuery, asked_by(DesignQuery, is_form=True)]
) -> Response:
    """Show the form and, to whoever is signed in, the number of topics."""
    wish = completed(DesignQuery, asked or EXAMPLE)
    fault, found = "", None
    if visitor.is_signed_in:
        try:
            found = design_topics(DesignQuestion(**wish))
        except InvalidRequest as error:
            fault = error.message
    look = PageLook("How many topics?", status=422 if fault else 200)
    given = {name: value for name, value in wish.items() if value is not None}
    values = {"asked": wish, "given": given, "boxes": boxes(), "methods": list(TAKEN), "found": found, "fault": fault}
    return page(request, visitor, "design.html", look, **values)
