"""Methods that are written once, as calls. A blocking client runs them at once; an asynchronous one is awaited."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

from gainboard import vocabulary
from gainboard.client.connections import AsyncConnection, Connection
from gainboard.client.requests import Call, Pages
from gainboard.notation.queries import fields_of, parameters_type

P = ParamSpec("P")
T = TypeVar("T")
NowT_co = TypeVar("NowT_co", covariant=True)
LaterT_co = TypeVar("LaterT_co", covariant=True)


class Blocking:
    """The base of objects that run their calls at once."""

    _connection: Connection


class Awaited:
    """The base of objects that run their calls when they are awaited."""

    _connection: AsyncConnection


class Both(Generic[P, NowT_co, LaterT_co]):
    """A method with a blocking and an asynchronous form; its object chooses."""

    def __init__(self, now: Callable[..., NowT_co], later: Callable[..., LaterT_co]) -> None:
        self._now, self._later = now, later
        self.__doc__ = now.__doc__

    @overload
    def __get__(self, of: Blocking, kind: Any = None) -> Callable[P, NowT_co]: ...
    @overload
    def __get__(self, of: Awaited, kind: Any = None) -> Callable[P, LaterT_co]: ...
    @overload
    def __get__(self, of: None, kind: type[Blocking]) -> Callable[Concatenate[Any, P], NowT_co]: ...
    @overload
    def __get__(self, of: None, kind: type[Awaited]) -> Callable[Concatenate[Any, P], LaterT_co]: ...
    def __get__(self, of: object, kind: Any = None) -> Any:
        # Both clients inherit the same calls, so only the class that is looked at tells which form is meant.
        function = self._later if issubclass(kind or type(of), Awaited) else self._now
        return function if of is None else MethodType(function, of)


def call(define: Callable[Concatenate[Any, P], Call[T]]) -> Both[P, T, Coroutine[Any, Any, T]]:
    """Make a method that returns one result."""

    def now(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._connection.run(define(self, *args, **kwargs))

    async def later(self: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._connection.run(define(self, *args, **kwargs))

    return Both(_like(define, now, "{}"), _like(define, later, "{}"))


def listing(define: Callable[Concatenate[Any, P], Pages[T]]) -> Both[P, Iterator[T], AsyncIterator[T]]:
    """Make a method that returns a list, which is read page by page."""

    def now(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        pages, cursor = define(self, *args, **kwargs), None
        while True:
            items, cursor = self._connection.run(pages.page(cursor))
            yield from items
            if cursor is None:
                return

    async def later(self: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        pages, cursor = define(self, *args, **kwargs), None
        while True:
            items, cursor = await self._connection.run(pages.page(cursor))
            for item in items:
                yield item
            if cursor is None:
                return

    return Both(_like(define, now, "Iterator[{}]"), _like(define, later, "AsyncIterator[{}]"))


F = TypeVar("F", bound=Callable[..., Any])


def _like(define: Callable[..., Any], function: F, gives: str) -> F:
    """Give the function the name, docstring and signature of the definition, as `help` shows them."""
    functools.update_wrapper(function, define)
    del function.__wrapped__  # type: ignore[attr-defined]  # or its signature would be the definition's
    signature = inspect.signature(define)
    inner = str(signature.return_annotation).partition("[")[2].removesuffix("]")
    parameters = [each for parameter in signature.parameters.values() for each in _spelt_out(parameter, define)]
    result = signature.replace(parameters=parameters, return_annotation=gives.format(inner))
    function.__signature__ = result  # type: ignore[attr-defined]
    function.__annotations__ = {**define.__annotations__, "return": result.return_annotation}
    return function


MOST_WORDS = 10
_LONG = {words: name for name, words in vars(vocabulary).items() if len(get_args(words)) > MOST_WORDS}
"""The names of lists of words that are too long for a signature."""


def _spelt_out(parameter: inspect.Parameter, define: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """Yield a parameter; for one that takes the fields of a query, a parameter for each of these."""
    # The annotation is a text, which names a class of the module of the call. Type checkers read it as it is, and
    # `help`, notebooks and the documentation get the parameters from here.
    taken = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
    query = vars(inspect.getmodule(define)).get(taken[1]) if taken else None
    if query is None or not (fields := fields_of(query)):
        yield parameter
        return
    for name, field in fields.items():
        default = () if field.is_list else field.said.default
        named = [_LONG[kind] for kind in get_args(field.annotation) if kind in _LONG]
        annotation = f"{named[0]} | None" if named else field.annotation
        yield inspect.Parameter(name, parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    if (kind := parameters_type(query)) is not None:
        yield parameter.replace(name="parameters", annotation=kind)
