"""The page on reports names every table, figure, equation and example of the papers, and what the reports lay out."""

import re

import pytest

from gainboard.analyses.report_items import ReportFigure, ReportTable, slug
from tests.outside import ROOT
from tests.reports.laboratory import laid

PAGE = ROOT / "docs" / "reports.md"
PAPERS = {
    "binary-and-graded-relevance": {"Table": range(1, 7), "Figure": range(1, 3)},
    "controlling-late-arrival-penalty": {"Table": range(1, 4), "Figure": range(1, 15), "Equation": range(1, 7)},
    "q-measure-appendix": {"Table": range(3, 13), "Figure": range(4, 8), "Equation": (*range(1, 5), *range(14, 25))},
    "reliability-of-graded-metrics": {"Table": range(1, 11), "Figure": range(1, 7), "Equation": range(1, 11)},
    "reliability-of-q-measure": {"Table": range(1, 9), "Figure": range(1, 2), "Equation": range(1, 20)},
}
"""The numbers of each paper's tables, figures and equations."""
FEW = {
    "controlling-late-arrival-penalty": {"top": 6, "resamples": 20, "seeds": 1},
    "reliability-of-graded-metrics": {"top": 6, "trials": 20, "seeds": 1},
}
NUMBER = r"\d+(?: ?(?:-|to|and|,) ?\d+)*"
MENTION = re.compile(rf"\b(Table|Figure|Fig\.|Equation)s? ?(\(?{NUMBER}\)?(?:(?:,| and) ?\(\d+\))*)")
PAPER = pytest.mark.parametrize("paper", PAPERS)


def rows(paper):
    table = PAGE.read_text(encoding="utf-8").partition(f"<!-- items: {paper} -->\n")[2].partition("\n\n")[0]
    return table.splitlines()[2:]


def mentioned(text):
    """The tables, figures and equations that a text names, with all in between of ranges."""
    found = set()
    for kind, numbers in MENTION.findall(text):
        for first, last in re.findall(r"(\d+)(?: ?(?:-|to) ?(\d+))?", numbers):
            name = "Figure" if kind == "Fig." else kind
            found |= {(name, number) for number in range(int(first), int(last or first) + 1)}
    return found


def listed(items):
    return {(kind, number) for kind, numbers in items.items() for number in numbers}


@PAPER
def test_the_page_has_every_numbered_item_and_no_other(paper):
    found = set().union(
        *(mentioned(row.split("|")[1].partition(":")[0].partition(", which")[0]) for row in rows(paper))
    )
    assert found == listed(PAPERS[paper])


@PAPER
def test_every_table_and_figure_of_the_report_is_on_the_page_and_no_other(paper, laboratory):
    shown = laid(laboratory, paper, **FEW.get(paper, {}))
    numbers = {each.number for each in shown if isinstance(each, ReportTable | ReportFigure)}
    numbers |= {each.average for each in shown if isinstance(each, ReportTable) and each.average}
    on_page = {name for row in rows(paper) for name in re.findall(r"`((?:tables?|figures?)-[\w-]+)`", row)}
    assert on_page == set(map(slug, numbers))


def test_every_test_on_the_page_exists():
    named = {name for paper in PAPERS for row in rows(paper) for name in re.findall(r"`(test_\w+)`", row)}
    text = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    assert named
    assert named <= set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
