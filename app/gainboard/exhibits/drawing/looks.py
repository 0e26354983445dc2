"""The look of curves and text, which is readable in print and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import matplotlib as mpl
from matplotlib.ft2font import FT2Font

from gainboard.exhibits.latex import spelled

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
    scale = 1.0 if len(labels) <= MANY else 0.9
    return {label: _look(number, scale) for number, label in enumerate(labels)}


def _look(number: int, scale: float) -> CurveLook:
    rounds, colour = divmod(number, len(_COLOURS))
    # Each round shifts the colours by one more, so that an equal colour never has equal dashes.
    dash = _DASHES[(number + rounds) % len(_DASHES)]
    is_hollow = number // len(_MARKERS) % 2 == 1
    return CurveLook(number, _COLOURS[colour], _MARKERS[number % len(_MARKERS)], dash, is_hollow, scale)


def written(text: str) -> str:
    """Return the text without the control characters that XML forbids."""
    return "".join(character if character.isprintable() else spelled(character) for character in text)


def shown(text: str, most: int = 64) -> str:
    """Return the text in one line, cut in the middle if very long, with codes for invisible characters."""
    words = " ".join(text.split())
    if len(words) > most:
        words = f"{words[: most // 2]}…{words[-(most // 2 - 1) :]}"
    return "".join(character if ord(character) in _drawable() else spelled(character) for character in words)


@cache
def _drawable() -> frozenset[int]:
    font = FT2Font(f"{mpl.get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    return frozenset(code for code in font.get_charmap() if chr(code).isprintable())
