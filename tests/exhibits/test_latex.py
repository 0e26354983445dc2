"""Tables as LaTeX."""

import math
import re
from dataclasses import replace

import pytest

from gainboard.exhibits import Column, Marked, Share, Table
from gainboard.exhibits.latex import as_latex

from .compiling import compiles, packages_of

HOSTILE = [
    r"a_b % & # $ ~ ^ \ { } < > | \" [ ] * -- ``quoted'' ?` !`",
    r"\input{secret} \end{tabular} $x$ % gone",
    "[x]",
    "*",
    "éèüñçåøßłŁæşőıǎ ą Ω αβγλτ ≤ ≥ ± × ∞ − – — … ‘’ “”",
    "日本 語 😀",
    "tab\there, line\nbreak, null\x00, bell\x07",
]


def cell(value, column=None):
    columns = [column or Column("x"), Column("end")]
    made = as_latex(Table("t", "", columns, [[value, "E"]], mark="m", second_mark="n"))
    found = re.search(r"\\midrule\n(.*) & E ", made)
    return found[1]


@pytest.mark.parametrize("character", "%&#$_{}")
def test_special_characters_are_escaped(character):
    assert cell(f"a{character}b") == f"a\\{character}b"


def test_commands_become_text():
    assert cell(r"\input{x}~^") == r"\textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}"


def test_pairs_that_would_be_one_character_are_kept_apart():
    assert cell("a--b, ``c''") == "a-{}-b, `{}`c'{}'"


def test_letters_and_symbols_become_commands_and_the_rest_is_for_the_engine_to_choose():
    assert cell("é α ≤") == r"\'{e} $\alpha$ $\leq$"
    assert cell("中") == r"\ifdefined\Umathcode 中\else {[}U+4E2D{]}\fi{}"
    assert cell("\x07") == "{[}U+0007{]}"


def test_numbers_are_rounded_to_the_columns_digits():
    assert [cell(value, Column("x", digits=2)) for value in (0.125001, -0.004, -1.5, 3, math.nan, math.inf)] == [
        "0.13", "0.00", "$-$1.50", "3.00", "--", r"$\infty$",
    ]  # fmt: skip
    assert [cell(value) for value in (0.123456, 12345.6, 7, None)] == ["0.1235", "12346", "7", "--"]
    assert cell(0.7523, Column("x", digits=0, percent=True)) == r"75\%"


def test_a_share_is_printed_as_in_the_papers_and_marks_are_bold_or_in_italics():
    assert cell(Share(79, 105)) == r"79/105=75\%"
    assert cell(Marked("Q")) == r"\textbf{\boldmath Q}"
    assert cell(Marked(-0.5, "italic"), Column("x", digits=2)) == r"\textit{$-$0.50}"


def test_groups_span_their_columns_and_sections_the_table():
    columns = [Column("part", section=True), Column("m"), Column("a", group="g"), Column("b", group="g")]
    rows = [["first", "x", 1, 2], ["first", "y", 1, 2], ["second", "z", 1, 2]]
    made = as_latex(Table("t", "", columns, rows))
    assert r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{g} \\" + "\n" + r"\cmidrule(lr){2-3}" in made
    assert re.findall(r"\\multicolumn\{3\}\{l\}\{\\emph\{(.*?)\}\}", made) == ["first", "second"]
    assert r"\begin{tabular}{lrr}" in made


def test_notes_and_the_meaning_of_marks_stand_below():
    made = as_latex(
        Table("t", "50% of", [Column("a")], [[Marked("x")]], mark="best", second_mark="<1", notes=["So & so."])
    )
    assert r"\caption{50\% of}\label{tab:t}" in made
    below = [r"\end{tabular}", r"\textbf{Bold}: best.", r"\textit{Italic}: \textless{}1.", r"So \& so."]
    assert [made.count(each) for each in below] == [1, 1, 1, 1]
    assert sorted(below, key=made.index) == below


def square(number, heading="nDCG@{}", group=""):
    names = [heading.format(10 * place) for place in range(number)]
    columns = [Column("metric"), *(Column(name, digits=4, group=group) for name in names)]
    cells = [Marked(0.95), Marked(-0.5, "italic"), 0.1, None]
    rows = [[name, *(cells[(row + place) % 4] for place in range(number))] for row, name in enumerate(names)]
    return Table(f"square-{number}", "A matrix", columns, rows, mark="much", second_mark="little")


LABEL = "nDCG(base=2,gains=3:2:1)@{}"


