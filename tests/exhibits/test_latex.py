"""Tables as LaTeX."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app.exhibits import Cell, Column, Marked, Share, Table, as_latex

HOSTILE = [
    r"a_b % & # $ ~ ^ \ { } < > | \" [ ] * -- ``quoted'' ?` !`",
    r"\input{secret} \end{tabular} $x$ % gone",
    "[x]",
    "*",
    "éèüñçåøßłŁæşőıǎ ą Ω αβγλτ ≤ ≥ ± × ∞ − – — … ‘’ “”",
    "日本 語 😀",
    "tab\there, line\nbreak, null\x00, bell\x07",
]


def cell(value: str | float | Share | Marked | None, column: Column | None = None) -> str:
    """How a single cell is printed."""
    columns = [column or Column("x"), Column("end")]
    made = as_latex(Table("t", "", columns, [[value, "E"]], mark="m" if isinstance(value, Marked) else ""))
    found = re.search(r"\\midrule\n(.*) & E ", made)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("character", "%&#$_{}")
def test_special_characters_are_escaped(character: str) -> None:
    assert cell(f"a{character}b") == f"a\\{character}b"


def test_commands_become_text() -> None:
    assert cell(r"\input{x}~^") == r"\textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}"


def test_pairs_that_would_be_one_character_are_kept_apart() -> None:
    assert cell("a--b, ``c''") == "a-{}-b, `{}`c'{}'"


def test_letters_and_symbols_become_commands_and_the_rest_is_for_the_engine_to_choose() -> None:
    assert cell("é α ≤") == r"\'{e} $\alpha$ $\leq$"
    assert cell("中") == r"\ifdefined\Umathcode 中\else {[}U+4E2D{]}\fi{}"
    assert cell("\x07") == "{[}U+0007{]}"


def test_numbers_are_rounded_to_the_columns_digits() -> None:
    assert [cell(value, Column("x", digits=2)) for value in (0.125001, -0.004, -1.5, 3, math.nan, math.inf)] == [
        "0.13", "0.00", "$-$1.50", "3.00", "--", r"$\infty$",
    ]  # fmt: skip
    assert [cell(value) for value in (0.123456, 12345.6, 7, None)] == ["0.1235", "12346", "7", "--"]
    assert cell(0.7523, Column("x", digits=0, percent=True)) == r"75\%"


def test_a_share_is_printed_as_in_the_papers_and_a_mark_is_bold() -> None:
    assert cell(Share(79, 105)) == r"79/105=75\%"
    assert cell(Marked("Q")) == r"\textbf{\boldmath Q}"


def test_groups_span_their_columns_and_sections_the_table() -> None:
    columns = [Column("part", section=True), Column("m"), Column("a", group="g"), Column("b", group="g")]
    rows: list[list[Cell]] = [["first", "x", 1, 2], ["first", "y", 1, 2], ["second", "z", 1, 2]]
    made = as_latex(Table("t", "", columns, rows))
    assert r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{g} \\" + "\n" + r"\cmidrule(lr){2-3}" in made
    assert re.findall(r"\\multicolumn\{3\}\{l\}\{\\emph\{(.*?)\}\}", made) == ["first", "second"]
    assert r"\begin{tabular}{lrr}" in made


def test_notes_and_the_meaning_of_marks_stand_below() -> None:
    made = as_latex(Table("t", "50% of", [Column("a")], [[Marked("x")]], mark="best", notes=["So & so."]))
    assert r"\caption{50\% of}\label{tab:t}" in made
    assert made.index(r"\end{tabular}") < made.index(r"\textbf{Bold}: best.") < made.index(r"So \& so.")


def all_kinds() -> list[Table]:
    """Tables of every layout: hostile, without rows, long, wide."""
    hostile: list[list[Cell]] = [[text, text, text, number] for number, text in enumerate(HOSTILE)]
    columns = [Column("part", section=True), Column("a_b"), Column("%", group="#"), Column("n", group="#")]
    wide = [Column("m"), *(Column(f"nDCG@{n}", digits=3) for n in range(24))]
    return [
        Table("hostile", HOSTILE[0] + HOSTILE[4], columns, hostile, notes=HOSTILE),
        Table("none", "Nothing", columns, []),
        Table("long", "Long", [Column("a"), Column("b", digits=3)], [[f"r_{n}", n / 7] for n in range(100)]),
        Table("wide", "Wide", wide, [[f"run_{n}", *[n / 24] * 24] for n in range(24)]),
    ]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed to compile tables with")
def test_every_kind_of_table_compiles(tmp_path: Path) -> None:
    body = "\n".join(map(as_latex, all_kinds()))
    packages = sorted(set(",".join(re.findall(r"^% \\usepackage\{(.*)\}$", body, re.MULTILINE)).split(",")))
    assert packages == ["booktabs", "longtable", "rotating"]
    start = rf"\documentclass{{article}}\usepackage{{{','.join(packages)}}}\begin{{document}}\listoftables"
    (tmp_path / "t.tex").write_text(f"{start}\n{body}\n\\end{{document}}\n", encoding="utf-8")
    for _ in range(2):  # the second reads the list of tables that the first wrote
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
