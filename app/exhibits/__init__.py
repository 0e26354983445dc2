"""Exhibits: tables and figures as values, and what they look like as JSON, CSV, LaTeX and SVG."""

from app.exhibits.csv import as_csv, csv_line, csv_text
from app.exhibits.figures import Axis, Figure, HeatMap, Panel, Reference, Series
from app.exhibits.latex import as_latex
from app.exhibits.svg import as_svg
from app.exhibits.tables import Cell, Column, Marked, Share, Table, Value
from app.exhibits.values import figure_as_json, table_as_json

__all__ = [
    "Axis",
    "Cell",
    "Column",
    "Figure",
    "HeatMap",
    "Marked",
    "Panel",
    "Reference",
    "Series",
    "Share",
    "Table",
    "Value",
    "as_csv",
    "as_latex",
    "as_svg",
    "csv_line",
    "csv_text",
    "figure_as_json",
    "table_as_json",
]
