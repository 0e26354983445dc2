"""What a report makes of the tables and figures that its kind lays out for each collection."""

import pytest

from gainboard.analyses.report_items import LeftOut, ReportFigure, ReportTable, mark_where, sorted_by
from gainboard.exhibits import Column, Marked, Share, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.jobs.report_assembly import compose

COLUMNS = (Column("metric"), Column("tau", digits=2), Column("significant"))


def table(*rows, number="Tables 2-3 (a)", average=""):
    """Sorted by tau, and marked where it is above 0.9; Shares are at most 0.8."""
    made = Table("any", "Of metrics.", COLUMNS, rows, mark="above 0.9")
    above = mark_where(lambda number: number > 0.9)
    return ReportTable(number, made, lambda each: above(sorted_by(1)(each)), average)


FIRST = table(("AP", 0.8, Share(1, 4)), ("Q", 0.98, Share(2, 4)), ("RR", None, Share(0, 4)))
SECOND = table(
    ("Q", 0.88, Share(6, 10)), ("AP", 0.98, Share(8, 10)), ("RR", 0.5, Share(0, 10)), ("P", 1.0, Share(1, 2))
)


def test_each_collection_has_its_table_sorted_and_marked():
    (placed,) = compose({"c": [FIRST]}).tables
    assert (placed.number, placed.collection, placed.exhibit.name) == ("Tables 2-3 (a)", "c", "tables-2-3a.c")
    assert [row[:2] for row in placed.exhibit.rows] == [["Q", Marked(0.98)], ["AP", 0.8], ["RR", None]]
    assert placed.exhibit.caption == "Tables 2-3 (a), c. Of metrics."


def test_an_average_is_over_rows_of_the_same_name_and_is_sorted_and_marked_itself():
    *_, mean = compose({"c": [FIRST], "e": [SECOND]}).tables
    assert (mean.collection, mean.exhibit.name) == (None, "average-tables-2-3a")
    assert mean.exhibit.rows == [
        ["Q", Marked(pytest.approx(0.93)), pytest.approx(0.55)],
        ["AP", pytest.approx(0.89), pytest.approx(0.525)],
        ["RR", None, 0.0],
    ]
    assert mean.exhibit.caption.endswith("over 2 collections: c, e.")


def test_no_average_where_no_row_is_in_all_tables_which_is_said():
    answer = compose({"c": [FIRST], "e": [table(("ERR", 0.3, Share(1, 2)))]})
    assert [each.collection for each in answer.tables] == ["c", "e"]
    why = "the tables of c, e share no row and column with a number"
    assert answer.left_out == [(None, LeftOut("Tables 2-3 (a), averages", why))]


def test_a_table_that_the_first_collection_lacks_is_where_the_paper_has_it():
    one, two, three, four = (table(("AP", 0.1, Share(0, 1)), number=f"Table {number}") for number in range(1, 5))
    found = compose({"c": [two, four], "e": [one, two, three, four], "k": [one, three]})
    numbers = list(dict.fromkeys(each.number for each in found.tables if each.collection))
    assert numbers == ["Table 1", "Table 2", "Table 3", "Table 4"]


def test_tables_and_figures_are_in_the_order_of_the_paper_then_of_the_collections():
    later = table(("AP", 0.1, Share(0, 1)), number="Table 10")
    panel = Panel(Axis("rank"), Axis("gain"), [Series("a", [1], [2])])
    drawn = [ReportFigure(number, Figure("any", "Gain.", [panel])) for number in ("Figure 1", "Figure 2")]
    found = compose({"c": [FIRST, later, *drawn], "e": [SECOND, later, *drawn]})
    numbers = [(each.number, each.collection) for each in found.tables if each.collection]
    assert numbers == [("Tables 2-3 (a)", "c"), ("Tables 2-3 (a)", "e"), ("Table 10", "c"), ("Table 10", "e")]
    names = [each.exhibit.name for each in found.figures]
    assert names == ["figure-1.c", "figure-1.e", "figure-2.c", "figure-2.e"]


def under_seeds(*counts, parts=False):
    """A table for each seed, sorted by its number, and marked above 0.9."""
    columns = (Column("part", section=True), *COLUMNS[:2]) if parts else COLUMNS[:2]
    of_seed = [
        Table(
            "any",
            "Of metrics.",
            columns,
            [(*name.split(), number) if parts else (name, number) for name, number in each.items()],
            mark="above 0.9",
        )
        for each in counts
    ]
    above, place = mark_where(lambda number: number > 0.9), 2 if parts else 1
    return ReportTable("Table 1", of_seed[0], lambda each: above(sorted_by(place)(each)), by_seed=of_seed[1:])


def test_marks_that_are_not_the_same_under_all_seeds_are_in_italics():
    table = under_seeds(
        {"AP": 0.95, "Q": 0.97, "RR": 0.8, "P": 0.1}, {"Q": 0.98, "AP": 0.85, "RR": 0.92, "P": 0.3}
    ).finished()
    assert table.rows == [
        ["Q", Marked(0.97)],
        ["AP", Marked(0.95, "italic")],
        ["RR", Marked(0.8, "italic")],
        ["P", 0.1],
    ]
    assert table.meanings == {"bold": "above 0.9", "italic": "above 0.9, but only under some of 2 seeds"}
    assert table.notes == []


def test_a_note_names_the_rows_that_may_be_first():
    table = under_seeds({"AP": 0.5, "Q": 0.4}, {"AP": 0.5, "Q": 0.6}, {"AP": 0.5, "Q": 0.1}).finished()
    assert table.notes == ["It depends on the seed which is first: AP or Q."]
    sections = under_seeds(
        {"a AP": 0.5, "a Q": 0.4, "b AP": 0.3, "b Q": 0.2},
        {"a AP": 0.5, "a Q": 0.4, "b AP": 0.1, "b Q": 0.2},
        parts=True,
    ).finished()
    assert sections.notes == ["It depends on the seed which is first in b: AP or Q."]


def test_an_average_is_marked_by_the_averages_under_each_seed():
    one = under_seeds({"AP": 0.95, "Q": 0.99}, {"AP": 0.91, "Q": 0.99})
    other = under_seeds({"AP": 0.95, "Q": 0.99}, {"AP": 0.85, "Q": 0.99})
    *_, mean = compose({"c": [one], "e": [other]}).tables
    assert [row[1] for row in mean.exhibit.rows] == [Marked(pytest.approx(0.99)), Marked(pytest.approx(0.95), "italic")]
