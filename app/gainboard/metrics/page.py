"""The catalogue as a part of the page on metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gainboard.metrics import Metric, Parameter, Scale, every_metric, every_parameter, every_preset
from gainboard.metrics.names import is_pinned

_SCALE: Final = Scale(3)
"""NTCIR's three levels. The page shows the defaults for this scale."""


def catalogue_page() -> str:
    """Return the catalogue in Markdown: the parameters as a table, the metrics with definitions, and the presets."""
    lines = [
        "| parameter | default | valid values | metrics | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
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