def all_kinds():
    """Tables of every layout: hostile, without rows, long, wide, both, and with texts of several lines."""
    hostile = [[text, text, text, number] for number, text in enumerate(HOSTILE)]
    columns = [Column("part", section=True), Column("a_b"), Column("%", group="#"), Column("n", group="#")]
    wide = [Column("m"), *(Column(f"nDCG@{n}", digits=3) for n in range(24))]
    return [
        Table("hostile", HOSTILE[0] + HOSTILE[4], columns, hostile, notes=HOSTILE),
        Table("none", "Nothing", columns, []),
        Table("long", "Long", [Column("a"), Column("b", digits=3)], [[f"r_{n}", n / 7] for n in range(100)]),
        Table("wide", "Wide", wide, [[f"run_{n}", *[n / 24] * 24] for n in range(24)]),
        Table("both", "Long and wide", wide, [[f"a_long_run_name_{n}", *[n / 24] * 24] for n in range(99)]),
        Table("texts", "Texts", [Column("n"), Column("text")], [[n, "word " * 9 * n] for n in range(9)], notes=HOSTILE),
        Table("groups", "Groups", [Column("n", group="a " * 9), Column("m", group="b " * 30)], [[1, 2]]),
        *(square(number, heading) for number in (4, 8, 14, 24, 45) for heading in ("{}", "Relaxed PDoc{}", LABEL)),
        square(12, LABEL, "graded"),
        replace(square(4), name="labels", caption=f"Mean gain at each rank, with the parameters of {LABEL}."),
    ]


def shape(table):
    """Return a table's environment, whether its page is turned, and how many columns each of its parts has."""
    made = as_latex(table)
    layouts = re.findall(r"\\begin\{(tabular|longtable)\}\{([lcr]+)\}", made)
    return layouts[0][0], r"\begin{landscape}" in made, [len(letters) for _, letters in layouts]


def test_a_table_is_upright_while_it_fits_then_turned_and_then_in_parts():
    assert shape(square(4)) == ("tabular", False, [5])
    assert shape(square(8)) == ("tabular", False, [9])
    assert shape(square(14)) == ("tabular", True, [15])
    assert shape(square(24)) == ("longtable", True, [11, 10, 6])
    resized = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}"
    assert [resized in as_latex(square(size)) for size in (8, 24)] == [True, False]
    for rows, form in ((30, "table"), (60, "longtable")):
        assert rf"\begin{{{form}}}" in as_latex(Table("t", "", [Column("a")], [[number] for number in range(rows)]))


def test_columns_that_fit_no_page_come_in_parts_under_one_number_each_with_the_row_labels():
    table = square(45)
    made = as_latex(table)
    headings = re.findall(r"\\toprule\n(.*) \\\\\n\\midrule\n(?:.*\n)?\\endfirsthead", made)
    parts = [re.findall(r"\{[lc]\}\{(.*?)\}(?: &|$)", each) for each in headings]
    assert [names[0] for names in parts] == ["metric"] * len(parts)
    assert [name for names in parts for name in names[1:]] == [column.heading for column in table.columns[1:]]
    assert made.count(r"\addtocounter{table}{-1}") == len(parts) - 1 == 4
    assert re.findall(r"\\caption\{(.*?)\}", made) == [f"A matrix (part {number} of 5)" for number in range(1, 6)]
    assert re.findall(r"\\label\{(.*?)\}", made) == [
        "tab:square-45", *(f"tab:square-45-{part}" for part in range(2, 6))
    ]  # fmt: skip
    assert made.count(r"\textbf{Bold}: much.") == 1


def test_long_headings_of_numbers_are_broken_and_those_of_texts_are_not():
    made = as_latex(Table("t", "", [Column("a heading of texts"), Column("nDCG(gains=linear)@10")], [["x", 1]]))
    assert r"\multicolumn{1}{l}{a heading of texts}" in made
    assert r"\begin{tabular}[b]{@{}c@{}}nDCG\\(gains=linear)\\@10\end{tabular}" in made


@pytest.mark.outer
def test_every_kind_of_table_compiles_and_none_runs_off_its_page():
    tables = all_kinds()
    packages = packages_of("\n".join(map(as_latex, tables)))
    assert packages == ["array", "booktabs", "graphicx", "longtable", "pdflscape"]
    compiles(tables)


@pytest.mark.parametrize(("value", "printed"), [(0.0004, "$< 0.001$"), (0.0, "$< 0.001$"), (0.0006, "0.001")])
def test_a_level_is_not_printed_as_nothing(value, printed):
    assert cell(value, Column("x", digits=3, level=True)) == printed
    assert cell(value, Column("x", digits=3)) == ("0.001" if value > 0.0005 else "0.000")
