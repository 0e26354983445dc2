"""`/new`: a new collection, for whoever may create some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError

from gainboard.api.answers import address
from gainboard.api.collections import values_of
from gainboard.api.dependencies import WorkspaceDep
from gainboard.api.models.collections import NewCollection
from gainboard.dashboard.rendering import PageLook, page, pages
from gainboard.dashboard.schema_forms import Field, fields_of, read, split_list, told_by, with_faults
from gainboard.dashboard.sessions import FormDep, Visitor, VisitorDep
from gainboard.errors import BadGains, BadInput, Conflict
from gainboard.evaluation import collections
from gainboard.metrics import parse_gains

router = pages()
ASKED = ("name", "title", "levels", "gains", "topics", "depth", "order_by", "ignore_identical_ids", "intents", "public")
"""The settings that are asked for. The policy and the metrics have their place among the settings."""
MOST_LEVELS_SHOWN = 20


def _fields() -> list[Field]:
    schema = NewCollection.model_json_schema()
    own = {name: schema["properties"][name] for name in ASKED}
    return fields_of({"properties": own, "required": schema["required"], "$defs": schema["$defs"]}, {})


@router.get("/new")
def show_new(request: Request, visitor: VisitorDep) -> Response:
    """Show the form."""
    visitor.principal.require_instance_organiser()
    return _page(request, visitor, _fields())


def _page(request: Request, visitor: Visitor, fields: Sequence[Field], fault: str = "") -> Response:
    by_name = {field.name: field for field in fields}
    example = _example(by_name["levels"].value, by_name["gains"].value)
    look = PageLook("New collection", status=422 if fault else 200)
    return page(request, visitor, "new.html", look, fields=by_name, fault=fault, example=example)


@router.post("/new")
def create(request: Request, workspace: WorkspaceDep, visitor: VisitorDep, form: FormDep) -> Response:
    """Create the collection, and show its board, where a list says what to do next."""
    fields = _fields()
    try:
        sent = NewCollection.model_validate(read(fields, form))
        made = collections.create(workspace, visitor.principal, values_of(sent))
    except (ValidationError, BadInput, Conflict) as error:
        return _page(request, visitor, with_faults(fields, form, error), f"Nothing was created. {told_by(error)}")
    return RedirectResponse(address(request, f"/c/{made.collection.name}"), 303)


class ExampleQuery(BaseModel):
    """The levels and gains of a form that is being filled in."""

    levels: str = ""
    gains: str = ""


@router.get("/new/example")
def show_example(request: Request, visitor: VisitorDep, asked: Annotated[ExampleQuery, Query()]) -> Response:
    """Show what these gains mean for these levels."""
    example = _example(asked.levels, asked.gains)
    return page(request, visitor, "new_example.html", PageLook("Gains"), example=example)


def _example(levels: str, gains: str) -> str:
    """Return what a document of each level is worth, or why that is not known."""
    given = list(split_list(levels))
    is_count = len(given) == 1 and given[0].isdecimal() and given[0].isascii() and len(given[0]) < 4
    names = [f"L{level}" for level in range(1, int(given[0]) + 1)] if is_count else given
    if not 0 < len(names) <= MOST_LEVELS_SHOWN:
        return ""
    try:
        values = parse_gains(gains or "linear", len(names)).values
    except BadGains as error:
        return error.message
    shown = [f"{name} {value:g}" for name, value in zip(names, values, strict=True)]
    return f"A document is worth, from the highest level down: {', '.join(reversed(shown))}; not relevant 0."
