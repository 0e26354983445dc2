"""The checks of `gainboard doctor` and what they look at. A check is a function with `@check` above it."""

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
CHECKS: list[Check] = []
"""All checks whose files are imported."""


def check(function: Check) -> Check:
    """Add a check to the report under the function's name."""
    CHECKS.append(function)
    return function


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
