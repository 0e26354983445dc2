"""Panels: curves and heat maps on axes, which are readable in print and without colour.

Matplotlib sets scales and ticks, except the place of 0 on a log axis, and names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.ft2font import FT2Font
from matplotlib.path import Path
from matplotlib.scale import SymmetricalLogScale
from matplotlib.ticker import FixedLocator, Locator, LogLocator, MaxNLocator
from numpy.typing import NDArray

from gainboard.exhibits.figures import Axis, HeatMap, Numbers, Panel, Reference, Series
from gainboard.exhibits.latex import spell_code

GREY = "0.4"
SMALL = 7.0
"""The size of all text except titles, in points."""

MANY = 9
"""The number of curves above which they are drawn finer, and on more space."""

SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.titlesize": 8,
    "font.family": "sans-serif",
    # DejaVu Sans is Matplotlib's own and measures the text. Verdana is about as wide, where a reader has no DejaVu.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": SMALL,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.4,
    "legend.fontsize": SMALL,
    "svg.fonttype": "none",
    "svg.hashsalt": "gainboard",
    "text.hinting": "none",
    "text.parse_math": False,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}

# Okabe and Ito's palette for all kinds of colour vision. Its yellow is invisible on paper, so a grey replaces it.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#777777")
_MARKERS = ("o", "s", "^", "D", "v", "X", "<", "P", ">", "*", "h", "d")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)))


@dataclass(frozen=True, slots=True)
class CurveLook:
    """The look of one curve. `number` counts the curves from 0; `scale` makes many of them finer."""

    number: int
    colour: str
    marker: str
    dash: Any
    is_hollow: bool
    scale: float

    def marks(self) -> dict[str, Any]:
        """Return Matplotlib's settings of the marks."""
        return {
            "marker": self.marker,
            "markersize": (4.5 if self.marker in "*XP" else 3.8) * self.scale,
            "markerfacecolor": "white" if self.is_hollow else self.colour,
            "markeredgecolor": self.colour,
            "markeredgewidth": 0.8 * self.scale,
        }

    def line(self) -> dict[str, Any]:
        """Return Matplotlib's settings of the line."""
        return {"color": self.colour, "linestyle": self.dash, "linewidth": self.scale}


def looks_of(labels: Sequence[str]) -> dict[str, CurveLook]:
    """Return a look for each label.

    The first 24 have different marks; the first 40 differ at least in colour or dashes.
    """
    scale, looks = 1.0 if len(labels) <= MANY else 0.9, {}
    for number, label in enumerate(labels):
        rounds, colour = divmod(number, len(_COLOURS))
        # Each round shifts the colours by one more, so that an equal colour never has equal dashes.
        dash = _DASHES[(number + rounds) % len(_DASHES)]
        is_hollow = number // len(_MARKERS) % 2 == 1
        marker = _MARKERS[number % len(_MARKERS)]
        looks[label] = CurveLook(number, _COLOURS[colour], marker, dash, is_hollow, scale)
    return looks


def drop_controls(text: str) -> str:
    """Return the text without the control characters that XML forbids."""
    return "".join(character if character.isprintable() else spell_code(character) for character in text)


def fit_text(text: str, most: int = 64) -> str:
    """Return the text in one line, cut in the middle if very long, with codes for invisible characters."""
    words = " ".join(text.split())
    if len(words) > most:
        words = f"{words[: most // 2]}…{words[-(most // 2 - 1) :]}"
    return "".join(character if ord(character) in _drawable() else spell_code(character) for character in words)


