"""controlling-late-arrival-penalty: its numbers are those of the jobs, its layout and marks are the paper's."""

from itertools import product

import pytest

from gainboard.analyses.reports.controlling_late_arrival_penalty import most_sensitive_first
from gainboard.exhibits import Column, Marked, Share, Table
from gainboard.exhibits.tables import value_of
from tests.reports.laboratory import figures, laid, left_out, tables
from tests.world.groves import beside

NAME = "controlling-late-arrival-penalty"
FEW = {"top": 6, "resamples": 200}
TOP = {"top": 6, "by": "AP"}
BETAS, BASES = (0.1, 1, 10, 100, 1000), (2, 5, 10, 50, 100)
METRICS = ["AP", *(f"Q(beta={beta:g})" for beta in BETAS), *(f"nDCG(base={base:g})" for base in BASES), "genAP"]
COMPARED = ["AP", "Q(beta=1)", "nDCG(base=2)", "genAP"]
GAINS = {
    "3:2:1": ("Figures 1-2", "Figures 5-6", "Figures 9-10"),
    "10:5:1": ("Figures 3-4", "Figures 7-8", "Figures 11-12"),
}
SETTING = pytest.mark.parametrize("gains", GAINS)
PRINTED_2 = {
    "a": "genAP 80 Q1 79 Q10 78 Q0.1 78 n5 78 Q100 77 Q1000 77 AP 77 n10 74 n2 74",
    "b": "Q1 68 Q10 67 Q100 67 Q1000 67 Q0.1 65 genAP 64 AP 64 n5 62 n10 60 n2 59",
    "c": "genAP 81 Q1 80 Q10 79 Q0.1 79 Q100 78 n5 78 n10 78 n2 77 AP 77 Q1000 76",
    "d": "Q10 69 Q1 68 Q100 67 Q1000 67 n5 67 Q0.1 65 AP 64 n2 63 n10 63 genAP 63",
}
PAPER_2 = {
    part: {name: int(pairs) for name, pairs in zip(text.split()[::2], text.split()[1::2], strict=True)}
    for part, text in PRINTED_2.items()
}
"""Table 2 of the paper, of 105 pairs, without the log bases of 50 and 100, the least sensitive."""


@pytest.fixture(scope="module")
def shown(laboratory):
    return laid(laboratory, NAME, **FEW)


def numbers(table):
    """The cells after the name of each row, without marks."""
    return {str(row[0]): [value_of(cell) for cell in row[1:]] for row in table.rows}


def panel(figure):
    (only,) = figure.panels
    return only


def test_table_1_has_the_means_and_the_minimum_of_r(laboratory, shown):
    ((name, *cells),) = tables(shown)["Table 1"].rows
    per_level = [row["per_level"] for row in laboratory.answer("judgments")["by_topic"]]
    of_level = [sum(row[level] for row in per_level) / len(per_level) for level in (3, 2, 1)]
    relevant = [sum(row[1:]) for row in per_level]
    assert name == laboratory.name
    assert cells == [12, sum(relevant) / 12, min(relevant), *map(pytest.approx, of_level), "6 (4)"]


@SETTING
def test_metrics_are_correlated_as_by_a_job_of_these_four(laboratory, shown, gains):
    job = laboratory.answer("rank-correlation", metrics=COMPARED, gains=gains, runs=TOP)
    (heat,) = figures(shown)[GAINS[gains][0]].panels
    assert list(heat.rows) == list(heat.columns) == COMPARED
    for row, expected in zip(heat.values, job["coefficients"]["kendall"], strict=True):
        assert row == pytest.approx(expected, abs=1e-12)
    table = numbers(tables(shown)[GAINS[gains][0]])
    assert table == dict(zip(COMPARED, heat.values, strict=True))


