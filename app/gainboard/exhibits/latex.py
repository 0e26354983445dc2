r"""Tables as LaTeX, in the layout of the papers: booktabs, a caption above, notes below, marked cells bold or in
italics.

The document needs `\usepackage{booktabs}`; `longtable` for tables that go on across pages; for those too wide for an
upright page, `graphicx` where headings stand, `rotating` or `pdflscape` where the page is turned, and if there are too
many columns even so, they come in parts under the same number. The first line of each says what it needs.
Everything is ASCII but for characters that only engines with Unicode can print (see `tex.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from gainboard.exhibits.cells import tex_cell, tex_value
from gainboard.exhibits.fitting import Fit, fitted
from gainboard.exhibits.tables import Align, Column, Table, Value
from gainboard.exhibits.tex import tex

_LETTER = {"left": "l", "centre": "c", "right": "r"}
_COMMA = re.compile(r",(?=[^\s{])")
_RAGGED = r"\raggedright\let\\\tabularnewline "
"""Broken lines are not stretched; what that does to the end of a row is undone."""
_MARKED = {"bold": r"\textbf{Bold}", "italic": r"\textit{Italic}"}


def as_latex(table: Table) -> str:
    """The table with its caption and the label `tab:NAME`, ready for `\\input`."""
    parts = fitted(table)
    lines = [line for number, fit in enumerate(parts, start=1) for line in _part(fit, number, len(parts))]
    return "\n".join([_needed(parts), *lines]) + "\n"


def _needed(parts: list[Fit]) -> str:
    packages = {"booktabs"}
    for fit in parts:
        packages |= {"graphicx"} if fit.standing else set()
        packages |= {"longtable"} if fit.is_long else set()
        packages |= {"pdflscape" if fit.is_long else "rotating"} if fit.is_turned else set()
    return rf"% \usepackage{{{','.join(sorted(packages))}}}"


def _part(fit: Fit, number: int, parts: int) -> Iterator[str]:
    caption, notes = _caption(fit.table, number, parts), list(_notes(fit.table)) if number == parts else []
    if number > 1:
        # Parts of one table have its number.
        yield r"\addtocounter{table}{-1}"
    yield from _long(fit, caption, notes) if fit.is_long else _floating(fit, caption, notes)


def _floating(fit: Fit, caption: str, notes: Sequence[str]) -> Iterator[str]:
    environment = "sidewaystable" if fit.is_turned else "table"
    yield from (rf"\begin{{{environment}}}", r"\centering", caption, r"\smallskip", _size(fit))
    yield from (rf"\begin{{tabular}}{{{_layout(fit)}}}", r"\toprule")
    yield from (*_header(fit), *_rows(fit), r"\bottomrule", r"\end{tabular}", *notes)
    yield rf"\end{{{environment}}}"


def _long(fit: Fit, caption: str, notes: Sequence[str]) -> Iterator[str]:
    yield r"\begin{landscape}" if fit.is_turned else r"\begingroup"
    yield _size(fit)
    yield rf"\begin{{longtable}}{{{_layout(fit)}}}"
    yield from (caption + r" \\", r"\toprule", *_header(fit), r"\endfirsthead")
    yield from (r"\toprule", *_header(fit), r"\endhead", r"\bottomrule", r"\endfoot")
    yield from (*_rows(fit), r"\end{longtable}", *notes)
    yield r"\end{landscape}" if fit.is_turned else r"\endgroup"


def _caption(table: Table, number: int, parts: int) -> str:
    which = f" (part {number} of {parts})" if parts > 1 else ""
    label = table.name if number == 1 else f"{table.name}-{number}"
    return rf"\caption{{{_sentence(table.caption)}{which}}}\label{{tab:{label}}}"


def _layout(fit: Fit) -> str:
    letters = [_LETTER[align] for align in fit.table.alignments()]
    broken = rf"p{{{fit.line_width:.0f}pt}}"
    return "".join(broken if place in fit.broken else letters[place] for place in fit.places)


def _size(fit: Fit) -> str:
    return rf"{fit.size.command}\setlength{{\tabcolsep}}{{{fit.size.gap}pt}}"


def _header(fit: Fit) -> Iterator[str]:
    columns = [fit.table.columns[place] for place in fit.places]
    if any(column.group for column in columns):
        yield from _group_header(columns)
    alignments = list(fit.table.alignments())
    titles = (_title(fit, place, alignments[place]) for place in fit.places)
    yield " & ".join(titles) + r" \\"
    yield r"\midrule"


def _title(fit: Fit, place: int, align: Align) -> str:
    heading = tex(fit.table.columns[place].heading)
    title = rf"\rotatebox{{90}}{{{heading}}}" if place in fit.standing else heading
    # A heading stands over the middle of its numbers, and at the start of its texts.
    return rf"\multicolumn{{1}}{{{'l' if align == 'left' else 'c'}}}{{{title}}}"


def _group_header(columns: list[Column]) -> Iterator[str]:
    cells, rules, first = [], [], 1
    for group, members in groupby(columns, lambda column: column.group):
        width = len(list(members))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{tex(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    yield " & ".join(cells) + r" \\"
    yield " ".join(rules)


def _rows(fit: Fit) -> Iterator[str]:
    table, section, broken = fit.table, None, fit.broken
    for number, row in enumerate(table.rows):
        if (new := table.section_of(row)) != section:
            section = new
            yield from ([r"\midrule"] if number else [])
            yield _section_line(section, len(fit.places))
        cells = ((tex_cell(row[place], table.columns[place]), place in broken) for place in fit.places)
        yield " & ".join(f"{_RAGGED}{cell}" if is_broken else cell for cell, is_broken in cells) + r" \\"


def _section_line(section: Value, width: int) -> str:
    # The star keeps a line from being the last of its page, away from what it heads.
    return rf"\multicolumn{{{width}}}{{l}}{{\emph{{{tex_value(section, Column(''))}}}}} \\*"


def _notes(table: Table) -> Iterator[str]:
    meanings = (f"{_MARKED[style]}: {_sentence(meaning)}." for style, meaning in table.meanings.items())
    notes = [*meanings, *map(_sentence, table.notes)]
    if notes:
        yield r"\begin{flushleft}\footnotesize"
        yield from notes
        yield r"\end{flushleft}"


def _sentence(text: str) -> str:
    """A text of lines, which labels of metrics would run out of if they were not broken between parameters."""
    return _COMMA.sub(r",\\allowbreak{}", tex(text))