@cache
def _drawable() -> frozenset[int]:
    font = FT2Font(f"{mpl.get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    return frozenset(code for code in font.get_charmap() if chr(code).isprintable())


Floats = NDArray[np.float64]
Which = Literal["x", "y"]

MOST_TICKS = 60
"""The most names along one axis. Of more names, every second, third, ... is written."""
_LONGEST_NAME = 36
_MOST_ACROSS = 24
"""The most characters of names side by side in the narrowest panel; more are turned."""
_FARTHEST = 1e100
_PLACE_OF_ZERO = 0.6
"""The distance of 0 from the first decade of a log axis, in decades."""
_CODES = (Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO)
_STROKES = {
    "x": Path([(-0.5, -0.5), (0.0, 0.5), (0.0, -0.5), (0.5, 0.5)], _CODES),
    "y": Path([(-0.5, -0.5), (0.5, 0.0), (-0.5, 0.0), (0.5, 0.5)], _CODES),
}
"""The two strokes that interrupt an axis before its 0."""


def floats(numbers: Numbers) -> Floats:
    """Return the numbers as float64, with NaN for None and for numbers that are too large to be drawn."""
    values = np.array([math.nan if number is None else number for number in numbers], dtype=np.float64)
    return np.where(np.abs(values) <= _FARTHEST, values, math.nan)


def drawable(numbers: Numbers, axis: Axis) -> Floats:
    """Return the numbers with NaN for those that the axis does not show."""
    values = floats(numbers)
    return np.where(values < 0, math.nan, values) if axis.scale == "log" else values


def set_scale(axes: Axes, which: Which, axis: Axis, numbers: Iterable[Numbers]) -> None:
    """Give the `x` or `y` of the axes its scale and ticks, for these numbers."""
    if axis.categories:
        name_ticks(axes, which, axis.categories)
    if axis.counts:
        _axis_of(axes, which).set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    if axis.scale != "log":
        return
    shown_axis, values = (
        _axis_of(axes, which),
        np.concatenate([np.empty(0), *(drawable(some, axis) for some in numbers)]),
    )
    positive = values[values > 0]
    low, high = (positive.min(), positive.max()) if positive.size else (0.1, 1.0)
    # If the axis has few decades, 2 and 5 are ticks too.
    ticks = LogLocator(subs=[1.0, 2.0, 5.0] if high < 200 * low else [1.0], numticks=10)
    if (values == 0).any():
        # Numbers below the first decade are drawn between it and 0, because the scale overflows beyond some 300
        # decades.
        decade = 10.0 ** math.floor(math.log10(max(low, high * 1e-200)) + 1e-9)
        axes.set(**{f"{which}scale": SymmetricalLogScale(shown_axis, linthresh=decade, linscale=_PLACE_OF_ZERO)})
        shown_axis.set_major_locator(_FromZero(decade, ticks))
        _draw_break(axes, which, decade / 2)
    else:
        axes.set(**{f"{which}scale": "log"})
        shown_axis.set_major_locator(ticks)
    shown_axis.set_major_formatter(lambda value, _: f"{value:g}")
    shown_axis.set_minor_formatter(lambda value, _: "")


def set_limits(axes: Axes, which: Which, axis: Axis) -> None:
    """Set the requested limits, with a little room beyond them, so that marks on the limits are complete."""
    low, high = (-0.5, len(axis.categories) - 0.5) if axis.categories else axis.limits
    scale = _axis_of(axes, which).get_scale()
    if low is not None and ((low <= 0 and scale == "log") or scale == "symlog"):
        low = None
    seen = _axis_of(axes, which).get_view_interval()
    # Room is added on the paper's scale, where logarithms are evenly spaced.
    transform = _axis_of(axes, which).get_transform()
    wished = np.array([seen[0] if low is None else low, seen[1] if high is None else high])
    first, last = transform.transform(wished)
    if not first < last:  # all data are outside the only limit that was given
        first, last = (last - 1, last) if low is None else (first, first + 1)
    room = 0.02 * (last - first)
    limits = np.array([first - room * (low is not None), last + room * (high is not None)])
    axes.set(**{f"{which}lim": transform.inverted().transform(limits)})


def name_ticks(axes: Axes, which: Which, names: Sequence[str]) -> None:
    """Name the whole numbers from 0 along the `x` or `y` of the axes."""
    step = math.ceil(len(names) / MOST_TICKS)
    labels = [fit_text(name, _LONGEST_NAME) for name in names[::step]]
    axis = _axis_of(axes, which)
    axis.set_ticks(range(0, len(names), step), labels=labels)
    axis.set_minor_locator(FixedLocator(range(len(names) if step > 1 else 0)))
    if which == "x" and len(labels) * max(map(len, labels)) > _MOST_ACROSS:
        lean = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(labels) <= 12 else {"rotation": 90}
        for label in axis.get_ticklabels():
            label.update(lean)


def room_of_names(names: Sequence[str]) -> float:
    """Return the inches by which the page grows for the longest of the names."""
    return 0.06 * min(_LONGEST_NAME, max(map(len, names), default=0))


class _FromZero(Locator):
    """The ticks of a log axis from its first decade, and one at 0."""

    def __init__(self, decade: float, logarithmic: LogLocator) -> None:
        self._decade, self._logarithmic = decade, logarithmic

    def __call__(self) -> list[float]:
        assert self.axis is not None
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        ticks = self._logarithmic.tick_values(self._decade, max(vmax, self._decade))
        return [0.0, *(tick for tick in ticks if tick > 0.999 * self._decade)]


def _axis_of(axes: Axes, which: Which) -> DrawnAxis:
    return axes.xaxis if which == "x" else axes.yaxis


def _draw_break(axes: Axes, which: Which, at: float) -> None:
    x, y = (at, 0.0) if which == "x" else (0.0, at)
    across = axes.get_xaxis_transform() if which == "x" else axes.get_yaxis_transform()
    # A white patch under the strokes shows the interruption of the axis itself.
    for marker, size, colour in (("s", 3.5, "white"), (_STROKES[which], 7.0, "black")):
        axes.plot([x], [y], marker=marker, markersize=size, markerfacecolor=colour, markeredgecolor=colour,
                  markeredgewidth=0.6, linestyle="none", transform=across, clip_on=False, zorder=9)  # fmt: skip


RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 8.5,
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "linestyle": "none",
}
"""The look of a highlighted point."""

