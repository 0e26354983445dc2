"""reliability-of-graded-metrics: its numbers are those of the jobs, its layout is the paper's."""

from dataclasses import replace

import pytest
from scipy import stats

from gainboard.analyses.report_kinds import Needed, find_report_kind
from gainboard.exhibits import Marked
from gainboard.exhibits.tables import value_of
from gainboard.metrics import Scale, resolve
from tests.reports.laboratory import about, figures, laid, left_out, tables
from tests.world.groves import beside, planted

NAME = "reliability-of-graded-metrics"
ASKED = {"top": 6, "trials": 100}
FUZZINESS = [step / 100 for step in range(11)]
TOP = {"runs": {"top": 6, "by": "AP"}, "trials": 100}
RELAXED = {"Relaxed AveP": "AP", "Relaxed R-Prec": "Rprec", "Relaxed PDoc10": "P@10", "Relaxed PDoc100": "P@100"}
RIGID = {"Rigid AveP": "AP(rel=2)", "Rigid R-Prec": "Rprec(rel=2)"}
RIGID |= {"Rigid PDoc10": "P(rel=2)@10", "Rigid PDoc100": "P(rel=2)@100"}
GRADED = {"Q-measure": "Q", "R-measure": "Rmeasure"}
GRADED |= {f"{name}{cut}": f"{name}@{cut}" for name in ("nCG", "AnCG", "nDCG", "AnDCG") for cut in (10, 100)}
EVERY = RELAXED | RIGID | GRADED
SETTINGS = {"default": "3:2:1", "flat": "1:1:1", "steep": "10:5:1", "adjust": "adjust(3:2:1)"}


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    """Forty topics, on which most metrics reach a swap rate of 5 %."""
    return planted(tmp_path_factory.mktemp("forest"), topics=40)


@pytest.fixture(scope="module")
def report(forest):
    return laid(forest, NAME, **ASKED)


@pytest.fixture(scope="module")
def binary(forest):
    """Twelve topics with one level above 0, on which few metrics reach a swap rate of 5 %."""
    return beside(forest, "binary", highest_level=1)


def rows(among, number):
    return {str(value_of(row[0])): list(row[1:]) for row in tables(among)[number].rows}


def tau(laboratory, one, other):
    first, second = laboratory.means(one), laboratory.means(other)
    rounded = [[round(means[run], 12) for run in first] for means in (first, second)]
    return float(stats.kendalltau(*rounded).statistic)


def test_the_metrics_are_the_papers_10_and_14_and_called_by_their_labels(forest):
    plan = find_report_kind(NAME).plan
    params = find_report_kind(NAME).params_model()
    needed = {each.key: each for each in plan(replace(about(forest), depth=1000), params) if isinstance(each, Needed)}
    metrics = needed["stability"].params["metrics"]
    assert (len(metrics), len(needed["gains"].params["metrics"])) == (10 + 14, 14)
    assert len(set(needed["gains-correlation"].params["metrics"])) == 4 * 14
    assert [resolve(metric, Scale(3, 1000)).label for metric in metrics] == metrics
    expected = {resolve(metric, Scale(3, 1000), defaults={"gains": "3:2:1"}).label for metric in EVERY.values()}
    thousands = {metric for metric in metrics if metric.endswith("@1000")}
    assert set(metrics) - thousands == expected
    assert len(thousands) == 2 + 4


@pytest.mark.parametrize("levels", [1, 3])
def test_table_1_groups_the_metrics_by_their_ties(forest, binary, levels):
    laboratory, names = (forest, EVERY) if levels == 3 else (binary, RELAXED | GRADED)
    job = laboratory.answer("stability", metrics=list(names.values()), **TOP, fuzziness=FUZZINESS)
    metrics = dict(zip(names, job["metrics"], strict=True))
    found = tables(laid(laboratory, NAME, **ASKED))
    seen = []
    for collection, band, members in found["Table 1"].rows:
        assert collection == laboratory.name
        for member in str(members).split(", "):
            if band in ("below 5 % at every fuzziness", "above 5 % at every fuzziness"):
                assert not metrics[member]["crossed"]
                assert (metrics[member]["curve"][0]["minority_rate"] < 0.05) == str(band).startswith("below")
                seen.append(member)
                continue
            name, _, shown = member.rpartition(" ")
            seen.append(name)
            low, high = map(float, str(band).split(" to "))
            assert metrics[name]["crossed"]
            assert low <= metrics[name]["ties_at_5_percent"] < high
            assert shown == f"{metrics[name]['ties_at_5_percent']:.3f}"
    assert sorted(seen) == sorted(names)
    every = found["Table 1 (all metrics)"].rows
    ties = {str(row[1]): row[5] for row in every}
    assert ties == {name: metric["ties_at_equal_rate"] for name, metric in metrics.items()}
    known = [value for value in ties.values() if isinstance(value, float)]
    assert known == sorted(known)
    assert {row[4] for row in every} <= {job["equal_minority_rate"], None}


