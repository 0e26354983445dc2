"""Figures on pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Page

from gainboard.exhibits.drawing.curves import draw_curves, label_references
from gainboard.exhibits.drawing.heatmaps import draw_heat_map, size_of_heat_map
from gainboard.exhibits.drawing.layout import add_legend, per_row, place, size_of_panel
from gainboard.exhibits.drawing.looks import DOTS, SETTINGS, looks_of, written
from gainboard.exhibits.drawing.rulers import Ruler, ruler
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Numbers, Panel, Series


class Plot(NamedTuple):
    """A panel, where it is drawn, and what its numbers are laid out by."""

    panel: Panel
    axes: Axes
    x: Ruler
    y: Ruler


def svg_bytes(figure: Figure) -> bytes:
    """The figure as SVG. For one thread at a time: settings of the whole process are changed while it draws."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]  # a literal of all names
        out = BytesIO()
        metadata = {
            "Title": figure.name,
            "Description": written(figure.caption),
            "Keywords": [written(label) for label in figure.labels],
            "Creator": "Gainboard",
            "Date": None,
        }
        drawn(figure).savefig(out, format="svg", bbox_inches="tight", pad_inches=0.05, metadata=metadata)
    return out.getvalue()


def drawn(figure: Figure) -> Page:
    """The figure, drawn. The page is nominally one inch square, so that its coordinates are inches."""
    page = Page(figsize=(1, 1), dpi=DOTS)
    FigureCanvasAgg(page)
    looks = looks_of(figure.labels)
    plots: list[Plot] = []
    for number, panel in enumerate(figure.panels):
        size = size_of_panel(panel, figure) if isinstance(panel, Panel) else size_of_heat_map(panel)
        axes = page.add_axes((0, 0, *size), label=str(number))
        if isinstance(panel, Panel):
            plots.append(Plot(panel, axes, *_rulers(panel, figure)))
            draw_curves(*plots[-1], looks)
        else:
            draw_heat_map(panel, axes, _alike(panel, figure))
    _finish(plots)
    _say_once(plots, per_row(figure))
    place(page.axes, per_row(figure))
    add_legend(page, figure, looks)
    return page


def _alike(panel: HeatMap, figure: Figure) -> list[HeatMap]:
    return [other for other in figure.panels if isinstance(other, HeatMap) and other.scale == panel.scale]


def _rulers(panel: Panel, figure: Figure) -> tuple[Ruler, Ruler]:
    """Of x and y, over the numbers of all panels that have the same axis."""
    panels = [other for other in figure.panels if isinstance(other, Panel)]
    x_numbers = (_numbers(other, "x", lambda series: series.x) for other in panels if other.x == panel.x)
    y_numbers = (_numbers(other, "y", lambda series: series.y) for other in panels if other.y == panel.y)
    return _ruler(panel.x, x_numbers), _ruler(panel.y, y_numbers)


def _ruler(axis: Axis, numbers: Iterable[Iterator[Numbers]]) -> Ruler:
    return ruler(axis, (each for some in numbers for each in some))


def _numbers(panel: Panel, of: str, numbers: Callable[[Series], Numbers]) -> Iterator[Numbers]:
    yield from map(numbers, panel.series)
    yield [reference.value for reference in panel.references if reference.of == of]


def _finish(plots: list[Plot]) -> None:
    """Gives equal axes equal limits, and then draws what depends on them."""
    limits = [(plot.axes.get_xlim(), plot.axes.get_ylim()) for plot in plots]
    for plot in plots:
        xs = [x for other, (x, _) in zip(plots, limits, strict=True) if other.panel.x == plot.panel.x]
        ys = [y for other, (_, y) in zip(plots, limits, strict=True) if other.panel.y == plot.panel.y]
        plot.axes.set_xlim(plot.x.bounded(min(low for low, _ in xs), max(high for _, high in xs)))
        plot.axes.set_ylim(plot.y.bounded(min(low for low, _ in ys), max(high for _, high in ys)))
        box = plot.axes.get_position()
        plot.x.dress(plot.axes, "x", box.width)
        plot.y.dress(plot.axes, "y", box.height)
        label_references(*plot)


def _say_once(plots: list[Plot], in_row: int) -> None:
    """Side by side, panels of the same y need its title only once."""
    for number, plot in enumerate(plots):
        if number % in_row and plots[number - 1].panel.y == plot.panel.y:
            plot.axes.set_ylabel("")