_MOST_MARKED, _MARKED_OF_MANY, _MARKED_ON_LINE = 40, 15, 10
_MOST_RINGS, _SMALL_RING = 12, {"markersize": 6.5, "markeredgewidth": 0.8}
_DASH = (0, (4, 2))


def draw_curves(panel: Panel, axes: Axes, looks: Mapping[str, CurveLook]) -> None:
    """Draw the curves and references of a panel whose scales are set."""
    rings = RING | (_SMALL_RING if sum(len(series.highlighted) for series in panel.series) > _MOST_RINGS else {})
    for series in panel.series:
        _draw(axes, series, drawable(series.x, panel.x), drawable(series.y, panel.y), looks[series.label], rings)
    for of in ("x", "y"):
        references = [line for line in panel.references if line.of == of and math.isfinite(line.value)]
        for number, reference in enumerate(sorted(references, key=lambda line: line.value)):
            _draw_reference(axes, reference, 0.5 if len(references) == 1 else number / (len(references) - 1))
    if panel.has_diagonal:
        axes.axline((0, 0), slope=1, color=GREY, linestyle=_DASH, linewidth=0.8, zorder=1.5)
    axes.set_xlabel(fit_text(panel.x.heading))
    axes.set_ylabel(fit_text(panel.y.heading))
    axes.set_title(fit_text(panel.title))


def _draw_reference(axes: Axes, reference: Reference, part: float) -> None:
    """Draw a dashed line and write its name at its end, outside the frame.

    The name is beside the line, or before or after it if that separates it from near neighbours. `part` is 0 for the
    first of several lines and 1 for the last.
    """
    side = 0 if part == 0 else 2 if part == 1 else 1
    style: dict[str, Any] = {"color": GREY, "linestyle": _DASH, "linewidth": 0.8, "zorder": 1.5}
    text: dict[str, Any] = {
        "fontsize": SMALL - 0.5,
        "color": "0.25",
        "textcoords": "offset points",
        "annotation_clip": False,
    }
    if reference.of == "y":
        axes.axhline(reference.value, **style)
        text |= {"xycoords": axes.get_yaxis_transform(), "xytext": (3, 0), "va": ("top", "center", "bottom")[side]}
        axes.annotate(fit_text(reference.label, 24), (1, reference.value), **text)
    else:
        axes.axvline(reference.value, **style)
        text |= {"xycoords": axes.get_xaxis_transform(), "xytext": (0, 3), "ha": ("right", "center", "left")[side]}
        axes.annotate(fit_text(reference.label, 24), (reference.value, 1), rotation=90, va="bottom", **text)


def _draw(axes: Axes, series: Series, x: Floats, y: Floats, look: CurveLook, rings: Mapping[str, Any]) -> None:
    if series.style == "bars":
        axes.bar(x, y, width=0.8, color=look.colour, zorder=2)
        return
    if series.style == "intervals":
        axes.plot(x, y, color=look.colour, linewidth=1.4, alpha=0.5, solid_capstyle="round", zorder=2)
        return
    line = look.line() | ({"linestyle": "none"} if series.style == "points" else {})
    drawstyle = "steps-post" if series.style == "step" else "default"
    ringed = list(series.highlighted)
    # A ring around a mark shows which curve it belongs to.
    marked = sorted({*_points_to_mark(np.isfinite(x) & np.isfinite(y), series.style, look.number), *ringed})
    # Marks and line are separate artists, so that marks can be drawn above all lines.
    axes.plot(x, y, zorder=2 + 0.001 * look.number, drawstyle=drawstyle, **line)
    axes.plot(x[marked], y[marked], linestyle="none", zorder=3 + 0.001 * look.number, **look.marks())
    axes.plot(x[ringed], y[ringed], zorder=4, **rings)


