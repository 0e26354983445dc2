"""Drawing figures with Matplotlib, the `figures` extra; nothing else of the program imports it, nor this package."""

from gainboard.exhibits.drawing.pages import svg_bytes

__all__ = ["svg_bytes"]