@pytest.mark.parametrize(("number", "part"), [("(a)", RELAXED | RIGID), ("(b)", GRADED)])
def test_tables_2_and_3_are_the_swap_rates_by_discrimination_power(forest, report, number, part):
    job = forest.answer("swap-rate", metrics=list(EVERY.values()), **TOP)
    columns = ("absolute_difference_required", "maximum_performance", "relative_difference_required")
    metrics = dict(zip(EVERY, job["metrics"], strict=True))
    found = rows(report, f"Tables 2-3 {number}")
    for name, cells in found.items():
        assert cells == [metrics[name][column] for column in (*columns, "discrimination_power")]
    power = [metrics[name]["discrimination_power"] or -1 for name in found]
    assert set(found) == set(part)
    assert power == sorted(power, reverse=True)
    assert len(set(power)) > 3


def test_tables_4_to_7_are_the_taus_of_all_runs_and_what_is_above_09_is_bold(forest, report):
    against, among = rows(report, "Tables 4-5"), rows(report, "Tables 6-7")
    assert list(against) == list(GRADED)
    headings = [f"{column.group} {column.title}" for column in tables(report)["Tables 4-5"].columns[1:]]
    assert headings == [*RELAXED, *RIGID]
    for row, cells in against.items():
        for column, cell in zip(headings, cells, strict=True):
            expected = tau(forest, EVERY[row], EVERY[column])
            assert value_of(cell) == pytest.approx(expected, abs=1e-12)
            assert isinstance(cell, Marked) == (expected > 0.9 + 1e-12)
    assert list(among) == [
        "(A) Q-measure",
        *(f"({letter}) {name}" for letter, name in zip("BCDFGIJL", LATER, strict=True)),
    ]
    for place, cells in enumerate(among.values()):
        assert [cell is None for cell in cells] == [other < place for other in range(len(cells))]
    assert value_of(among["(A) Q-measure"][0]) == pytest.approx(tau(forest, "Q", "Rmeasure"), abs=1e-12)
    assert value_of(among["(L) AnDCG10"][-1]) == pytest.approx(tau(forest, "AnDCG@10", "AnDCG@100"), abs=1e-12)


LATER = ["R-measure", "nCG10", "nCG100", "AnCG10", "AnCG100", "nDCG10", "nDCG100", "AnDCG10"]
"""The rows of Tables 6 and 7 after the first; (E), (H) and (K) are cut at 1000."""


def test_figure_6_and_table_8_are_those_of_each_gain_setting(forest, report):
    found = rows(report, "Table 8")
    curves = {each.label: each for each in figures(report)["Figure 6"].series}
    assert list(curves) == ["Q3:2:1", "Q1:1:1", "Q10:5:1", "Qadjust"]
    styles = set()
    for place, (setting, curve) in enumerate(zip(SETTINGS.values(), curves.values(), strict=True)):
        jobs = [
            forest.answer("swap-rate", metrics=list(GRADED.values()), gains=setting, **TOP, seeds=5),
            forest.answer("stability", metrics=list(GRADED.values()), gains=setting, **TOP, fuzziness=FUZZINESS),
        ]
        power = [metric["discrimination_power"] for metric in jobs[0]["metrics"]]
        assert [value_of(cells[place]) for cells in found.values()] == power
        for cells, metric in zip(found.values(), jobs[0]["metrics"], strict=True):
            is_high = [(each["discrimination_power"] or 0) > 0.2 for each in metric["by_seed"]]
            style = "bold" if all(is_high) else "italic" if any(is_high) else None
            assert (cell.style if isinstance(cell := cells[place], Marked) else None) == style
            styles.add(style)
        assert list(curve.y) == [point["minority_rate"] for point in jobs[1]["metrics"][0]["curve"]]
    assert list(found) == list(GRADED)
    assert styles == {"bold", "italic", None}
    assert tables(report)["Table 8"].meanings == {"bold": "> 20%", "italic": "> 20%, but only under some of 5 seeds"}


def test_with_binary_levels_there_are_neither_rigid_metrics_nor_gain_settings(binary, report):
    found = laid(binary, NAME, **ASKED)
    missing = {"Figure 6", "Table 8", "Table 9"}
    assert {*tables(found), *figures(found)} == {*tables(report), *figures(report)} - missing
    assert [each for each in left_out(found) if "Rigid" in each or "Table 8" in each or "Tables 8-9" in each] == [
        "Rigid metrics in Figures 3 and 5 and Tables 1-5",
        "Figure 6 and Tables 8-9",
    ]
    assert [each.label for each in figures(found)["Figure 3"].series] == list(RELAXED)
    assert "Rigid AveP" not in [each.label for each in figures(found)["Figure 5"].series]
