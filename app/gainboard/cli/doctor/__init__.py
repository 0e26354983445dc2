"""The checks of `gainboard doctor`: functions with `@check` above them, which yield findings about a subject.

The files of this folder hold the checks; `every_check` lists them in the order of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sqlalchemy.exc import DBAPIError

from gainboard.errors import BadSetting, GainboardError
from gainboard.settings import Settings
from gainboard.store.database import Database, Transaction
from gainboard.store.inspection import Schema, looking, schema

Verdict = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding. A `problem` keeps something from working; a `note` may explain something."""

    verdict: Verdict
    message: str
    advice: str = ""
    """The advice to the user."""


@dataclass(frozen=True)
class Subject:
    """The installation that the checks examine. A member is None if it is not available; a check then says why."""

    environment: Mapping[str, str]
    data: Path | None
    """The folder that the command line names."""
    thorough: bool
    settings: Settings | None = None
    refused: str = ""
    """The reason why there are no settings."""
    database: Database | None = None
    tx: Transaction | None = None
    unreachable: str = ""
    """The reason why there is no transaction."""
    schema: Schema | None = None

    @property
    def current(self) -> Transaction | None:
        """Return the transaction if the schema is this version's, so that its tables can be read."""
        return self.tx if self.schema is not None and self.schema.found == self.schema.newest else None


Check = Callable[[Subject], Iterable[Finding]]
_CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Add a check to the report under the function's name."""
    _CHECKS.append(function)
    return function


def every_check() -> list[Check]:
    """Return all checks in the order of the report: file by file, each from top to bottom."""
    from gainboard.cli.doctor import database, installation  # noqa: PLC0415 (they import this module)

    order = [part.__name__ for part in (installation, database)]
    return sorted(_CHECKS, key=lambda function: order.index(function.__module__))


def run_checks(
    checks: Iterable[Check], environment: Mapping[str, str], data: Path | None, *, thorough: bool
) -> Iterator[tuple[str, Finding]]:
    """Run the checks, and yield their findings with their names. Nothing is changed."""
    with ExitStack() as open_things:
        subject = _open_database(open_things, Subject(environment, data, thorough))
        for each in checks:
            for finding in _run_check(each, subject):
                yield each.__name__.replace("_", " "), finding


def _run_check(each: Check, subject: Subject) -> Iterator[Finding]:
    try:
        yield from each(subject)
    except (GainboardError, DBAPIError, OSError) as error:
        yield Finding("problem", f"could not be checked: {getattr(error, 'orig', error)}")


def _open_database(open_things: ExitStack, subject: Subject) -> Subject:
    try:
        settings = Settings.read(subject.environment, data=subject.data)
    except BadSetting as error:
        return replace(subject, refused=error.message)
    subject = replace(subject, settings=settings)
    try:
        database = Database(settings.url, objects=settings.objects)
        open_things.callback(database.close)
        subject = replace(subject, database=database)
        tx = open_things.enter_context(looking(database))
        return replace(subject, tx=tx, schema=schema(tx))
    except (GainboardError, DBAPIError) as error:
        return replace(subject, unreachable=str(error))
