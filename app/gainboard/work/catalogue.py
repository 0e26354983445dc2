"""The catalogues of kinds of jobs and of reports.

A kind is added by defining it in a file of its catalogue's folder.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyKind(ABC, Generic[M]):
    """A kind of job or of report. Requests name the kind and give its parameters."""

    name: str
    params: type[M]

    @property
    def definition(self) -> str:
        """The description of what the kind computes: the docstring of its request model."""
        return inspect.getdoc(self.params) or ""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the parameters, with descriptions, defaults and limits."""
        return self.params.model_json_schema()

    @abstractmethod
    def example(self) -> dict[str, Any]:
        """Return a body that asks for this kind."""


K = TypeVar("K", bound=AnyKind[Any])


class KindCatalogue(Generic[K]):
    """The kinds that the modules of one package add, by name.

    The modules are imported when a kind is first needed, because they import this catalogue in turn.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._kinds: dict[str, K] = {}
        self._is_complete = False

    def enter(self, kind: K) -> K:
        """Add a kind to the catalogue, and return it. Raise ValueError if another kind has its name."""
        if kind.name in self._kinds:
            raise ValueError(f"two kinds are called {kind.name}")
        self._kinds[kind.name] = kind
        return kind

    def every(self) -> tuple[K, ...]:
        """Return all kinds, in the order of their names."""
        self._complete()
        return tuple(self._kinds[name] for name in sorted(self._kinds))

    def find(self, name: str) -> K:
        """Return the kind with this name.

        Raise KeyError if there is none; models of requests allow only known names.
        """
        self._complete()
        return self._kinds[name]

    def _complete(self) -> None:
        if not self._is_complete:
            for module in iter_modules(import_module(self._package).__path__, f"{self._package}."):
                import_module(module.name)
            self._is_complete = True
