"""Tables and figures as answers, whether a job's or a report's."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import Response
from fastapi.responses import PlainTextResponse

from gainboard.exhibits import Figure, Table, as_csv, as_latex, as_svg

LATEX = "application/x-tex"
SVG = "image/svg+xml"
# A figure that is opened by itself runs no script and loads nothing, whatever its labels are.
SVG_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


def text_answer(*media_types: str) -> dict[int, dict[str, Any]]:
    """What OpenAPI says of a route that answers with text of these types."""
    content = {each: {"schema": {"type": "string"}} for each in media_types}
    return {200: {"description": "The result, or what is shown of it", "content": content}}


def written(table: Table, form: Literal["csv", "latex"]) -> Response:
    """The table as CSV or LaTeX."""
    if form == "csv":
        return PlainTextResponse(as_csv(table), media_type="text/csv")
    return Response(as_latex(table), media_type=LATEX)


def drawn(figure: Figure) -> Response:
    """The figure as SVG; raises as `as_svg`."""
    return Response(as_svg(figure), media_type=SVG, headers=SVG_HEADERS)
