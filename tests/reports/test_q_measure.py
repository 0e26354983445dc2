"""q-measure-appendix and reliability-of-q-measure: their numbers are those of the jobs, their layout is the papers'."""

import pytest

from gainboard.exhibits import Marked
from gainboard.exhibits.tables import value_of
from tests.reports.laboratory import figures, laid, left_out, tables
from tests.world.groves import SYSTEMS, beside

APPENDIX, RELIABILITY = "q-measure-appendix", "reliability-of-q-measure"
PARTS = {
    "Tables 3-6 (a)": (["Relaxed", "Rigid", "Q-measure", "AWP"], ["Rigid", "Q-measure", "AWP"]),
    "Tables 3-6 (b)": (["Relaxed", "Rigid", "Q-measure"], ["Q30:20:10", "Q0.3:0.2:0.1", "Q1:1:1", "Q10:5:1"]),
    "Tables 8-11 (a)": (
        ["Relaxed", "Q-measure", "R-Precision", "R-measure", "R-WP"], ["R-Precision", "R-measure", "R-WP"]
    ),
    "Tables 8-11 (b)": (["Relaxed", "R-Precision", "R-measure"], ["R30:20:10", "R0.3:0.2:0.1", "R10:5:1"]),
}  # fmt: skip
"""The rows and columns that the appendix prints."""
METRICS = {
    "Relaxed": "AP",
    "Rigid": "AP(rel=2)",
    "Q-measure": "Q(gains=3:2:1)",
    "AWP": "AWP(gains=3:2:1)",
    "Q30:20:10": "Q(gains=3:2:1,beta=10)",
    "Q0.3:0.2:0.1": "Q(gains=3:2:1,beta=0.1)",
    "Q1:1:1": "Q(gains=1:1:1)",
    "Q10:5:1": "Q(gains=10:5:1)",
    "R-Precision": "Rprec",
    "R-measure": "Rmeasure(gains=3:2:1)",
    "R-WP": "RWP(gains=3:2:1)",
    "R30:20:10": "Rmeasure(gains=3:2:1,beta=10)",
    "R0.3:0.2:0.1": "Rmeasure(gains=3:2:1,beta=0.1)",
    "R10:5:1": "Rmeasure(gains=10:5:1)",
}
"""What stands for each name; ten times and a tenth of the gains are beta 10 and 0.1 by equations (17) and (18)."""


def cells(laboratory, number):
    """By row, column and coefficient, with its mark; dashes are not there."""
    table = tables(laid(laboratory, APPENDIX))[number]
    headings = [(column.group, column.title) for column in table.columns[1:]]
    return {
        (str(row[0]), *heading): cell
        for row in table.rows
        for heading, cell in zip(headings, row[1:], strict=True)
        if value_of(cell) is not None
    }


@pytest.mark.parametrize("number", PARTS)
def test_rows_and_columns_are_those_of_the_appendix(laboratory, number):
    rows, columns = PARTS[number]
    table = tables(laid(laboratory, APPENDIX))[number]
    assert [row[0] for row in table.rows] == rows
    groups = [(column.group, column.title) for column in table.columns[1:]]
    assert groups == [(column, title) for column in columns for title in ("Spearman", "Kendall")]


@pytest.mark.parametrize("number", PARTS)
def test_every_number_is_that_of_a_job_and_bold_above_99_percent(laboratory, number):
    backwards = list(METRICS)[::-1]
    answer = laboratory.answer("rank-correlation", metrics=[METRICS[name] for name in backwards])
    found = cells(laboratory, number)
    assert found
    for (row, column, title), cell in found.items():
        expected = answer["coefficients"][title.lower()][backwards.index(row)][backwards.index(column)]
        assert value_of(cell) == pytest.approx(expected, abs=1e-12)
        assert isinstance(cell, Marked) == (expected > 0.99), (row, column, title)


def test_the_curves_are_mean_scores_in_the_order_of_relaxed_ap_with_every_increase_ringed(laboratory):
    figure = figures(laid(laboratory, APPENDIX))["Figures 4-7"]
    by_ap = laboratory.means("AP")
    order = sorted(by_ap, key=lambda run: (-round(by_ap[run], 12), run))
    assert tables(laid(laboratory, APPENDIX))["Figures 4-7 (systems)"].rows == list(enumerate(order, 1))
    assert figure.caption.endswith(f", {len(order)} systems.")
    assert figure.labels == list(METRICS)[:8]
    for series in figure.series:
        means = laboratory.means(METRICS[series.label])
        assert list(series.x) == list(range(1, len(SYSTEMS) + 1))
        assert series.y == pytest.approx([means[run] for run in order], abs=1e-12)
        # `yew` and `hazel` are ties under every metric, so no rise between them.
        rises = [
            place
            for place in range(1, len(order))
            if means[order[place]] > means[order[place - 1]] + 1e-12
            and by_ap[order[place]] < by_ap[order[place - 1]] - 1e-12
        ]
        assert list(series.highlighted) == rises
    assert any(series.highlighted for series in figure.series)
    assert not figure.series[0].highlighted


def test_with_binary_levels_a_report_says_what_it_cannot_show(laboratory):
    found = laid(beside(laboratory, "binary", highest_level=1), APPENDIX)
    assert list(tables(found)) == ["Tables 3-6 (a)", "Tables 3-6 (b)", "Figures 4-7 (systems)"]
    (what, why), *others = left_out(found).items()
    assert (what, others) == ("Tables 8-11 and Table 12", [])
    assert "R-measure and R-WP are R-Precision" in why
    assert [row[0] for row in tables(found)["Tables 3-6 (a)"].rows] == ["Relaxed", "Q-measure", "AWP"]
    assert figures(found)["Figures 4-7"].labels == ["Relaxed", "Q-measure", "AWP", "Q10", "Q0.1"]
