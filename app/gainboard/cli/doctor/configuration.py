"""The settings, and where each comes from; what is secret is not shown."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from pydantic import SecretStr
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from gainboard.cli.doctor.checking import Examined, Finding, check
from gainboard.settings import PREFIX, Settings

HIDDEN = "***"


@check
def settings(subject: Examined) -> Iterator[Finding]:
    """Every one that is set, and the defaults of the others in a line."""
    if subject.settings is None:
        yield Finding("problem", subject.refused, "No command that opens the database starts before that is corrected.")
        return
    unset = []
    for name in Settings.model_fields:
        source = _source(subject, name)
        if source:
            yield Finding("ok", f"{PREFIX}{name.upper()} = {_shown(subject.settings, name)} ({source})")
        else:
            unset.append(f"{name.upper()} = {_shown(subject.settings, name)}")
    yield Finding("ok", f"not set, so as by default: {', '.join(unset)}")


def _source(subject: Examined, name: str) -> str:
    if name == "data" and subject.data is not None:
        return "--data"
    return "environment" if subject.environment.get(PREFIX + name.upper()) else ""


def _shown(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if value is None:
        return "none"
    if isinstance(value, SecretStr):
        return f"{HIDDEN}, not shown"
    return without_secrets(value) if name == "database_url" else str(value) or "empty"


def without_secrets(url: str) -> str:
    """An address of a database without its password, wherever it stands in it."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the latter where the port is no number
        return f"{HIDDEN}, which is no address"  # and may be a password
    hidden = {key: HIDDEN for key in parsed.query if "pass" in key.lower()}
    return parsed.update_query_dict(hidden).render_as_string(hide_password=True)


@check
def unknown_variables(subject: Examined) -> Iterator[Finding]:
    """Those that look like settings and are none."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for name in Settings.unknown(subject.environment):
        near = get_close_matches(name, known, 1, 0.85)
        advice = f"Is {near[0]} meant?" if near else "It has no effect."
        yield Finding("note", f"{name} is no setting", advice)
