"""Commands, settings and the policy as sections of docs/command-line.md, docs/operating.md and docs/campaigns.md.

`python -m gainboard.cli.page docs/command-line.md` renews the section of a page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gainboard.analyses.page import table
from gainboard.cli.parsing import parser
from gainboard.evaluation.collection_settings import Policy
from gainboard.settings import PREFIX, Settings

_BEGIN: Final = "<!-- {}: begin; to renew them: python -m gainboard.cli.page docs/{} -->\n"
_END: Final = "<!-- {}: end -->\n"


def commands_page() -> str:
    """Return every command with its arguments and options, in Markdown."""
    return "\n".join(line for each in every_command(parser()) for line in section_of(each))


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


_SECTIONS: Final = {
    ("commands", "command-line.md"): commands_page,
    ("settings", "operating.md"): settings_page,
    ("fields", "campaigns.md"): policy_page,
}


def renewed(page: str) -> str:
    """Return the page with a new section between its markers. Raise ValueError if it has no markers."""
    for (what, name), section in _SECTIONS.items():
        before, begin, rest = page.partition(_BEGIN.format(what, name))
        _, end, after = rest.partition(_END.format(what))
        if begin and end:
            return f"{before}{begin}\n{section()}\n{end}{after}"
    raise ValueError(f"the page has no section of {', '.join(what for what, _ in _SECTIONS)} with its end")


def every_command(within: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield all commands, with the commands of a group instead of the group."""
    groups = [action for action in within._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield within
    for group in groups:
        for each in group.choices.values():
            yield from every_command(each)


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
        cells = (_written(action), _help(command, action))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


def _written(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if not action.option_strings:
        return f"`{value if isinstance(value, str) else ' '.join(value)}`"
    takes = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{name}{takes}`" for name in action.option_strings)


def _help(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = action.help or ""
    named = {**vars(action), "prog": command.prog, "choices": ", ".join(map(str, action.choices or ()))}
    return " ".join((text % named).split()) + (" (required)" if action.required and action.option_strings else "")


if __name__ == "__main__":
    _path = Path(sys.argv[1])
    _path.write_text(renewed(_path.read_text(encoding="utf-8")), encoding="utf-8")