def _points_to_mark(defined: np.ndarray[tuple[int], np.dtype[np.bool_]], style: str, number: int) -> list[int]:
    """Return the points that get a mark: all if they are few, else some, which differ from curve to curve."""
    points = np.flatnonzero(defined)
    most = _MARKED_ON_LINE if style in ("line", "step") else _MARKED_OF_MANY
    if style == "points" or points.size <= (most if style in ("line", "step") else _MOST_MARKED):
        return points.tolist()
    step = math.ceil(points.size / most)
    # A point between two gaps has no line. Without a mark it would be invisible.
    framed = np.concatenate(([False], defined, [False]))
    lonely = np.flatnonzero(defined & ~framed[:-2] & ~framed[2:])
    # Each curve begins at another point, so that the marks of near curves do not cover each other.
    return sorted({*points[number * 7 % step :: step].tolist(), *lonely.tolist()})


_MOST_READABLE = 20
"""The most rows or columns whose numbers can be read; larger matrices have shades only."""
_MOST_DRAWN = 64
"""The most rows or columns that are drawn cell by cell; larger matrices are one picture."""
_SHADES = "YlGnBu"  # the lightness always falls: greater is darker without colour, too


def size_of_heat_map(heat_map: HeatMap) -> tuple[float, float]:
    """Return width and height in inches of the matrix with its names and the bar of its shades."""
    width, height = _size_of_cells(heat_map)
    return width + room_of_names(heat_map.rows) + 1.0, height + room_of_names(heat_map.columns) + 0.4


def _size_of_cells(heat_map: HeatMap) -> tuple[float, float]:
    most = max(len(heat_map.columns), len(heat_map.rows))
    # Small matrices have larger cells, so that they are as high as the bar with its title.
    cell = max(0.36, 1.2 / most) if most <= _MOST_READABLE else max(0.02, min(0.25, 6.2 / most))
    return cell * len(heat_map.columns), cell * len(heat_map.rows)


def draw_heat_map(heat_map: HeatMap, axes: Axes, alike: Iterable[HeatMap]) -> None:
    """Draw the matrix, first row on top, with a bar that explains its shades: one bar for all maps that are `alike`."""
    values = np.array([floats(row) for row in heat_map.values])
    shaded = np.concatenate([floats(row) for other in alike for row in other.values])
    shaded, (low, high) = shaded[np.isfinite(shaded)], heat_map.scale.limits
    low = low if low is not None else float(shaded.min(initial=math.inf))
    high = high if high is not None else float(shaded.max(initial=-math.inf))
    if not low < high:
        # A scale has two ends, also where all values are equal, or none is defined.
        low, high = (low - 0.5, low + 0.5) if math.isfinite(low) else (0.0, 1.0)
    norm = Normalize(low, high)
    cells = _draw_cells(axes, values, norm)
    if max(values.shape) <= _MOST_READABLE:
        _print_values(axes, values, norm, heat_map.digits)
    name_ticks(axes, "x", heat_map.columns)
    name_ticks(axes, "y", heat_map.rows)
    axes.tick_params(which="both", length=0)
    axes.grid(False)
    axes.set_title(fit_text(heat_map.title))
    axes.set_aspect("equal")
    # an axes beside the matrix would be as high as the page
    width, height = _size_of_cells(heat_map)
    bar_height = min(1.0, 3.0 / height)
    bar = axes.inset_axes((1 + 0.1 / width, 1 - bar_height, 0.12 / width, bar_height))
    Colorbar(bar, cells, label=fit_text(heat_map.scale.heading))


def _draw_cells(axes: Axes, values: Floats, norm: Normalize) -> ScalarMappable:
    rows, columns = values.shape
    most = max(rows, columns)
    masked = np.ma.masked_invalid(values)
    cells: ScalarMappable
    if most <= _MOST_DRAWN:
        edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
        width = 0.5 if most <= _MOST_READABLE else 0.2
        cells = axes.pcolormesh(*edges, masked, cmap=_SHADES, norm=norm, edgecolors="white", linewidth=width)
    else:
        cells = axes.imshow(masked, cmap=_SHADES, norm=norm, interpolation="nearest", aspect="auto")
    axes.set_facecolor("0.93")
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    return cells


def _print_values(axes: Axes, values: Floats, norm: Normalize, digits: int) -> None:
    # The weights are those of the eye for red, green and blue.
    lightness = mpl.colormaps[_SHADES](norm(values))[..., :3] @ (0.299, 0.587, 0.114)
    for (row, column), value in np.ndenumerate(values):
        text = "–" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")
        is_dark = lightness[row, column] < 0.5 and not math.isnan(value)
        size = min(SMALL, 32 / len(text))
        axes.text(column, row, text, ha="center", va="center", fontsize=size, color="white" if is_dark else "black")
