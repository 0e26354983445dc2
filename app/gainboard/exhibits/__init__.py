"""Exhibits: tables and figures as values, and their forms as JSON, CSV, LaTeX, Markdown and SVG.

Tables and CSV are here, because every command prints them. Figures and the other forms are in the modules: `figures`,
`values`, `latex`, `forms`, `drawing`.
"""

from gainboard.exhibits.tables import (
    Cell,
    Column,
    Level,
    LongTable,
    Marked,
    Noted,
    Share,
    Table,
    Value,
    as_csv,
    bounded_levels,
    csv_line,
    csv_pieces,
    csv_text,
    mark_best_of_column,
)

__all__ = [
    "Cell",
    "Column",
    "Level",
    "LongTable",
    "Marked",
    "Noted",
    "Share",
    "Table",
    "Value",
    "as_csv",
    "bounded_levels",
    "csv_line",
    "csv_pieces",
    "csv_text",
    "mark_best_of_column",
]
