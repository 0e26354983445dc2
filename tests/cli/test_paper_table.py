"""`gainboard table` has the numbers of the script that newcomers wrote, and the marks that follow from them."""

import csv
import io

import ir_measures
import numpy as np
import pytest
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests

import gainboard
from gainboard.cli import main
from gainboard.errors import BadInput
from tests.exhibits.compiling import compiles_text

RUNS = ["run.txt", "runs/civet.txt", "runs/egret.txt", "runs/otter.txt"]
METRICS = ["nDCG@10", "AP(rel=2)"]


def by_hand(qrels, runs, baseline):
    """The 24 lines that the command replaces: means, corrected levels and marks, by measure and run."""
    measures = [ir_measures.parse_measure(name) for name in METRICS]
    judged = list(ir_measures.read_trec_qrels(qrels))
    topics = sorted({judgment.query_id for judgment in judged})
    scores = {}
    for run in runs:
        found = ir_measures.iter_calc(measures, judged, list(ir_measures.read_trec_run(run)))
        for metric in found:
            scores.setdefault((str(metric.measure), run), {})[metric.query_id] = metric.value
    table = {}
    for measure in map(str, measures):
        rows = {run: np.array([scores[measure, run].get(topic, 0.0) for topic in topics]) for run in runs}
        others = [run for run in runs if run != baseline]
        levels = [ttest_rel(rows[run], rows[baseline]).pvalue for run in others]
        is_significant, corrected, _, _ = multipletests(levels, alpha=0.05, method="holm")
        table[measure, baseline] = (rows[baseline].mean(), None, "")
        for run, level, told in zip(others, corrected, is_significant, strict=True):
            mark = ""
            if told:
                mark = "better" if rows[run].mean() > rows[baseline].mean() else "worse"
            table[measure, run] = (rows[run].mean(), level, mark)
    return table


def printed(capsys, *arguments, code=0):
    words = [word for metric in METRICS for word in ("-m", metric)]
    assert main(["table", "qrels.txt", *RUNS, *words, "--names", "ir_measures", *arguments]) == code
    return capsys.readouterr().out


@pytest.mark.parametrize("baseline", ["run.txt", "runs/egret.txt"])
def test_means_levels_and_marks_are_those_of_the_script(baseline, folder, capsys):
    expected = by_hand("qrels.txt", RUNS, baseline)
    rows = list(csv.reader(io.StringIO(printed(capsys, "--baseline", baseline, "-fcsv"), newline="")))
    order = [baseline, *(run for run in RUNS if run != baseline)]
    assert [row[0] for row in rows[1:]] == [run.removeprefix("runs/") for run in order]
    for place, measure in enumerate(METRICS):
        for run, row in zip(order, rows[1:], strict=True):
            mean, level, mark = expected[measure, run]
            ours = row[1 + 3 * place : 4 + 3 * place]
            assert float(ours[0]) == pytest.approx(mean, abs=1e-9)
            assert (float(ours[1]) if ours[1] else None) == (level and pytest.approx(level, rel=1e-6))
            assert ours[2] == mark
    assert {mark for _, _, mark in expected.values()} >= {"", "worse"}


def test_every_form_has_marks_apart_and_the_best_in_bold(folder, capsys):
    text = printed(capsys, "--baseline", "runs/egret.txt", "--asl").splitlines()
    (better,), (worse,) = ([line for line in text if line.startswith(run)] for run in ("civet", "otter"))
    assert ("†" in better, "‡" in better, "†" in worse, "‡" in worse) == (True, False, False, True)
    assert "† better, ‡ worse than egret.txt (paired t-test, corrected by Holm's method for 3 runs" in text[-1]
    markdown = printed(capsys, "--baseline", "runs/egret.txt", "-fmarkdown")
    assert "| civet.txt | **" in markdown
    html = printed(capsys, "--baseline", "runs/egret.txt", "-fhtml", "--caption", "Runs <& metrics>")
    assert "<caption>Runs &lt;&amp; metrics&gt;</caption>" in html
    assert "<sup>†</sup></b></td>" in html
    assert html.count("<tr>") == len(RUNS) + 1
    letters = printed(capsys)
    assert "Runs that share no letter under a metric are told apart" in letters


@pytest.mark.outer
def test_a_table_in_latex_compiles_with_its_caption_label_and_bounded_levels(folder, capsys):
    options = ["--baseline", "runs/egret.txt", "-flatex", "--asl", "--caption", "All runs", "--label", "tab:main"]
    latex = printed(capsys, *options)
    assert r"\caption{All runs}\label{tab:main}" in latex
    assert r"\toprule" in latex
    assert r"$^{\mathrm{\dagger}}$" in latex
    assert "$< 0.001$" in latex
    compiles_text(latex)


def test_corrections_are_those_of_compare_and_python_has_the_same_table(folder):
    runs = {run.removeprefix("runs/"): run for run in RUNS}
    compared = gainboard.compare("qrels.txt", runs, METRICS, baseline="run.txt").pairs
    for correction, level in {
        "none": lambda tests: tests[0].asl,
        "holm": lambda tests: tests[0].asl_holm,
        "benjamini-hochberg": lambda tests: tests[0].asl_benjamini_hochberg,
        "max-t": lambda tests: tests[2].asl_max_t,
    }.items():
        made = gainboard.table("qrels.txt", runs, METRICS, baseline="run.txt", correction=correction)
        for label in ("nDCG(base=2,gains=linear)@10", "AP(rel=2)"):
            expected = [level(pair.statistics.tests) for pair in compared if pair.label == label]
            assert made.columns()[f"{label} level"][1:] == expected
    board = gainboard.leaderboard("qrels.txt", runs, METRICS)
    made = gainboard.table("qrels.txt", runs, METRICS)
    letters = {row.run: "".join(row.groups) for row in board.rows}
    assert dict(zip(runs, made.columns()[f"{board.by} letters"], strict=True)) == letters
    assert made.to_pandas()["run"].tolist() == [*runs]
    for baseline, said in (("newt", "Available: run.txt"), ("run.txt", "needs other runs")):
        with pytest.raises(BadInput, match=said):
            gainboard.table("qrels.txt", runs if baseline == "newt" else {"run.txt": "run.txt"}, baseline=baseline)
