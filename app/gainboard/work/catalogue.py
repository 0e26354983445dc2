"""A catalogue of kinds: a kind is entered by being defined in a file of the catalogue's folder."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    """Something that requests ask for by name."""

    @property
    def name(self) -> str: ...


K = TypeVar("K", bound=Named)


class Catalogue(Generic[K]):
    """The kinds that the modules of one package enter, by name. The modules are imported when a kind is first wanted:
    they import this catalogue in turn.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._kinds: dict[str, K] = {}
        self._is_complete = False

    def enter(self, kind: K) -> None:
        """Put a kind into the catalogue. Raises ValueError where another one has its name."""
        if kind.name in self._kinds:
            raise ValueError(f"two kinds are called {kind.name}")
        self._kinds[kind.name] = kind

    def every(self) -> tuple[K, ...]:
        """Return all kinds, in the order of their names."""
        self._complete()
        return tuple(self._kinds[name] for name in sorted(self._kinds))

    def find(self, name: str) -> K:
        """Return the kind of this name; KeyError if there is none, which requests rule out by their form."""
        self._complete()
        return self._kinds[name]

    def _complete(self) -> None:
        if not self._is_complete:
            for module in iter_modules(import_module(self._package).__path__, f"{self._package}."):
                import_module(module.name)
            self._is_complete = True
