"""Describes the program for pages of the documentation: `python -m gainboard.cli.parts` prints the parts as JSON.

This ring alone sees all that is described: commands, settings, metrics, kinds of jobs, the API and the client.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

import gainboard
from gainboard.analyses.job_kinds import Kind, every_kind, schema_of
from gainboard.analyses.params import Params
from gainboard.analyses.report_kinds import ReportKind, ReportParams, every_report_kind
from gainboard.analyses.result_models import JobResult
from gainboard.api.reference import common_errors, reference
from gainboard.cli.parsing import parser
from gainboard.client import Gainboard, Job, LocalGainboard, Report, errors
from gainboard.documentation.pages import gallery_page
from gainboard.evaluation.collection_settings import Policy
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.metrics import Metric, Parameter, Scale, every_metric, every_parameter, every_preset
from gainboard.metrics.names import is_pinned
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
    signature = ""
    if callable(function):
        found = inspect.signature(function)
        kept = [each for name, each in found.parameters.items() if name != "self"]
        # The types are shown as the source has them, without modules; an annotation that is still text has quotes.
        signature = re.sub(r"\b(?:\w+\.)+(?=[A-Z])|\bdatetime\.(?=datetime)", "", str(found.replace(parameters=kept)))
        signature = re.sub(r"""(: |-> )(['"])(.+?)\2(?=,|\)| =|$)""", r"\1\3", signature)
    level = "###" if "." in name else "####"
    yield f"{level} {name}\n"
    yield f"`{name.rpartition('.')[2]}{signature}`\n"
    yield f"{inspect.getdoc(function) or ''}\n"


_SCALE: Final = Scale(3)
"""NTCIR's three levels. The page shows the defaults for this scale."""


def catalogue_page() -> str:
    """Return the catalogue in Markdown: the parameters as a table, the metrics with definitions, and the presets."""
    lines = ["| parameter | default | valid values | metrics | meaning |", "| --- | --- | --- | --- | --- |"]
    for parameter in every_parameter():
        name = f"`{parameter.name}`" + ("*" if parameter.always_shown else "")
        default, limits, owners = _default(parameter), parameter.limits, _owners(parameter)
        lines.append(f"| {name} | `{default}` | {limits} | {owners} | {parameter.description} |")
    lines.append(
        "\n\\* is part of every label. The other parameters are part of a label if they differ from the default.\n"
    )
    for metric in every_metric():
        lines += _section(metric)
    lines += [
        "## Presets\n",
        "A preset is a name for several metrics. Use it in a list of metrics. It is refused where one metric is",
        "expected (`by`, `against`, a baseline). It takes neither parameters nor a cut-off. The expressions below are",
        "those for three levels.\n",
    ]
    for preset in every_preset():
        lines.append(f"### {preset.name}: {preset.title}\n")
        lines.append(f"{', '.join(f'`{expression}`' for expression in preset.expressions(_SCALE.highest_level))}\n")
        lines += [f"{preset.definition}\n", f"Source: {preset.reference}\n"]
    return "\n".join(lines)


def _owners(parameter: Parameter) -> str:
    meaning = (parameter.name, parameter.description)
    having = [
        metric
        for metric in every_metric()
        if meaning in {(other.name, other.description) for other in metric.parameters}
    ]
    if len(having) == len(every_metric()):
        return "every metric"
    if having == [metric for metric in every_metric() if metric.has_formula]:
        return "every metric that needs neither intents nor annotations"
    if having == [metric for metric in every_metric() if not metric.needs_annotations]:
        return "every metric that needs no annotations"
    are_graded = having == [metric for metric in every_metric() if metric.graded]
    return "graded metrics" if are_graded else ", ".join(metric.name for metric in having)


def _default(parameter: Parameter) -> str:
    return parameter.write(parameter.default_value(_SCALE))


def _section(metric: Metric) -> Iterator[str]:
    yield f"### {metric.name}: {metric.title}\n"
    values = ",".join(f"{parameter.name}={_default(parameter)}" for parameter in metric.parameters)
    cutoff = "@l" if metric.needs_cutoff else "[@l]" if metric.takes_cutoff else ""
    pinned = ", ".join(_alias(metric, alias) for alias in metric.aliases if is_pinned(alias))
    free = ", ".join(_alias(metric, alias) for alias in metric.aliases if not is_pinned(alias))
    aliases = (f"; also {free}" if free else "") + (f"; trec_eval's {pinned}" if pinned else "")
    yield f"`{metric.name}({values}){cutoff}`{aliases}\n"
    remarks = ["" if metric.bounded else " Scores may exceed 1.", " It needs a collection with intents."]
    yield f"{metric.definition}{''.join(remarks if metric.needs_intents else remarks[:1])}\n"
    if metric.needs_annotations:
        yield "It needs annotations: attribute sets, or the strata of a sampled pool.\n"
    yield f"Source: {metric.reference}\n"


def _alias(metric: Metric, alias: str) -> str:
    implied = ", ".join(f"`{key}={value}`" for key, value in metric.implied[alias].items())
    return f"`{alias}`" + (f" (with {implied})" if implied else "")


_BOUNDS: Final = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
)


def kinds_page() -> str:
    """Return every kind of job in Markdown: what it is asked, and what it answers."""
    common = Params.model_json_schema()
    lines = ["Every kind of analysis takes:\n", *table(common["properties"], common), ""]
    head = JobResult.model_json_schema()
    lines += ["Every result begins with these fields. It shows the parameters that matter, and an undefined number is "]
    lines[-1] += "null:\n"
    lines += [*_fields(head["properties"], head), ""]
    return "\n".join([*lines, *(line for kind in every_kind() for line in _kind(kind))])


def _kind(kind: Kind) -> Iterator[str]:
    common = JobResult.model_json_schema(mode="serialization")["properties"]
    described = schema_of(kind.params_model)
    fields = {name: field for name, field in described["properties"].items() if name not in Params.model_fields}
    yield f"### {kind.name}\n"
    yield f"{kind.definition}\n"
    yield from table(fields, described)
    yield f"\n```json\n{json.dumps(kind.example())}\n```\n"
    yield f"Result: [{kind.result_model.__name__}](api.md#{kind.result_model.__name__.lower()}).\n"
    # Without the fields of every result, and those that only repeat a parameter.
    schema = schema_of(kind.result_model, "serialization")
    yield from _fields(
        {
            name: field
            for name, field in schema["properties"].items()
            if name != "kind"
            and field != common.get(name)
            and (name not in kind.params_model.model_fields or "description" in field or "$ref" in str(field))
        },
        schema,
    )
    yield ""


def _fields(fields: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    yield from ("| field | what it is |", "| --- | --- |")
    for name, field in fields.items():
        # without a description, the field is what its model, or that of the members of its list, says of itself
        reference = field.get("$ref") or field.get("items", {}).get("$ref", "")
        model = described.get("$defs", {}).get(reference.rpartition("/")[2], {})
        yield f"| `{name}` | {field.get('description') or model.get('description', '')} |"


def reports_page() -> str:
    """Return every kind of report in Markdown."""
    common = ReportParams.model_json_schema()
    lines = ["Every report takes:\n", *table(common["properties"], common), ""]
    return "\n".join([*lines, *(line for kind in every_report_kind() for line in _report(kind))])


def _report(kind: ReportKind[Any]) -> Iterator[str]:
    described, common = schema_of(kind.params_model), ReportParams.model_json_schema()["properties"]
    fields = {name: field for name, field in described["properties"].items() if field != common.get(name)}
    yield f"### {kind.name}\n"
    yield f"{kind.reference}.\n"
    yield f"{kind.definition}\n"
    if fields:
        yield from table(fields, described)
        yield ""
    yield f"```json\n{json.dumps(kind.example())}\n```\n"


def table(
    fields: Mapping[str, Any],
    described: Mapping[str, Any],
    what: str = "parameter",
    written: Callable[[Any], str] = json.dumps,
) -> Iterator[str]:
    """Yield a table of parameters: the fields of a JSON Schema, whose models are in `described`."""
    yield from (f"| {what} | default | must be | what it is |", "| --- | --- | --- | --- |")
    for name, field in fields.items():
        default = f"`{written(field['default'])}`" if "default" in field else "required"
        limits = _limits(field, described.get("$defs", {}))
        cells = (f"`{name}`", default, limits, field.get("description", ""))
        # a bar would end the cell
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _limits(field: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """Return the limits of a value in JSON Schema, in words."""
    if "$ref" in field:
        members = models[field["$ref"].rpartition("/")[2]]["properties"]
        return f"an object of {', '.join(f'`{name}`' for name in members)}"
    if "anyOf" in field:
        return " or ".join(
            dict.fromkeys(_limits(option, models) for option in field["anyOf"] if option != {"type": "null"})
        )
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        most = f"at most {field['maxItems']:,} times " if "maxItems" in field else "any number of times "
        return f"a list: {most}{_limits(field['items'], models)}"
    if field.get("format") == "date-time":
        return "a time"
    word = {"integer": "a whole number", "number": "a number", "boolean": "`true` or `false`", "object": "an object"}
    words = [word.get(field.get("type", ""), "text")]
    for name, text in _BOUNDS:
        if (bound := field.get(name)) is not None:
            power = bound.bit_length() - 1 if isinstance(bound, int) else 0
            words.append(text.format(f"2^{power}" if power > 16 and bound == 2**power else f"{bound:,}"))
    return ", ".join(words)


if __name__ == "__main__":
    json.dump(every_part(), sys.stdout)
