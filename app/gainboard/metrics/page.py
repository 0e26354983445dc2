"""The catalogue as a section of docs/metrics.md; `python -m gainboard.metrics.page docs/metrics.md` renews it there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gainboard.metrics import Metric, Parameter, Preset, Scale, every_metric, every_preset, query_parameters
from gainboard.metrics.names import is_pinned

BEGIN: Final = "<!-- catalogue: begin; to renew it: python -m gainboard.metrics.page docs/metrics.md -->\n"
END: Final = "<!-- catalogue: end -->\n"
_SCALE: Final = Scale(3)
"""NTCIR's three levels: what defaults are shown for that depend on the scale."""


def catalogue_page() -> str:
    """Markdown: every parameter in a table, then every metric with its names, definition and source; then presets."""
    metrics = (line for metric in every_metric() for line in _section(metric))
    presets = (line for preset in every_preset() for line in _preset(preset))
    return "\n".join([*_table(), *metrics, *_about_presets(), *presets])


def renewed(page: str) -> str:
    """The page with what stands between its two markers made anew. Raises ValueError where they are not there."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no line {END if begin else BEGIN!r}")
    return f"{before}{begin}\n{catalogue_page()}\n{end}{after}"


def _table() -> Iterator[str]:
    yield "| parameter | default | must be | of | what it is |"
    yield "| --- | --- | --- | --- | --- |"
    for parameter in query_parameters().values():
        name = f"`{parameter.name}`" + ("*" if parameter.always_shown else "")
        limits, owners = parameter.limits, _owners(parameter)
        yield f"| {name} | `{_default(parameter)}` | {limits} | {owners} | {parameter.description} |"
    yield "\n\\* stands in every label; the others only where they differ from the default.\n"


def _owners(parameter: Parameter) -> str:
    having = [metric for metric in every_metric() if parameter.name in {each.name for each in metric.parameters}]
    if len(having) == len(every_metric()):
        return "every metric"
    are_graded = having == [metric for metric in every_metric() if metric.graded]
    return "graded metrics" if are_graded else ", ".join(metric.name for metric in having)


def _default(parameter: Parameter) -> str:
    return parameter.write(parameter.default_value(_SCALE))


def _section(metric: Metric) -> Iterator[str]:
    yield f"### {metric.name}: {metric.title}\n"
    yield f"`{_form(metric)}`{_aliases(metric)}\n"
    yield f"{metric.definition}{'' if metric.bounded else ' Scores may exceed 1.'}\n"
    yield f"Source: {metric.reference}\n"


def _form(metric: Metric) -> str:
    cutoff = "@l" if metric.needs_cutoff else "[@l]" if metric.takes_cutoff else ""
    return f"{metric.name}({','.join(f'{each.name}={_default(each)}' for each in metric.parameters)}){cutoff}"


def _aliases(metric: Metric) -> str:
    pinned = [f"`{alias}`" for alias in metric.aliases if is_pinned(alias)]
    free = [f"`{alias}`" for alias in metric.aliases if not is_pinned(alias)]
    return (f"; also {', '.join(free)}" if free else "") + (f"; trec_eval's {', '.join(pinned)}" if pinned else "")


def _about_presets() -> Iterator[str]:
    yield "## Presets\n"
    yield "A preset is a name for several metrics, which take its place wherever metrics are listed. Where one metric"
    yield "is meant (`by`, `against`, a baseline) it is refused; it takes neither parameters nor a cut-off. The"
    yield "expressions below are those for three levels.\n"


def _preset(preset: Preset) -> Iterator[str]:
    yield f"### {preset.name}: {preset.title}\n"
    yield f"{', '.join(f'`{expression}`' for expression in preset.expressions(_SCALE.highest_level))}\n"
    yield f"{preset.definition}\n"
    yield f"Source: {preset.reference}\n"


def _renew(path: Path) -> None:
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    _renew(Path(sys.argv[1]))
