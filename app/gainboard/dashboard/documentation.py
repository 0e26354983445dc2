"""`/help`: the documentation below the service's own header, its search and files, and the design of a collection."""

from __future__ import annotations

import mimetypes
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from typing_extensions import TypedDict

from gainboard.api.answers import address
from gainboard.api.queries import asked_by
from gainboard.dashboard.rendering import PageLook, headers_of_page, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.documentation import contents, every_page, linked_files, make_ahead, render, search
from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.boards.design import TAKEN, DesignQuestion, design_topics
from gainboard.notation.queries import Said, completed
from gainboard.vocabulary import DesignMethod

router = pages()


@router.get("/help")
def show_help(request: Request) -> Response:
    """Send a browser to the first page, whose links are relative to its folder."""
    return RedirectResponse(address(request, "/help/index.html"), 308)


@router.get("/help/search.html")
def show_help_search(visitor: VisitorDep, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Show the sections of the documentation that have any of the words."""
    look = PageLook(f"Search for {q}" if q else "Search")
    hits = search(q) if q else []
    return page(visitor, "documentation_search.html", look, groups=contents(), query=q, hits=hits)


@router.get("/help/{page_name}.html")
def show_help_page(page_name: str, visitor: VisitorDep) -> Response:
    """Show a page of the documentation."""
    if (chapter := every_page().get(page_name)) is None:
        raise NotFound(f"There is no page {page_name!r} of the documentation. /help has all.")
    # Reference pages need parts that a process makes in seconds, so they are made while somebody reads this one.
    make_ahead()
    look, content = PageLook(chapter.title), Markup(render(page_name).html)
    return page(visitor, "documentation.html", look, groups=contents(), shown=chapter, content=content)


class DesignQuery(TypedDict, total=False):
    """The parameters of a design, as in the API. Without any, the page shows an example."""

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


EXAMPLE = DesignQuery(width=0.15, difference_variance=0.1, correlation=0.8, topics=200)
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
"""Title and help of each parameter that the form has a box for."""
METHODS = {name: [method for method, names in TAKEN.items() if name in names] for name in TITLES}
"""The methods that take a parameter; none if all do."""
# With anova, the variance is that within runs, so there is no variance of differences.
METHODS["difference_variance"] = ["t-test", "interval"]


@router.get("/help/design")
def show_design(visitor: VisitorDep, asked: Annotated[DesignQuery, asked_by(DesignQuery, is_form=True)]) -> Response:
    """Show the form and, to whoever is signed in, the number of topics."""
    design = completed(DesignQuery, asked or EXAMPLE)
    fault, needed = "", None
    if visitor.is_signed_in:
        try:
            needed = design_topics(DesignQuestion(**design))
        except InvalidRequest as error:
            fault = error.message
    look = PageLook("How many topics?", status=422 if fault else 200)
    boxes = [(name, *texts, ", ".join(METHODS[name])) for name, texts in TITLES.items()]
    values = {"design": design, "boxes": boxes, "methods": list(TAKEN), "needed": needed, "fault": fault}
    return page(visitor, "design.html", look, **values)


@router.get("/help/{file:path}")
def show_help_file(file: str) -> Response:
    """Show a file that a page of the documentation shows or links to, such as a picture."""
    if (path := linked_files().get(file)) is None:
        raise NotFound(f"The documentation has no file {file!r}. /help has all.")
    media_type = mimetypes.guess_type(path.name)[0] or "text/plain"
    # Drawings of Matplotlib style their elements in place.
    return Response(path.read_bytes(), headers=headers_of_page(style="'unsafe-inline'"), media_type=media_type)
