"""Figures as SVG and PNG, drawn with Matplotlib, the `figures` extra.

Text stays text, which can be searched, copied and edited. It is measured in DejaVu Sans, and readers without this font
see a similar one. The name is the title and the caption the description. The labels are also keywords in the metadata.
The same figure gives the same bytes under one version of Matplotlib.
"""

from __future__ import annotations

from threading import Lock
from typing import Literal

from gainboard.errors import NotFound
from gainboard.exhibits.figures import Figure

# Matplotlib reads its SVG settings from the whole process, so only one figure is drawn at a time.
_one_at_a_time = Lock()


def as_svg(figure: Figure) -> bytes:
    """Return the figure as a complete SVG document in UTF-8. Several threads may call this.

    Raise `NotFound` if Matplotlib, the `figures` extra, is not installed.
    """
    return _draw(figure, "svg")


def as_png(figure: Figure) -> bytes:
    """Return the figure as a picture for slides, 200 dots an inch. The rest is as for `as_svg`."""
    return _draw(figure, "png")


def _draw(figure: Figure, form: Literal["svg", "png"]) -> bytes:
    with _one_at_a_time:
        try:
            # Matplotlib is optional, and importing it takes longer than the rest of the server.
            from gainboard.exhibits.drawing.pages import image_bytes  # noqa: PLC0415
        except ImportError as error:
            raise NotFound(
                "Figures cannot be drawn, because the `figures` extra is not installed. Install it, in the folder of "
                "Gainboard's source: pip install '.[figures]'. Or use the tables."
            ) from error
        return image_bytes(figure, form)