@SETTING
@pytest.mark.parametrize(
    ("place", "metric", "parameter", "values"), [(1, "Q", "beta", BETAS), (2, "nDCG", "base", BASES)]
)
def test_a_parameter_is_swept_as_by_the_sweep_of_a_job(laboratory, shown, gains, place, metric, parameter, values):
    against = ["AP", f"{metric}({parameter}={values[BETAS.index(1) if metric == 'Q' else 0]:g})"]
    sweep = {"metric": metric, "parameter": parameter, "values": values, "against": against}
    job = laboratory.answer("rank-correlation", metrics=["AP"], gains=gains, runs=TOP, sweep=sweep)
    drawn = panel(figures(shown)[GAINS[gains][place]])
    assert [series.label for series in drawn.series] == [f"with {name}" for name in against]
    for series, found in zip(drawn.series, job["sweep"]["against"].values(), strict=True):
        assert list(series.x) == list(values)
        assert series.y == pytest.approx(found["kendall"], abs=1e-12)
    columns = zip(*(series.y for series in drawn.series), strict=True)
    assert list(numbers(tables(shown)[GAINS[gains][place]]).values()) == [list(column) for column in columns]


@SETTING
def test_sensitivities_are_those_of_a_job_of_one_setting_sorted(laboratory, shown, gains):
    best = {"best_per_team": "AP"}
    job = laboratory.answer("bootstrap-sensitivity", metrics=METRICS, gains=gains, runs=best, resamples=200)
    levels = {name: found["levels"] for name, found in zip(METRICS, job["metrics"], strict=True)}
    parts = list(dict.fromkeys(row[0] for row in tables(shown)["Tables 2-3"].rows))
    assert parts == [
        f"({letter}) gain value ratio = {gain}, ASL < {alpha}"
        for letter, (gain, alpha) in zip("abcd", product(GAINS, (0.05, 0.01)), strict=True)
    ]
    for place, alpha in enumerate((0.05, 0.01)):
        rows = [row[1:] for row in tables(shown)["Tables 2-3"].rows if f"ratio = {gains}, ASL < {alpha}" in str(row[0])]
        assert {str(value_of(name)): cells for name, *cells in rows} == {
            name: [
                *(Share(count, 6) for count in (level[place]["significant_pairs"], *level[place]["significant_range"])),
                level[place]["estimated_difference"],
                *level[place]["estimated_difference_range"],
            ]
            for name, level in levels.items()
        }
        shares = [float(row[1]) for row in rows]
        assert shares == sorted(shares, reverse=True)


def sensitivities(parts):
    rows = [[part, name, Share(pairs, 105), 0.1] for part, found in parts.items() for name, pairs in found.items()]
    columns = [Column("condition", section=True), Column("metric"), Column("sensitivity"), Column("diff.")]
    return Table("sensitivity", "As printed.", columns, rows[::-1], mark="more sensitive than AP")


def test_the_table_of_the_paper_is_sorted_and_in_bold_as_it_is_printed():
    table = most_sensitive_first(sensitivities(PAPER_2))
    assert {row[1].value for row in table.rows if isinstance(row[1], Marked)} == {"Q0.1", "Q1", "Q10"}
    for part, found in PAPER_2.items():
        of_part = [float(row[2]) for row in table.rows if row[0] == part]
        assert of_part == [pairs / 105 for pairs in found.values()]


def test_with_binary_levels_there_is_one_gain_setting(laboratory):
    found = laid(beside(laboratory, "flat", highest_level=1), NAME, **FEW)
    assert list(figures(found)) == [*GAINS["3:2:1"], "Figures 13-14"]
    assert {row[0] for row in tables(found)["Tables 2-3"].rows} == {
        "(a) gain value ratio = 1, ASL < 0.05",
        "(b) gain value ratio = 1, ASL < 0.01",
    }
    assert list(left_out(found)) == ["Figures 3-4, 7-8 and 11-12, Tables 2-3 (c) and (d)"]


def test_one_team_has_no_other_to_be_compared_with(laboratory):
    found = laid(beside(laboratory, "alone", team="coast"), NAME, **FEW)
    ((what, why),) = left_out(found).items()
    assert what == "Figures 13-14 and Tables 2-3"
    assert "1 team" in why
    assert list(figures(found)) == [number for place in range(3) for number in (each[place] for each in GAINS.values())]
    assert tables(found)["Table 1"].rows[0][-1] == "6"
