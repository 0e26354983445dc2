"""The functions and classes for Python as a part of the documentation, from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import gainboard
from gainboard.client import Gainboard, Job, LocalGainboard, Report, errors


def python_page() -> str:
    """Return what a program in Python can call, in Markdown."""
    lines = [*_function("gainboard.score", gainboard.score), *_class("gainboard.FileScores", gainboard.FileScores)]
    for each in (Gainboard, LocalGainboard, Job, Report):
        lines += _class(f"gainboard.client.{each.__name__}", each)
    lines += ["### Errors of the client\n", f"{inspect.getdoc(errors)}\n"]
    for name in errors.__all__:
        lines += [f"- `gainboard.client.{name}`: {(inspect.getdoc(getattr(errors, name)) or '').splitlines()[0]}"]
    return "\n".join(lines) + "\n"


def _class(name: str, described: type) -> Iterator[str]:
    """Yield a class and its public members. A client that is local has its own; the others are those of `Gainboard`."""
    yield f"### {name}\n"
    yield f"{inspect.getdoc(described)}\n"
    members = vars(described).items() if described is LocalGainboard else inspect.getmembers(described)
    for each, member in members:
        if not each.startswith("_") and (callable(member) or isinstance(member, property)):
            yield from _function(each, member)


def _function(name: str, function: object) -> Iterator[str]:
    signature = _signature(function) if callable(function) else ""
    level = "###" if "." in name else "####"
    yield f"{level} {name}\n"
    yield f"`{name.rpartition('.')[2]}{signature}`\n"
    yield f"{inspect.getdoc(function) or ''}\n"


def _signature(function: object) -> str:
    """Return the arguments with their types as the source has them, without modules."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    kept = [each for name, each in found.parameters.items() if name != "self"]
    shown = re.sub(r"\b(?:\w+\.)+(?=[A-Z])|\bdatetime\.(?=datetime)", "", str(found.replace(parameters=kept)))
    # An annotation that is still text is shown in quotes.
    return re.sub(r"""(: |-> )(['"])(.+?)\2(?=,|\)| =|$)""", r"\1\3", shown)
