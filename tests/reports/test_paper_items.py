"""The page on reports names every table, figure, equation and example of the papers, and what the reports lay out."""

import os
import re
from pathlib import Path

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
LOST = {"reliability-of-graded-metrics", "reliability-of-q-measure"}
"""The papers whose text has lost formulas and captions: the order of its sentences gives the missing numbers."""
EXAMPLES = {
    "binary-and-graded-relevance": ["7.28,7.99,8.66,9.61,9.61", "a sample ideal gain vector"],
    "controlling-late-arrival-penalty": [
        "if $R = 3$ and $a = 10$",
        "for only 37 run pairs out of 105",
        "if it is over 0.34",
        r"$\beta = 0$ can be tried to reduce Q-measure to AveP",
        "is 4, and that for the Japanese collection is 7",
        "how should one conduct IR experiments",
    ],
    "q-measure-appendix": ["letting  $gain(S) = 30$", "0.9909 for", "0.9939 for"],
    "reliability-of-graded-metrics": [
        "cg (1000) /cig (1000) = 1 / 5=0 . 2",
        "Q-measure is equal to one iff",
        "23.7% actually had this difference",
        "System 4 outperforms System 3",
        "(sum of differences: 0.4)",
    ],
    "reliability-of-q-measure": [
        "( cg (1000) / cig (1000)) / 5=( 1 / 5) / 5=0 . 04",
        "0004",
        "letting gai n ( S ) = 30",
    ],
}
"""The worked examples of each paper, in its order: words of its text."""
FEW = {
    "controlling-late-arrival-penalty": {"top": 6, "resamples": 20, "seeds": 1},
    "reliability-of-graded-metrics": {"top": 6, "trials": 20, "seeds": 1},
}
NUMBER = r"\d+(?: ?(?:-|to|and|,) ?\d+)*"
MENTION = re.compile(rf"\b(Table|Figure|Fig\.|Equation)s? ?(\(?{NUMBER}\)?(?:(?:,| and) ?\(\d+\))*)")
PAPER = pytest.mark.parametrize("paper", PAPERS)


def rows(paper):
    """The rows of the paper's table on the page."""
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
def test_the_page_has_every_worked_example(paper):
    assert sum(row.startswith("| Example: ") for row in rows(paper)) == len(EXAMPLES[paper])


@PAPER
def test_every_item_has_a_place_and_says_whether_it_is_right(paper):
    for row in rows(paper):
        _, _, where, right, _ = row.split("|")
        assert where.strip()
        assert re.match(r" \*\*(exact|same|differs)\*\*", right), row


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


@PAPER
def test_the_lists_are_those_of_the_papers_text(paper):
    """The papers are not part of the project; they lie beside the folder of the real runs."""
    folder = Path(os.environ.get("GAINBOARD_REAL_DATA", "/nowhere")).parent / "papers"
    if not folder.is_dir():
        pytest.skip("the papers' texts are not beside the folder that GAINBOARD_REAL_DATA names")
    text = (folder / f"{paper}.txt").read_text(encoding="utf-8")
    in_text = mentioned(text) | {("Equation", int(number)) for number in re.findall(r"\((\d+)\)\$\$", text)}
    assert in_text <= listed(PAPERS[paper])
    assert in_text == listed(PAPERS[paper]) or paper in LOST
    assert [words for words in EXAMPLES[paper] if words not in text] == []
