"""binary-and-graded-relevance: its numbers are those of jobs and of qrels files, its layout is the paper's."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import pytest

from gainboard.analyses.reports.binary_and_graded_relevance import BinaryAndGradedParams, measures, schemes
from gainboard.exhibits import Marked
from gainboard.exhibits.tables import value_of
from gainboard.metrics import Scale, resolve
from tests.reports.laboratory import about, figures, laid, left_out, remarks, tables
from tests.world.groves import SYSTEMS, beside

NAME = "binary-and-graded-relevance"
GAINS = {"w1": "1:1:1", "w3": "3:2:1", "w10": "10:5:1", "w100": "100:10:1"}
MEASURES = ("CG", "DCG", "nDCG")
DISTINCT = [run for run in SYSTEMS if run != "yew"]
"""`yew` is `hazel` again."""


def expression(name):
    """The metric of a name as `DCG w10 @100` or `P @10`."""
    measure, *scheme, cutoff = name.split()
    return f"{measure}(gains={GAINS[scheme[0]]}){cutoff}" if scheme else f"{measure}{cutoff}"


def assert_taus(laboratory, found):
    """Each cell is the tau of a job on its two metrics, in bold from 0.9 on, and in italics below 0.8."""
    names = sorted({name for pair in found for name in pair})
    asked = {"metrics": list(map(expression, names)), "coefficients": ["kendall"], "runs": DISTINCT}
    answer = laboratory.answer("rank-correlation", **asked)["coefficients"]["kendall"]
    for (one, other), cell in found.items():
        expected = answer[names.index(one)][names.index(other)]
        assert value_of(cell) == pytest.approx(expected, abs=1e-12)
        style = cell.style if isinstance(cell, Marked) else None
        assert style == ("bold" if round(expected, 9) >= 0.9 else "italic" if expected < 0.8 else None)


def shown(table):
    return [[value_of(cell) for cell in row] for row in table.rows]


def test_table_1_crosses_the_levels_of_the_original_version_with_those_of_the_new_one(laboratory):
    there, here = laboratory.levels(1), laboratory.levels(2)
    counts = Counter((there[document], here[document]) for document in there.keys() & here.keys())
    rows = shown(tables(laid(laboratory, NAME))["Table 1"])
    assert [row[0] for row in rows] == ["nonrelevant (L0)", "L1", "L2", "L3", "all levels"]
    for level, (_, *counted) in enumerate(rows[:-1]):
        expected = [counts[level, other] for other in range(4)]
        assert counted[:5] == [*expected, sum(expected)]
        assert counted[5:] == pytest.approx([count / sum(expected) for count in expected])
    assert rows[-1][5] == counts.total()


def test_table_2_has_the_runs_that_are_left(laboratory):
    found = laid(laboratory, NAME)
    assert shown(tables(found)["Table 2"]) == [["grove", 8, 1, 7]]
    assert shown(tables(found)["Table 2 (discarded)"]) == [["grove", "yew", "hazel"]]
    every = laid(laboratory, NAME, drop_identical=False)
    assert shown(tables(every)["Table 2"]) == [["grove", 8, 0, 8]]
    assert "Table 2 (discarded)" not in tables(every)


def test_table_3_is_the_correlation_of_precision_between_the_versions(laboratory):
    found = tables(laid(laboratory, NAME))["Table 3"]
    assert [row[0] for row in found.rows] == ["P@10", "P@100"]
    for metric, cell in found.rows:
        entries = [{"metric": metric, "qrels": 1}, metric]
        answer = laboratory.answer("rank-correlation", metrics=entries, runs=DISTINCT)
        assert value_of(cell) == pytest.approx(answer["coefficients"]["kendall"][0][1], abs=1e-12)
    assert any("judged by qrels versions 1 and 2" in note for note in found.notes)


def test_tables_4_to_6_hold_every_measure_and_scheme_against_each_other(laboratory):
    found = tables(laid(laboratory, NAME))
    fourth, fifth, sixth = (found[f"Table {number}"] for number in (4, 5, 6))
    headings = [(column.group.removeprefix("dcv "), column.title) for column in fourth.columns[1:]]
    assert headings == [(cutoff, scheme) for cutoff in ("10", "100") for scheme in GAINS]
    own = {
        (f"P @{cutoff}", f"{row[0]} {scheme} @{cutoff}"): cell
        for row in fourth.rows
        for (cutoff, scheme), cell in zip(headings, row[1:], strict=True)
    }
    # CG-w1 is precision times the rank: an order preserving transformation, as the paper has it.
    assert [value_of(fourth.rows[0][place]) for place in (1, 5)] == pytest.approx([1, 1])
    others = {
        (f"{row[0]} @100", f"{column.group} {column.title} @100"): cell
        for row in fifth.rows
        for column, cell in zip(fifth.columns[1:], row[1:], strict=True)
    }
    schemes_of_one = {
        (f"{row[0]} {row[1]} @100", f"{row[0]} {column.title} @100"): cell
        for row in sixth.rows
        for column, cell in zip(sixth.columns[2:], row[2:], strict=True)
    }
    expected = [
        (f"{one} {scheme} @100", f"{other} {second} @100")
        for one, other in combinations(MEASURES, 2)
        for scheme, second in product(GAINS, GAINS)
    ]
    expected += [(f"{each} {x} @100", f"{each} {y} @100") for each in MEASURES for x, y in combinations(GAINS, 2)]
    shown_there = {pair: cell for pair, cell in (others | schemes_of_one).items() if value_of(cell) is not None}
    assert (len(own), sorted(shown_there)) == (24, sorted(expected))
    assert_taus(laboratory, own | shown_there)


def test_the_figures_are_curves_of_the_five_best_by_precision_at_100(laboratory):
    found = figures(laid(laboratory, NAME))
    assert list(found) == [f"Figures 1-2 ({letter})" for letter in "abcdefg"]
    best = sorted(DISTINCT, key=lambda run: (-round(laboratory.means("P@100")[run], 12), run))[:5]
    for letter, measure, scheme in (("b", "CG", "w1"), ("e", "DCG", "w100"), ("f", "nDCG", "w1")):
        series = found[f"Figures 1-2 ({letter})"].series
        assert [each.label for each in series] == best
        label = laboratory.label(f"{measure}(gains={GAINS[scheme]})@100")
        assert found[f"Figures 1-2 ({letter})"].caption.endswith(f" topics: {label}.")
        for rank in (1, 10, 100):
            means = laboratory.means(f"{measure}(gains={GAINS[scheme]})@{rank}")
            assert [each.y[rank - 1] for each in series] == pytest.approx([means[run] for run in best], abs=1e-12)


@pytest.mark.parametrize("highest_level", [2, 3, 4, 9, 50])
def test_on_every_scale_the_schemes_are_different_ones_from_1_up(laboratory, highest_level):
    facts = replace(about(laboratory), highest_level=highest_level)
    scale = Scale(highest_level)
    labels = [resolve(each, scale).label for each in measures(facts, BinaryAndGradedParams.model_validate({})).values()]
    assert len(set(labels)) == len(labels) == 26
    for name, highest in (("w1", 1), ("w3", highest_level), ("w10", 10), ("w100", 100)):
        gains = list(map(float, schemes(highest_level)[name].split(":")))
        assert (gains[0], gains[-1], gains) == (highest, 1, sorted(gains, reverse=True))


def test_with_fewer_levels_gains_are_told_and_with_binary_ones_there_is_only_w1(laboratory):
    found = laid(beside(laboratory, "two", highest_level=2), NAME)
    assert any("w10 is 10:1; w100 is 100:1" in remark for remark in remarks(found))
    assert left_out(found)["Tables 1 and 3"] == "There is one published qrels version; they compare two."
    found = laid(beside(laboratory, "binary", highest_level=1), NAME)
    assert list(tables(found)) == ["Table 2", "Table 2 (discarded)", "Table 4", "Table 5"]
    assert [column.title for column in tables(found)["Table 4"].columns[1:]] == ["w1", "w1"]
    assert list(figures(found)) == [f"Figures 1-2 ({letter})" for letter in "abdf"]
    assert any("all weighting schemes are w1" in why for why in left_out(found).values())
