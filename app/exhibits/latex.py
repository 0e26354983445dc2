r"""Tables as LaTeX, in the layout of the papers: booktabs, a caption above, notes below, marked cells bold.

The document needs `\usepackage{booktabs}`; for tables of more than 45 rows, which go on across pages, `longtable`; for
those too wide for an upright page, which are turned, `rotating`. The first line of each says which.
Everything is ASCII but for characters that only engines with Unicode can print (see `tex.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from app.exhibits.tables import Cell, Column, Marked, Share, Table, Value, is_undefined, value_of
from app.exhibits.tex import tex

ROWS_ON_A_PAGE = 45

_LETTER = {"left": "l", "centre": "c", "right": "r"}
_SIZES = ((4.6, 6, r"\small"), (4.2, 4, r"\footnotesize"), (3.7, 3, r"\scriptsize"), (2.8, 2, r"\tiny"))
"""Points that a character takes, points beside each column, and the size in which it does."""
_SMALLEST_UPRIGHT = 2
"""The last of the sizes that is read more easily than a turned page."""
_UPRIGHT, _TURNED = 345, 550
"""Points between the margins of an article."""


def as_latex(table: Table) -> str:
    """The table with its caption and the label `tab:NAME`, ready for `\\input`."""
    rows = list(_rows(table))
    lines = _long(table, rows) if len(rows) > ROWS_ON_A_PAGE else _floating(table, rows)
    return "\n".join(lines) + "\n"


def _floating(table: Table, rows: Sequence[str]) -> Iterator[str]:
    is_turned = _width(table, _SMALLEST_UPRIGHT) > _UPRIGHT
    environment = "sidewaystable" if is_turned else "table"
    yield r"% \usepackage{booktabs,rotating}" if is_turned else r"% \usepackage{booktabs}"
    yield rf"\begin{{{environment}}}"
    yield r"\centering"
    yield from (_caption(table), _size(table, _TURNED if is_turned else _UPRIGHT))
    yield from (rf"\begin{{tabular}}{{{_layout(table)}}}", r"\toprule")
    yield from (*_header(table), *rows, r"\bottomrule", r"\end{tabular}", *_notes(table))
    yield rf"\end{{{environment}}}"


def _long(table: Table, rows: Sequence[str]) -> Iterator[str]:
    yield r"% \usepackage{booktabs,longtable}"
    yield rf"\begingroup{_size(table, _UPRIGHT)}"
    yield rf"\begin{{longtable}}{{{_layout(table)}}}"
    yield from (_caption(table) + r" \\", r"\toprule", *_header(table), r"\endfirsthead")
    yield from (r"\toprule", *_header(table), r"\endhead", r"\bottomrule", r"\endfoot")
    yield from (*rows, r"\end{longtable}", *_notes(table), r"\endgroup")


def _caption(table: Table) -> str:
    return rf"\caption{{{tex(table.caption)}}}\label{{tab:{table.name}}}"


def _layout(table: Table) -> str:
    letters = [_LETTER[align] for align in table.alignments()]
    return "".join(letters[place] for place in table.printed)


def _size(table: Table, space: float) -> str:
    fitting = (size for size in range(len(_SIZES)) if _width(table, size) <= space)
    _, gap, command = _SIZES[next(fitting, -1)]
    return rf"{command}\setlength{{\tabcolsep}}{{{gap}pt}}"


def _width(table: Table, size: int) -> float:
    """About how many points wide the table is, set in one of the sizes."""
    character, gap, _ = _SIZES[size]
    columns = [(table.columns[place], [value_of(row[place]) for row in table.rows]) for place in table.printed]
    longest = (max(len(column.heading), *(_length(value, column) for value in values), 0) for column, values in columns)
    return sum(character * length + 2 * gap for length in longest)


def _length(value: Value, column: Column) -> int:
    return len(value if isinstance(value, str) else _printed(value, column))


def _header(table: Table) -> Iterator[str]:
    columns = [table.columns[place] for place in table.printed]
    if any(column.group for column in columns):
        yield from _group_header(columns)
    # A heading stands over the middle of its numbers, and at the start of its texts.
    letters = (letter.replace("r", "c") for letter in _layout(table))
    titles = (
        rf"\multicolumn{{1}}{{{letter}}}{{{tex(column.heading)}}}"
        for letter, column in zip(letters, columns, strict=True)
    )
    yield " & ".join(titles) + r" \\"
    yield r"\midrule"


def _group_header(columns: Sequence[Column]) -> Iterator[str]:
    cells, rules, first = [], [], 1
    for group, members in groupby(columns, lambda column: column.group):
        width = len(list(members))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{tex(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    yield " & ".join(cells) + r" \\"
    yield " ".join(rules)


def _rows(table: Table) -> Iterator[str]:
    section: Value = None
    for number, row in enumerate(table.rows):
        if (new := table.section_of(row)) != section:
            section = new
            # The star keeps a line from being the last of its page, away from what it heads.
            yield (r"\midrule" + "\n" if number else "") + (
                rf"\multicolumn{{{len(table.printed)}}}{{l}}{{\emph{{{_printed(section, Column(''))}}}}} \\*"
            )
        yield " & ".join(_cell(row[place], table.columns[place]) for place in table.printed) + r" \\"


def _cell(cell: Cell, column: Column) -> str:
    printed = _printed(value_of(cell), column)
    # \boldmath for the minus and the symbols: \textbf leaves formulas as they are.
    return rf"\textbf{{\boldmath {printed}}}" if isinstance(cell, Marked) else printed


def _printed(value: Value, column: Column) -> str:
    if isinstance(value, str):
        return tex(value)
    if is_undefined(value) or value is None:
        return "--"
    if isinstance(value, Share):
        return f"{value.count}/{value.of}={_number(float(value), 0 if column.digits is None else column.digits, True)}"
    if isinstance(value, float) or column.digits is not None or column.percent:
        return _number(float(value), column.digits, column.percent)
    return str(value).replace("-", "$-$")


def _number(value: float, digits: int | None, percent: bool) -> str:
    scaled = 100 * value if percent else value
    free = "4g" if abs(scaled) < 1000 else "0f"
    text = f"{scaled:.{free}}" if digits is None else f"{scaled:.{digits}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "$-$").replace("inf", r"$\infty$") + (r"\%" if percent else "")


def _notes(table: Table) -> Iterator[str]:
    notes = [*([rf"\textbf{{Bold}}: {tex(table.mark)}."] if table.mark else []), *map(tex, table.notes)]
    if notes:
        yield r"\begin{flushleft}\footnotesize"
        yield from notes
        yield r"\end{flushleft}"
