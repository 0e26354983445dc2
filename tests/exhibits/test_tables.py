"""Tables as values, and as CSV."""

import csv
import io
import math

import numpy as np
import pytest

from gainboard.cli.printing import format_table
from gainboard.exhibits import Column, Level, Marked, Share, Table, as_csv, bounded_levels, csv_line
from gainboard.exhibits.figures import table_as_json
from gainboard.exhibits.latex import as_latex


def table(*rows, mark="", second_mark=""):
    columns = [Column("metric"), Column("score", unit="0 to 1")]
    return Table("made", "A table", columns, rows, mark=mark, second_mark=second_mark)


def read(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


HOSTILE = ["a,b", 'say "so"', "two\r\nlines", "one\nmore", "", " padded ", "日本", "semi;colon", "'quoted'", "x=1"]


def test_every_text_is_read_back_as_it_was_written():
    rows = [[text, 1] for text in HOSTILE]
    assert read(as_csv(table(*rows)))[1:] == [[text, "1"] for text in HOSTILE]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x","y")'])
def test_no_text_starts_a_formula_and_no_number_is_changed(text):
    assert read(as_csv(table([text, -1.5])))[1] == [f"'{text}", "-1.5"]


@pytest.mark.parametrize("number", [0.1, 1 / 3, 1e-300, -1e22, 5e-324, 0.1 + 0.2])
def test_numbers_are_written_in_full(number):
    for kind in (float, np.float64):
        assert float(read(as_csv(table(["AP", kind(number)])))[1][1]) == number


def test_undefined_is_an_empty_cell_and_a_share_its_quotient():
    rows = read(as_csv(table(["a", None], ["b", math.nan], ["c", Share(79, 105)], ["d", Share(0, 0)], ["e", 3])))
    assert [row[1] for row in rows[1:]] == ["", "", repr(79 / 105), "", "3"]


def test_headings_carry_group_and_unit_and_lines_end_in_crlf():
    made = Table("t", "", [Column("run"), Column("AP", group="Kendall"), Column("AP", unit="s")], [["x", 1, 2]])
    assert as_csv(made) == "run,Kendall AP,AP (s)\r\nx,1,2\r\n"
    assert csv_line(["a", None, 0.5]) == "a,,0.5\r\n"


def test_marks_are_a_column_of_their_own_whether_or_not_a_cell_is_marked():
    marked = table([Marked("Q"), Marked(0.5)], ["AP", 0.25], mark="better")
    assert read(as_csv(marked)) == [
        ["metric", "score (0 to 1)", "marked"],
        ["Q", "0.5", "metric; score (0 to 1)"],
        ["AP", "0.25", ""],
    ]
    assert read(as_csv(table(mark="better"))) == [["metric", "score (0 to 1)", "marked"]]


def test_second_marks_are_another_column_and_leave_the_numbers_alone():
    marked = table(["Q", Marked(0.5, "italic")], [Marked("AP"), Marked(0.25)], mark="better", second_mark="worse")
    assert read(as_csv(marked)) == [
        ["metric", "score (0 to 1)", "marked", "second marked"],
        ["Q", "0.5", "", "score (0 to 1)"],
        ["AP", "0.25", "metric; score (0 to 1)", ""],
    ]
    assert read(as_csv(table(second_mark="worse"))) == [["metric", "score (0 to 1)", "second marked"]]


def test_a_level_that_no_number_tells_is_a_number_in_csv_and_a_bound_in_print():
    rows = [(Level(0.0, 1000),), (Level(0.0, 5000),), (Level(0.002, 1000),), (Level(0.0, None),)]
    levels = Table("levels", "Levels.", [Column("asl", digits=4)], rows)
    assert as_csv(levels).splitlines() == ["asl", "0.0", "0.0", "0.002", "0.0"]
    printed = [line.removesuffix(r" \\") for line in as_latex(levels).splitlines()]
    shown = ["$< 0.001$", "$< 0.0002$", "0.0020", "$< 1e-300$"]
    assert [line for line in printed if line in shown] == shown
    plain = [line.strip() for line in format_table(levels).splitlines()[1:]]
    assert plain == ["< 0.001", "< 0.0002", "0.0020", "< 1e-300"]
    assert table_as_json(levels)["rows"] == [[0.0], [0.0], [0.002], [0.0]]
    assert bounded_levels([0.0, 0.5], [100_000, 100_000]) == ["< 0.00001", 0.5]
    assert bounded_levels([5e-324, 1e-300, None], None) == ["< 1e-300", 1e-300, None]
