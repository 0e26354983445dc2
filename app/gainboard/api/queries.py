"""Readers of queries, as dependencies of routes: `asked: Annotated[ScoresQuery, asked_by(ScoresQuery)]`.

`notation/queries.py` has the queries. FastAPI's own model of a query takes half a millisecond of each request for 36
fields, so this is a plain dependency. The route of a function adds the description of what it reads (`routes.py`).
"""

# Without `from __future__ import annotations`: FastAPI finds the names in annotations of functions alone.
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, Required, cast, get_args, get_origin

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from gainboard.evaluation.scoring.requests import Question
from gainboard.metrics import query_parameters
from gainboard.notation.queries import (
    LONGEST_PARAMETER,
    MOST_POINTS,
    MetricParameters,
    QueryField,
    Said,
    fields_of,
    parameters_type,
)
from gainboard.notation.types import BOOLEAN, INTEGER, NUMBER, Time
from gainboard.store.records import VersionName
from gainboard.vocabulary import OFFICIAL

_READERS: Final[Mapping[Any, BeforeValidator]] = {int: INTEGER, float: NUMBER, bool: BOOLEAN}


class QueryReader:
    """A reader of one query. FastAPI calls it for each request, and gives its function what was sent, by name.

    Fields that were not sent are absent. With `is_form`, so are those that a form sent empty: a browser sends each
    field of a form, whether or not anybody has filled it in. `narrower` are the types of fields whose values a
    catalogue knows, which the query cannot name.
    """

    def __init__(self, query: type, *, is_form: bool = False, **narrower: Any) -> None:
        of_metrics = _parameters_of_metrics(query)
        fields = [*map(_with_text, fields_of(query).values()), *of_metrics]
        fields = [replace(field, type=narrower.get(field.name, field.type)) for field in fields]
        self._is_form = is_form
        self._of_metrics = {field.name for field in of_metrics if not field.is_list}
        self._said = {field.name: field.said for field in fields}
        self.may_repeat = {field.name: field.is_list for field in fields}
        """The names of the fields, and whether each may be given several times."""
        # A TypedDict is made by a call here, and type checkers know only those with names that stand in the source.
        typed_dict: Any = TypedDict
        types = {field.name: _type_of(field) for field in fields}
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(typed_dict(query.__name__, types, total=False))

    async def __call__(self, request: Request) -> Any:
        try:
            return self._read(request)
        except RequestValidationError as error:
            faults = [*error.errors()]
            # FastAPI asks no other reader of the route any more, and a client wants to know all faults at once.
            for reader in request.scope["route"].readers:
                try:
                    reader is self or reader._read(request)
                except RequestValidationError as more:
                    faults += more.errors()
            raise RequestValidationError(faults, body=error.body) from error

    def _read(self, request: Request) -> dict[str, Any]:
        sent: dict[str, Any] = {}
        for name, text in request.query_params.multi_items():
            # The route has refused names that no reader of it has, before anything was looked up for the request.
            if name in self.may_repeat and (text or not self._is_form):
                if self.may_repeat[name]:
                    sent.setdefault(name, []).append(text)
                else:
                    sent[name] = text
        return self.validate(sent, "query")

    def validate(self, sent: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the values of texts, which are those of a query or of a form. Raise RequestValidationError."""
        try:
            return self._adapter.validate_python(sent)
        except ValidationError as error:
            faults = [{**each, "loc": (where, *each["loc"])} for each in error.errors(include_url=False)]
            raise RequestValidationError(faults, body=sent) from error

    def described(self) -> list[dict[str, Any]]:
        """Return the parameters as OpenAPI describes them."""
        parameters = []
        for name, schema in self._adapter.json_schema().get("properties", {}).items():
            said = self._said[name]
            if said.default is not None:
                schema["default"] = said.default
            if name in self._of_metrics:
                described = query_parameters()[name].schema
                schema |= {key: described[key] for key in ("enum", "examples") if key in described}
            parameter = {"name": name, "in": "query", "required": said.is_required, "schema": schema}
            parameters.append(parameter | ({"description": said.description} if said.description else {}))
        return parameters


def asked_by(query: type, **options: Any) -> Any:
    """Return the dependency that reads a query. With `is_form`, fields that a form sends empty count as not sent.

    A metric's parameter must not have the name of a field: TypeError says so when the module is imported.
    """
    return Depends(reader_of(query, **options))


@cache  # the route of an upload and the form in its body have the same reader, which takes milliseconds to make
def reader_of(query: type, **options: Any) -> QueryReader:
    """Return the reader of a query."""
    return QueryReader(query, **options)


def _with_text(field: QueryField) -> QueryField:
    """Return a field that is a parameter of metrics with the text of the catalogue, if it has none of its own."""
    if field.said.description or (parameter := query_parameters().get(field.name)) is None:
        return field
    return replace(field, said=replace(field.said, description=f"{parameter.description} It is {parameter.limits}."))


def _parameters_of_metrics(query: type) -> list[QueryField]:
    """Return a field for each parameter that any metric has, by the catalogue, if the query has them."""
    if (kind := parameters_type(query)) is None:
        return []
    fields = []
    is_list = any(get_origin(each) is Sequence for each in get_args(kind))
    for name, parameter in query_parameters().items():
        if name in fields_of(query):
            raise TypeError(f"{query.__name__} has a field {name!r}, so no parameter of a metric can be called so.")
        if name not in MetricParameters.__annotations__:
            raise TypeError(f"Add the metrics' parameter {name!r} to MetricParameters, which type checkers read.")
        said = Said(
            description=f"{parameter.description} {'Each' if is_list else 'It'} is {parameter.limits}.",
            longest=LONGEST_PARAMETER,
            most_items=MOST_POINTS if is_list else None,
        )
        fields.append(QueryField(name, str, kind, said, is_list, is_optional=not is_list))
    return fields


def _type_of(field: QueryField) -> Any:
    """Return the type of a field as Pydantic validates it."""
    said, kind, annotated = field.said, Time if field.type is datetime else field.type, cast(Any, Annotated)
    limits = {
        **{"ge": said.least, "le": said.most, "gt": said.above, "lt": said.below, "pattern": said.pattern},
        **{"min_length": said.shortest, "max_length": said.longest},
    }
    options: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    if field.is_list:
        kind = cast(Any, list)[annotated[kind, Field(**options)]]
        options = {"max_length": said.most_items}
    options |= {"description": said.description or None, "examples": list(said.examples) or None}
    # What reads the text of a number comes last, because Pydantic calls it first.
    reader = [_READERS[field.type]] if field.type in _READERS else []
    kind = annotated[kind | None if field.is_optional else kind, Field(**options), *reader]
    return Required[kind] if said.is_required else kind


def parameters_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of metrics that were sent, as text: the metric parser checks them."""
    # In the order of the catalogue, not of the address: equal requests then have equal keys in the caches of metrics.
    return {name: asked[name] for name in query_parameters() if name in asked}


def question_of(asked: Mapping[str, Any]) -> Question:
    """Return what a query asks of scores: of all runs, if it names none, and of all topics, if it names no group."""
    topics = asked.get("topics")
    return Question(
        asked.get("metric", ()),
        asked.get("run"),
        parameters_of(asked),
        version_of(asked),
        None if topics == "all" else topics,
        by_system=asked.get("resample"),
        **{name: asked[name] for name in ("late", "names", "bounds", "cwl", "repeats") if asked.get(name)},
    )


def version_of(asked: Mapping[str, Any]) -> VersionName:
    """Return the name of the version that a query names."""
    return VersionName(asked.get("judgments", OFFICIAL), asked.get("qrels"))
