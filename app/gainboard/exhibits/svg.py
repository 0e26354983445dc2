"""Figures as SVG.

Text is drawn as outlines of one bundled font, so that a figure looks the same on every machine; the labels also
stand in the file's metadata, as keywords, its caption as the description. The same figure gives the same bytes under
one version of Matplotlib.
"""

from __future__ import annotations

from threading import Lock

from gainboard.errors import NotFound
from gainboard.exhibits.figures import Figure

# Matplotlib reads how to write SVG from settings of the whole process, so one figure is drawn at a time.
_one_at_a_time = Lock()


def as_svg(figure: Figure) -> bytes:
    """Return the figure as a whole SVG document, UTF-8. Safe to call from several threads.

    Raises `NotFound` where Matplotlib, the `figures` extra, is not installed.
    """
    with _one_at_a_time:
        try:
            # Imported here because Matplotlib is optional, and takes longer to load than the rest of the server.
            from gainboard.exhibits.drawing.pages import svg_bytes  # noqa: PLC0415
        except ImportError as error:
            raise NotFound("Figures cannot be drawn: install Gainboard with its `figures` extra.") from error
        return svg_bytes(figure)
