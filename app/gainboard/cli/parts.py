"""Describes the program for pages of the documentation: `python -m gainboard.cli.parts` prints the parts as JSON.

This ring alone sees all that is described: commands, settings, metrics, kinds of jobs, the API and the client.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import closing

from gainboard.analyses.page import kinds_page, reports_page, table
from gainboard.api.reference import common_errors, reference
from gainboard.cli.parsing import parser
from gainboard.client.page import python_page
from gainboard.documentation.pages import gallery_page
from gainboard.evaluation.collection_settings import Policy
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.metrics.page import catalogue_page
from gainboard.settings import PREFIX, Settings
from gainboard.store.database import Database


def commands_page() -> str:
    """Return every command with its arguments and options, in Markdown."""
    return "\n".join(line for command in every_command(parser()) for line in section_of(command))


def settings_page() -> str:
    """Return every variable that the service reads, in Markdown."""
    described = Settings.model_json_schema()
    fields = {f"{PREFIX}{name.upper()}": field for name, field in described["properties"].items()}
    return "\n".join([*table(fields, described, "variable", lambda default: str(default or "not set")), ""])


def policy_page() -> str:
    """Return every field of the policy, and those of its quotas, in Markdown."""
    described = Policy.model_json_schema()
    quotas = {f"quotas.{name}": field for name, field in described["$defs"]["Quotas"]["properties"].items()}
    fields = {name: field for name, field in described["properties"].items() if name != "quotas"}
    return "\n".join([*table(fields | quotas, described, "field"), ""])


def every_part() -> dict[str, str]:
    """Return all parts by the names that the pages of `docs/` have for them."""
    with closing(Database("sqlite://")) as database:
        description = create_app(Workspace(database)).openapi()
    return {
        "commands": commands_page(),
        "settings": settings_page(),
        "policy": policy_page(),
        "kinds": kinds_page(),
        "reports": reports_page(),
        "catalogue": catalogue_page(),
        "common-errors": common_errors(description),
        "api": reference(description),
        "python": python_page(),
        "gallery": gallery_page(),
    }


def every_command(within: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield all commands, with the commands of a group instead of the group."""
    groups = [action for action in within._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield within
    for group in groups:
        for command in group.choices.values():
            yield from every_command(command)


def section_of(command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines about a command, in Markdown."""
    yield f"### {command.prog}\n"
    yield f"{' '.join((command.description or '').split())}\n"
    actions = [action for action in command._actions if "--help" not in action.option_strings]
    if not actions:
        return
    yield "| argument or option | meaning |"
    yield "| --- | --- |"
    for action in actions:
        named = {**vars(action), "prog": command.prog, "choices": ", ".join(map(str, action.choices or ()))}
        text = " ".join(((action.help or "") % named).split())
        text += " (required)" if action.required and action.option_strings else ""
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in (_written(action), text)) + " |"
    yield ""


def _written(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if not action.option_strings:
        return f"`{value if isinstance(value, str) else ' '.join(value)}`"
    takes = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{name}{takes}`" for name in action.option_strings)


if __name__ == "__main__":
    json.dump(every_part(), sys.stdout)
