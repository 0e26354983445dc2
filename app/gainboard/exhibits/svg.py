"""Figures as SVG.

Text is drawn as outlines of one bundled font, so a figure looks the same on every machine. The labels are also keywords
in the file's metadata, and the caption is its description. The same figure gives the same bytes under one version of
Matplotlib.
"""

from __future__ import annotations

from threading import Lock

from gainboard.errors import NotFound
from gainboard.exhibits.figures import Figure

# Matplotlib reads its SVG settings from the whole process, so only one figure is drawn at a time.
_one_at_a_time = Lock()


def as_svg(figure: Figure) -> bytes:
    """Return the figure as a complete SVG document in UTF-8. Several threads may call this.

    Raise `NotFound` if Matplotlib, the `figures` extra, is not installed.
    """
    with _one_at_a_time:
        try:
            # Matplotlib is optional, and importing it takes longer than the rest of the server.
            from gainboard.exhibits.drawing.pages import svg_bytes  # noqa: PLC0415
        except ImportError as error:
            raise NotFound(
                "Figures cannot be drawn, because the `figures` extra is not installed. Install Gainboard with it, "
                "or use the tables."
            ) from error
        return svg_bytes(figure)
