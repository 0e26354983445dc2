r"""Tables as LaTeX, in the layout of the papers: booktabs, caption above, notes below, marked cells bold or italic.

Short tables are a `table`, which `\resizebox` shrinks to the line if necessary. Tables with more rows are a
`longtable`, which continues across pages. Wide tables are on a turned page; even wider ones come in parts under one
number. The first line of each table lists the packages that the document needs. Everything is ASCII, except characters
that only engines with Unicode can print (see `tex.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from gainboard.exhibits.tables import Column, Level, Marked, Noted, Share, Table, Value, is_undefined, value_of

_LETTER = {"left": "l", "centre": "c", "right": "r"}
_MARKS = {
    # \boldmath makes the minus and the symbols bold: \textbf does not change formulas.
    "bold": r"\textbf{{\boldmath {}}}",
    "italic": r"\textit{{{}}}",
}
_MARKED = {"bold": r"\textbf{Bold}", "italic": r"\textit{Italic}"}
_COMMA = re.compile(r",(?=[^\s{])")

# Widths are in characters. A rough count is enough, because it only chooses the layout; LaTeX measures the text.
_GAP = 2
_WIDE = re.compile("[A-Zmw@%&=+_<>]")
_HEADING_LINE = 9
_BREAKS = re.compile(r"(?<=[ ,_])|(?=[(@])")
"""Places where the heading of a column of numbers may be broken: between words and parameters of metrics."""
_LONGEST, _TEXT_LINE = 50, 25
"""Texts longer than the first number are broken into lines of at least the second."""


@dataclass(frozen=True, slots=True)
class _Page:
    """The size of a page: characters in a line, normal and shrunk, and the most rows of a float."""

    width: int
    shrunk: int
    rows: int


_UPRIGHT, _TURNED = _Page(82, 105, 40), _Page(124, 165, 24)


@dataclass(frozen=True, slots=True)
class _Part:
    """The columns `indexes` of a table, and how they are printed together."""

    table: Table
    indexes: Sequence[int]
    lines: Mapping[int, float]
    """The columns whose texts are broken into lines, with their share of the page's width."""
    is_turned: bool
    is_long: bool

    @property
    def columns(self) -> list[Column]:
        return [self.table.columns[index] for index in self.indexes]


def as_latex(table: Table) -> str:
    """Return the table with its caption and the label `tab:NAME`, ready for `\\input`."""
    parts, packages = list(_parts(table)), {"booktabs"}
    for part in parts:
        packages |= {"longtable" if part.is_long else "graphicx"}
        packages |= {"pdflscape"} if part.is_turned else set()
        packages |= {"array"} if part.lines else set()
    lines = [rf"% \usepackage{{{','.join(sorted(packages))}}}"]
    for number, part in enumerate(parts, start=1):
        lines += _print_part(part, number, len(parts))
    return "\n".join(lines) + "\n"


def as_latex_document(table: Table) -> str:
    """Return the table as a file that compiles as it is, and that `\\input` takes into another document."""
    needed, rest = as_latex(table).split("\n", 1)
    packages = needed.removeprefix("% ")
    return _ALONE.format(packages=packages) + rest + _END_ALONE


_ALONE = r"""% Compiles as it is, and with \input in a document that has these packages:
% {packages}
\expandafter\ifx\csname @nodocument\endcsname\relax
  \let\endofboard\relax
\else
  \def\endofboard{{\end{{document}}}}
  \documentclass[a4paper]{{article}}
  {packages}
  \pagestyle{{empty}}
  \begin{{document}}
\fi
"""
_END_ALONE = "\\endofboard\n"


