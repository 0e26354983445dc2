"""`/` and `/new`: the collections that one may see, and a new one. `/problems/{slug}`: what a problem means.

`/r/{release}` is a release of a collection, such as `web-1`, as it was frozen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import Response
from pydantic import ValidationError

from gainboard.api.answers import server_address
from gainboard.api.collections import values_of
from gainboard.api.models.collections import NewCollection
from gainboard.api.problems import read_problem
from gainboard.api.routes import PeopleRoute
from gainboard.dashboard.figures import ChartScale
from gainboard.dashboard.rendering import PageLook, help_of_problem, lead_to, page, page_of, pages
from gainboard.dashboard.schema_forms import Field, fields_of, read, split_list, told_by, with_faults
from gainboard.dashboard.sessions import FormDep, Visitor, VisitorDep, enter
from gainboard.errors import BadGains, BadInput, Conflict, NotFound
from gainboard.evaluation import collections
from gainboard.evaluation.collection_settings import OF_JUDGED
from gainboard.evaluation.releases.releases import cite_release, find_release, list_releases, read_document
from gainboard.metrics import parse_gains
from gainboard.notation.texts import read_topics

router, for_people = pages(), pages(PeopleRoute)
MOST = 200
FIRST_SETTINGS = (
    *("kind", "name", "title", "sample_of", "levels", "gains", "topics"),
    *("depth", "order_by", "ignore_identical_ids", "intents", "public"),
)
"""The settings that the form of a new collection has. The policy and the metrics come later, on its settings page."""
MOST_LEVELS_SHOWN = 20


@for_people.get("/")
def show_home(visitor: VisitorDep, after: str | None = None) -> Response:
    """Show the collections that exist for the visitor."""
    # One more than the page shows tells whether there are others.
    seen = collections.list_collections(visitor.workspace, visitor.principal, after, MOST + 1)
    return page(
        visitor,
        "home.html",
        PageLook("Collections"),
        collections=seen[:MOST],
        more=seen[MOST - 1].collection.name if len(seen) > MOST else None,
        now=visitor.workspace.now(),
    )


@for_people.get("/problems/{slug}")
def show_problem(slug: str, visitor: VisitorDep) -> Response:
    """Show what a type of problem means, and what to do about it."""
    problem = read_problem(slug)
    return page(visitor, "problem.html", PageLook(problem.title, help=help_of_problem(slug)), problem=problem)


router.routes.extend(for_people.routes)


def _fields() -> list[Field]:
    schema = NewCollection.model_json_schema()
    properties = {name: schema["properties"][name] for name in FIRST_SETTINGS}
    return fields_of({"properties": properties, "required": schema["required"], "$defs": schema["$defs"]}, {})


@router.get("/new")
def show_new(visitor: VisitorDep) -> Response:
    """Show the form of a new collection, to whoever may create some."""
    visitor.principal.require_instance_organiser()
    return _show_form(visitor, _fields())


def _show_form(visitor: Visitor, fields: Sequence[Field], fault: str = "") -> Response:
    by_name = {field.name: field for field in fields}
    example = _describe_gains(by_name["levels"].value, by_name["gains"].value)
    look = PageLook("New collection", status=422 if fault else 200)
    return page(visitor, "new.html", look, fields=by_name, fault=fault, example=example)


@router.post("/new")
def create(visitor: VisitorDep, form: FormDep) -> Response:
    """Create the collection, and show its board, where a list says what to do next."""
    fields = _fields()
    try:
        values = read(fields, form)
        # A line with an id, a tab and a text, which may have commas.
        if "\t" in (text := form.get("topics")).partition(",")[0]:
            values["topics"], values["queries"] = read_topics(text)
        if values.get("kind") == "scores":
            # The form has boxes for judged collections, too, and some are never empty.
            of_judged = {*map(collections.setting_name, OF_JUDGED), "queries"}
            values = {name: value for name, value in values.items() if name not in of_judged}
        sent = NewCollection.model_validate(values)
        seen = collections.create(visitor.workspace, visitor.principal, values_of(sent))
    except (ValidationError, BadInput, Conflict) as error:
        return _show_form(visitor, with_faults(fields, form, error), f"Nothing was created. {told_by(error)}")
    return lead_to(visitor.request, f"/c/{seen.collection.name}")


@router.get("/new/example")
def show_example(visitor: VisitorDep, levels: str = "", gains: str = "") -> Response:
    """Show what these gains mean for these levels."""
    return page(visitor, "new_example.html", PageLook("Gains"), example=_describe_gains(levels, gains))


def _describe_gains(levels: str, gains: str) -> str:
    """Return what a document of each level is worth, or why that is not known."""
    names = list(split_list(levels))
    # Levels are their names, or their number. Digits of other alphabets are a name.
    if len(names) == 1 and names[0].isdecimal() and names[0].isascii() and len(names[0]) < 4:
        names = [f"L{level}" for level in range(1, int(names[0]) + 1)]
    if not 0 < len(names) <= MOST_LEVELS_SHOWN:
        return ""
    try:
        values = parse_gains(gains or "linear", len(names)).values
    except BadGains as error:
        return error.message
    shown = [f"{name} {value:g}" for name, value in zip(names, values, strict=True)]
    return f"A document is worth, from the highest level down: {', '.join(reversed(shown))}; not relevant 0."


class BoardOnPage(NamedTuple):
    """A board of a release's document, and the axis on which its intervals are drawn."""

    value: Mapping[str, Any]
    scale: ChartScale


def boards_of(document: Mapping[str, Any]) -> list[BoardOnPage]:
    """Return the boards of a release, one for each official metric, with axes that hold all means and intervals."""
    boards = []
    for value in document["boards"]:
        by = value["by"]
        ends = [end for row in value["rows"] for end in row["intervals"][by] or ()]
        boards.append(BoardOnPage(value, ChartScale.around([0.0, *ends, *(row["means"][by] for row in value["rows"])])))
    return boards


@router.get("/r/{release}")
def show_release(release: str, visitor: VisitorDep) -> Response:
    """Show a release: how to cite it, its boards, and what it holds."""
    name, _, number = release.rpartition("-")
    # Nine digits fit into the column of numbers; PostgreSQL fails at a number that does not.
    if not (name and number.isdecimal() and len(number) <= 9):
        raise NotFound(f"There is no release {release!r}. Its name is that of a collection and a number: web-1.")
    place = enter(visitor, name)
    _, frozen = find_release(visitor.workspace, place.principal, name, int(number))
    newest = list_releases(visitor.workspace, place.principal, name, limit=1)[1][0].number
    document = read_document(visitor.workspace, frozen)
    return page_of(
        place,
        "release.html",
        f"{frozen.title}, release {release}",
        document=document,
        sha256=frozen.sha256,
        boards=boards_of(document),
        cited=cite_release(document, frozen.sha256, server_address(place.request)),
        newest=newest if newest > frozen.number else None,
    )
