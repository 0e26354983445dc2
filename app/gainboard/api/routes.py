"""Routes of the API and of pages: they refuse query parameters that they do not have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from inspect import iscoroutinefunction, signature
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Cookie, Header, Path
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.routing import Match
from starlette.types import Scope

from gainboard.api.queries import QueryReader
from gainboard.errors import InvalidRequest, UnknownParameter
from gainboard.evaluation.workspace import Workspace
from gainboard.store.database import NotQuick, quickly

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class CheckedRoute(APIRoute):
    """A route that refuses unknown query parameters. A misspelt one would be ignored silently."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        if parameters := [each for reader in self._readers for each in reader.described()]:
            self.openapi_extra = {**(self.openapi_extra or {}), "parameters": parameters}

    @property
    def _readers(self) -> list[QueryReader]:
        """The readers of the query of a request."""
        return [call for call in _calls(self.dependant) if isinstance(call, QueryReader)]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the route fits the request."""
        # A request is compared with one route after another, and this tells most of them at a tenth of the cost.
        return super().matches(scope) if self.last_literal in scope["path"] else (Match.NONE, {})

    @cached_property
    def last_literal(self) -> str:
        """The last part of the path that is in the path of each request for it."""
        return next(part for part in reversed(re.split(r"\{[^}]*\}", self.path)) if part)

    def get_route_handler(self) -> Handler:
        """Return the handler of requests."""
        if self._asks_for_nothing:
            # Probes come all the time, and what FastAPI prepares for a function would take half of the answer.
            return self._handle_without_arguments
        described = self.dependant
        # FastAPI looks at each field of a query model anew in each request, which takes as long as a small answer.
        # So the handler gets the model from a dependency, and the description has its fields.
        self.dependant = _without_descriptions(self._with_prepared_query())
        try:
            handle = super().get_route_handler()
        finally:
            self.dependant = described

        async def handle_known(request: Request) -> Response:
            if request.scope["query_string"]:
                self._refuse_unknown(request)
            return await handle(request)

        return handle_known

    @property
    def _asks_for_nothing(self) -> bool:
        """Return whether the route's function is `async`, has no parameters, and returns a response."""
        is_plain = iscoroutinefunction(self.endpoint) and not signature(self.endpoint).parameters
        return is_plain and not self.dependant.dependencies and get_type_hints(self.endpoint)["return"] is Response

    async def _handle_without_arguments(self, request: Request) -> Response:
        if request.scope["query_string"]:
            self._refuse_unknown(request)
        answer: Response = await self.endpoint()
        return answer

    def _with_prepared_query(self) -> Dependant:
        fields = self.dependant.query_params
        model: Any = fields[0].field_info.annotation if len(fields) == 1 else None
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return self.dependant

        async def read_query(request: Request) -> BaseModel:
            given: dict[str, Any] = {}
            for name, text in request.query_params.multi_items():
                if self.query_names[name]:
                    given.setdefault(name, []).append(text)
                else:
                    given[name] = text
            try:
                return model.model_validate(given)
            except ValidationError as error:
                found = error.errors(include_url=False)
                raise RequestValidationError([{**each, "loc": ("query", *each["loc"])} for each in found]) from error

        prepared = Dependant(call=read_query, name=fields[0].name, request_param_name="request")
        return replace(self.dependant, query_params=[], dependencies=[*self.dependant.dependencies, prepared])

    def _refuse_unknown(self, request: Request) -> None:
        known = self.query_names
        given = [name for name, _ in request.query_params.multi_items()]
        if known.keys() >= set(given) and len(set(given)) == len(given):
            return
        for name, count in sorted(Counter(given).items()):
            if name not in known:
                has = ", ".join(sorted(known)) or "none"
                raise UnknownParameter(f"There is no query parameter {name!r} here. Available: {has}.")
            if count > 1 and not known[name]:
                raise InvalidRequest.at(f"query.{name}", "repeated", f"{name} is given more than once. Give it once.")

    @cached_property
    def query_names(self) -> Mapping[str, bool]:
        """The names of the query's parameters, and whether each may be given several times."""
        # A field of a query model is of no class of FastAPI's.
        fields = get_flat_params(self.dependant)
        queries = [each for each in fields if not isinstance(each.field_info, Cookie | Header | Path)]
        names = {each.alias: "list[" in str(each.field_info.annotation) for each in queries}
        for reader in self._readers:
            names |= reader.may_repeat
        return names

    @cached_property
    def body_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the body, empty without one. The description of all routes takes a second to make."""
        if self.body_field is None:
            return {}
        found = self.body_field.field_info
        described: Any = Annotated[found.annotation, found]
        return TypeAdapter(described).json_schema()


class PolledRoute(CheckedRoute):
    """A route whose function answers in the event loop where that is quick, and in a thread otherwise.

    To hand a request to a thread and back takes a fifth of a small answer. The function has a `workspace`.
    """

    def get_route_handler(self) -> Handler:
        """Return the handler of requests."""
        described = self.dependant
        self.dependant = replace(described, call=_quickly_or_apart(self.endpoint))
        try:
            return super().get_route_handler()
        finally:
            self.dependant = described


def _quickly_or_apart(endpoint: Callable[..., Response]) -> Callable[..., Coroutine[Any, Any, Response]]:
    async def call(**arguments: Any) -> Response:
        workspace: Workspace = arguments["workspace"]
        if workspace.database.is_quick:
            with suppress(NotQuick), quickly():
                return endpoint(**arguments)
        return await run_in_threadpool(endpoint, **arguments)

    return call


def _calls(dependant: Dependant) -> Iterator[Any]:
    """Yield what is called for a request."""
    yield dependant.call
    for each in dependant.dependencies:
        yield from _calls(each)


def _without_descriptions(dependant: Dependant) -> Dependant:
    """Return the dependencies without those that only describe how to send a token."""
    needed = [_without_descriptions(each) for each in dependant.dependencies if not isinstance(each.call, HTTPBearer)]
    return replace(dependant, dependencies=needed)


def add_routes(application: FastAPI, *routers: APIRouter) -> None:
    """Add the routes of routers as they are.

    FastAPI's `include_router` would build each of them a second time, and look for the route of each request twice.
    """
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                # Generated clients have functions of these names. FastAPI's own have the whole address in them.
                route.operation_id = route.name
        application.router.routes.extend(router.routes)