def _parts(table: Table) -> Iterator[_Part]:
    longest: dict[int, str] = {}
    for column in table.printed:
        column_texts = (text for row in table.rows if isinstance(text := value_of(row[column]), str))
        longest[column] = max(column_texts, key=len, default="")
    broken = {column for column, text in longest.items() if len(text) > _LONGEST}
    widths = {
        column: _GAP + (_TEXT_LINE if column in broken else _width(table.columns[column], text))
        for column, text in longest.items()
    }
    # The height in rows, with the lines of texts, sections and notes.
    notes = sum(1 + len(note) // 100 for note in (*table.notes, *table.meanings.values()))
    further = sum(len(str(value_of(row[column]))) // _LONGEST for column in broken for row in table.rows)
    rows = len(table.rows) + further + 2 * len({table.section_of(row) for row in table.rows} - {None}) + notes
    across = _total(table, table.printed, widths)
    is_turned = across > (_UPRIGHT.width if rows > _UPRIGHT.rows else _UPRIGHT.shrunk)
    page = _TURNED if is_turned else _UPRIGHT
    is_long = rows > page.rows
    for columns in _divide_columns(table, widths, page.width if is_long else page.shrunk, broken):
        texts = broken.intersection(columns)
        left = 1 - sum(widths[column] for column in columns if column not in texts) / page.width
        shares = dict.fromkeys(texts, max(left, 0.5) / max(len(texts), 1))
        yield _Part(table, columns, shares, is_turned, is_long)


def _divide_columns(
    table: Table, widths: Mapping[int, float], room: float, broken: Collection[int]
) -> Iterator[list[int]]:
    """Yield as many columns at once as fit, each time after the columns that label the rows.

    These are the first column and the texts up to the first number after it, such as rank, run and team.
    """
    first, *others = table.printed
    alignments = list(table.alignments())
    labels = [first, *takewhile(lambda column: alignments[column] == "left" and column not in broken, others)]
    if _total(table, labels, widths) > room / 2:
        labels = [first]
    columns = [*labels]
    for column in table.printed[len(labels) :]:
        # A part has at least one column besides the labels, even if it is too wide.
        if len(columns) > len(labels) and _total(table, [*columns, column], widths) > room:
            yield columns
            columns = [*labels]
        columns.append(column)
    yield columns


def _total(table: Table, columns: Sequence[int], widths: Mapping[int, float]) -> float:
    groups = groupby(columns, lambda column: table.columns[column].group)
    return sum(max(sum(map(widths.__getitem__, members)), len(group)) for group, members in groups)


def _width(column: Column, longest: str) -> float:
    if longest:
        return max(map(_characters, (longest, column.heading)))
    number = 6 if column.digits is None else column.digits + 3
    return max(number, *map(_characters, _heading_lines(column.heading)))


def _characters(text: str) -> float:
    return len(text) + 0.4 * len(_WIDE.findall(text))


def _print_part(part: _Part, number: int, parts: int) -> Iterator[str]:
    table, which = part.table, f" (part {number} of {parts})" if parts > 1 else ""
    label = table.name if number == 1 else f"{table.name}-{number}"
    caption = rf"\caption{{{_sentence(table.caption)}{which}}}\label{{tab:{label}}}"
    meanings = (f"{_MARKED[style]}: {_sentence(meaning)}." for style, meaning in table.meanings.items())
    notes = [*meanings, *map(_sentence, table.notes)] if number == parts else []
    if notes:
        notes = [r"\begin{flushleft}\footnotesize", *notes, r"\end{flushleft}"]
    alignments, ragged = list(table.alignments()), r">{{\raggedright\arraybackslash}}p{{{:.2f}\linewidth}}"
    layout = "".join(
        ragged.format(part.lines[column]) if column in part.lines else _LETTER[alignments[column]]
        for column in part.indexes
    )
    header = list(_header(part))
    if number > 1:
        # The parts of one table have the same number.
        yield r"\addtocounter{table}{-1}"
    yield from [r"\begin{landscape}"] if part.is_turned else []
    if part.is_long:
        yield r"\begingroup\footnotesize\setlength{\tabcolsep}{4pt}"
        yield rf"\begin{{longtable}}{{{layout}}}"
        yield from (caption + r" \\", r"\toprule", *header, r"\endfirsthead")
        yield from (r"\toprule", *header, r"\endhead", r"\bottomrule", r"\endfoot")
        yield from (*_rows(part), r"\end{longtable}", *notes, r"\endgroup")
    else:
        yield from (r"\begin{table}", r"\centering", caption, r"\smallskip\small\setlength{\tabcolsep}{4pt}")
        # \resizebox fits the table to the line, in a page with one column or with two.
        yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
        yield from (rf"\begin{{tabular}}{{{layout}}}", r"\toprule", *header, *_rows(part))
        yield from (r"\bottomrule", r"\end{tabular}}", *notes, r"\end{table}")
    yield from [r"\end{landscape}"] if part.is_turned else []


def _header(part: _Part) -> Iterator[str]:
    if any(column.group for column in part.columns):
        cells, rules, first = [], [], 1
        for group, members in groupby(part.columns, lambda column: column.group):
            width = len(list(members))
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{tex(group)}}}")
            if group:
                rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
            first += width
        yield " & ".join(cells) + r" \\"
        yield " ".join(rules)
    alignments, titles = list(part.table.alignments()), []
    for column, index in zip(part.columns, part.indexes, strict=True):
        # A heading is centred over numbers, and at the start of texts.
        if alignments[index] == "left":
            titles.append(rf"\multicolumn{{1}}{{l}}{{{tex(column.heading)}}}")
            continue
        lines = r"\\".join(map(tex, _heading_lines(column.heading)))
        title = rf"\begin{{tabular}}[b]{{@{{}}c@{{}}}}{lines}\end{{tabular}}" if r"\\" in lines else lines
        titles.append(rf"\multicolumn{{1}}{{c}}{{{title}}}")
    yield " & ".join(titles) + r" \\"
    yield r"\midrule"


def _heading_lines(heading: str) -> list[str]:
    lines = [""]
    for piece in _BREAKS.split(heading):
        if lines[-1] and len(lines[-1] + piece.rstrip()) > _HEADING_LINE:
            lines.append("")
        lines[-1] += piece
    return lines


