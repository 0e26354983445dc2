"""Exhibits: tables and figures as values, and their forms as JSON, CSV, LaTeX, Markdown and SVG."""

from gainboard.exhibits.csv import as_csv, csv_line, csv_pieces, csv_text
from gainboard.exhibits.drawing import as_png, as_svg
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Reference, Series
from gainboard.exhibits.latex import as_latex, as_latex_document
from gainboard.exhibits.markdown import as_markdown
from gainboard.exhibits.tables import (
    Cell,
    Column,
    Level,
    LongTable,
    Marked,
    Share,
    Table,
    Value,
    bounded_levels,
    mark_best_of_column,
)
from gainboard.exhibits.values import figure_as_json, table_as_json

__all__ = [
    "Axis",
    "Cell",
    "Column",
    "Figure",
    "HeatMap",
    "Level",
    "LongTable",
    "Marked",
    "Panel",
    "Reference",
    "Series",
    "Share",
    "Table",
    "Value",
    "as_csv",
    "as_latex",
    "as_latex_document",
    "as_markdown",
    "as_png",
    "as_svg",
    "bounded_levels",
    "csv_line",
    "csv_pieces",
    "csv_text",
    "figure_as_json",
    "mark_best_of_column",
    "table_as_json",
]
