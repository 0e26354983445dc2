"""The request behind the numbers of a page, for whoever wants them in a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Request

Pairs = Sequence[tuple[str, str]]
SEVERAL = {"metric": "metrics", "run": "runs", "baseline": "baselines", "by_group": "by_group"}
"""Names that may be repeated in a query, and what the client calls the list."""
NUMBERS = {"qrels": int, "margin": float}
"""Names with numbers in a query."""


def pairs_of(query: Mapping[str, Any]) -> Pairs:
    """Return a query's names and values. None and empty lists are left out."""
    return [
        (name, str(each))
        for name, value in query.items()
        for each in (value if isinstance(value, list | tuple) else [value])
        if each is not None
    ]


def query_of(query: Mapping[str, Any]) -> str:
    """Return the text of a query."""
    return urlencode(pairs_of(query))


@dataclass(frozen=True)
class PrintedRequest:
    """One request in two forms."""

    curl: str
    python: str

    @classmethod
    def of(
        cls, request: Request, resource: str, collection: str, query: str, method: str = "", names: Sequence[str] = ()
    ) -> PrintedRequest:
        """Return the request for a resource of a collection, such as `leaderboard`.

        The client's method has the same name, unless it is given. It takes `names` after the collection, in place of
        the parts of the query that have them.
        """
        server = str(request.base_url).rstrip("/")
        path = f"{server}/v1/collections/{collection}/{resource}"
        given: dict[str, Any] = {}
        for name, value in parse_qsl(query):
            if value in names:
                continue
            if name in SEVERAL:
                given.setdefault(SEVERAL[name], []).append(value)
            else:
                given[name] = NUMBERS.get(name, str)(value)
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        python = (
            "from gainboard.client import Gainboard\n\n"
            f"with Gainboard({server!r}) as gainboard:\n"
            f"    answer = gainboard.{method or resource}({', '.join(map(repr, (collection, *names)))}{arguments})\n"
        )
        return cls(f"curl {quote(f'{path}?{query}' if query else path)}", python)