def _rows(part: _Part) -> Iterator[str]:
    table, section, columns = part.table, None, list(zip(part.indexes, part.columns, strict=True))
    for number, row in enumerate(table.rows):
        if (new := table.section_of(row)) != section:
            section = new
            yield from [r"\midrule"] if number else []
            # The star forbids a page break between this line and the rows below it.
            yield rf"\multicolumn{{{len(columns)}}}{{l}}{{\emph{{{_value(section, Column(''))}}}}} \\*"
        cells = []
        for index, column in columns:
            cell, printed = row[index], _value(value_of(row[index]), column)
            cells.append(_MARKS[cell.style].format(printed) if isinstance(cell, Marked) else printed)
        yield " & ".join(cells) + r" \\"


def _value(value: Value, column: Column) -> str:
    if isinstance(value, str):
        return tex(value)
    if is_undefined(value) or value is None:
        return "--"
    if isinstance(value, Share):
        return f"{value.count}/{value.of}={_number(float(value), 0 if column.digits is None else column.digits, True)}"
    if bound := column.bound_of(value):
        return f"${bound}$"
    if isinstance(value, Noted):
        sign = tex(value.sign).replace("$", "").strip()
        return _number(value.number, column.digits, column.percent) + (rf"$^{{\mathrm{{{sign}}}}}$" if sign else "")
    if isinstance(value, float | Level) or column.digits is not None or column.percent:
        return _number(float(value), column.digits, column.percent)
    return str(value).replace("-", "$-$")


def _number(value: float, digits: int | None, percent: bool) -> str:
    scaled = 100 * value if percent else value
    free = "4g" if abs(scaled) < 1000 else "0f"
    text = f"{scaled:.{free}}" if digits is None else f"{scaled:.{digits}f}"
    # A small negative number must not be printed as minus zero.
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "$-$").replace("inf", r"$\infty$") + (r"\%" if percent else "")


def _sentence(text: str) -> str:
    """Return a text of lines.

    Labels of metrics are broken between parameters, because they may be longer than a line.
    """
    return _COMMA.sub(r",\\allowbreak{}", tex(text))


_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # The old encoding of fonts has other characters at these three places.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # \textquotedbl needs the T1 encoding; the bare character is a command in some languages.
    '"': r"{\char34}",
    # After \\ and \midrule these would begin an argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
} | {character: f"\\{character}" for character in "{}$&#_%"}

_SYMBOLS = {
    "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}", "§": r"\S{}",
    "©": r"\copyright{}", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}",
    "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
}  # fmt: skip

_MATHS = {
    "−": "-", "±": r"\pm", "×": r"\times", "·": r"\cdot", "°": r"^\circ", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq",
    "≈": r"\approx", "∞": r"\infty", "∩": r"\cap", "∪": r"\cup", "→": r"\rightarrow", "√": r"\surd", "∑": r"\sum",
    "†": r"\dagger", "‡": r"\ddagger",
    "Δ": r"\Delta", "Σ": r"\Sigma", "Ω": r"\Omega", "µ": r"\mu", "λ": r"\lambda",
} | {letter: f"\\{unicodedata.name(letter).split()[-1].lower()}" for letter in "αβγδεζηθικμνξπρστυφχψω"}  # fmt: skip

# The combining grave, acute, circumflex, tilde, macron, breve, dot above, diaeresis, ring, double acute, caron, cedilla
# and dot below, with the commands of their accents.
_ACCENTS = dict(
    zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0323", "`'^~=u.\"rHvcd", strict=True)
)

_LIGATURE = re.compile("(?<=[-`',!?])(?=[-`',!?])")
"""An empty group between two of these: without it, a font may join them into one other character."""


def tex(text: str) -> str:
    """Return the text for a paragraph, a caption or a cell. White space of any kind becomes one space.

    Letters of Latin alphabets, Greek and common symbols become commands. Other characters are printed by engines that
    know Unicode (XeLaTeX, LuaLaTeX) if the font has them, and by pdfLaTeX as their code, `[U+4E2D]`.
    """
    words = " ".join(unicodedata.normalize("NFC", text).split())
    return "{}".join(part.translate(_COMMANDS) for part in _LIGATURE.split(words))


def spell_code(character: str) -> str:
    """Return the code of a character that cannot be shown."""
    return f"[U+{ord(character):04X}]"


class _Commands(dict[int, str]):
    """The commands of characters by their numbers. ASCII is fixed; others are added when a text contains them."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        if character in _MATHS:
            return f"${_MATHS[character]}$"
        if character in _SYMBOLS:
            return _SYMBOLS[character]
        parts = unicodedata.normalize("NFD", character)
        if len(parts) == 2 and parts[1] in _ACCENTS and parts[0].isascii():
            return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
        code = spell_code(character).replace("[", "{[}").replace("]", "{]}")
        if not character.isprintable():
            return code
        # pdfLaTeX skips the first branch without reading it, so it need not know the character.
        return rf"\ifdefined\Umathcode {character}\else {code}\fi{{}}"


_COMMANDS = _Commands({number: _SPECIAL.get(chr(number), chr(number)) for number in range(ord(" "), ord("~") + 1)})
