"""`gainboard compare` gives what the service gives, without it."""

import json
import shutil

import pytest

from gainboard.cli import main
from tests.cli.test_score import stored  # noqa: F401 (a fixture)

METRICS = ["-mAP", "-mnDCG@10", "-mAP(mean=geometric)", "--gains", "3:2:1"]
SENT = {"metric": ["AP", "nDCG@10", "AP(mean=geometric)"], "gains": "3:2:1"}


def compare(capsys, *arguments, code=0):
    assert main(["compare", "qrels.txt", *arguments]) == code
    return capsys.readouterr().out


def asked(service, **query):
    return service.organiser.get("/v1/collections/c/compare", params={**SENT, **query}).raise_for_status()


def test_pairs_and_baselines_are_compared_as_by_the_service(stored, folder, capsys):  # noqa: F811
    files = ["runs/civet.txt", "runs/egret.txt"]
    ours = json.loads(compare(capsys, *files, *METRICS, "--margin", "0.1", "-f", "json"))
    theirs = asked(stored, run=["civet.txt", "egret.txt"], margin=0.1).json()
    assert {key: ours[key] for key in ("metrics", "comparisons")} == {
        key: theirs[key] for key in ("metrics", "comparisons")
    }
    printed = compare(capsys, *files, *METRICS, "-f", "csv")
    assert printed == asked(stored, run=["civet.txt", "egret.txt"], format="csv").text
    chosen = ["runs/otter.txt", "--baseline", "runs/otter.txt", "--baseline", "runs/egret.txt"]
    ours = json.loads(compare(capsys, *files, *chosen, *METRICS, "-f", "json"))
    assert ours["comparisons"] == asked(stored, baseline=["otter.txt", "egret.txt"]).json()["comparisons"]
    rows = compare(capsys, *files, *chosen, "-mAP").splitlines()
    assert [row.split()[1:3] for row in rows[1:]] == [["civet.txt", "otter.txt"], ["civet.txt", "egret.txt"]]


def test_a_baseline_is_a_file_a_printed_name_or_a_tag(own_folder, capsys):
    civet = own_folder / "runs" / "civet.txt"
    civet.write_text(civet.read_text().replace(" civet\n", " of-civet\n"))
    by_file = compare(capsys, "runs/egret.txt", "runs/otter.txt", "--baseline", "runs/civet.txt", "-mAP")
    for baseline in ("./runs/civet.txt", "civet.txt", "civet", "of-civet"):
        assert compare(capsys, "runs", "--baseline", baseline, "-mAP") == by_file, baseline


def test_a_baseline_that_is_none_or_several_is_refused_before_files_are_read(own_folder, capsys):
    shutil.copy("runs/civet.txt", "runs/copy.txt")
    shutil.move("runs/civet.txt", "runs/other.txt")
    for name, said in {
        "newt": "--baseline newt is no file, and the name or tag of no run. Available: copy.txt, egret.txt",
        "civet": "names 2 runs: runs/copy.txt, runs/other.txt",
    }.items():
        assert main(["compare", "absent.txt", "runs", "--baseline", name]) == 1
        assert said in capsys.readouterr().err


def test_a_table_for_a_paper_names_runs_as_score_does(own_folder, capsys):
    for place in ("a", "b"):
        (own_folder / place).mkdir()
        shutil.copy("runs/civet.txt" if place == "a" else "runs/otter.txt", f"{place}/r.txt")
    printed = compare(capsys, "a", "b", "-mAP", "-f", "latex")
    assert "AP & r.txt (1) & r.txt (2) &" in printed
    assert main(["score", "qrels.txt", "a", "b", "-mAP", "-f", "latex"]) == 0
    assert "r.txt (2) &" in capsys.readouterr().out


@pytest.mark.parametrize("topics", [2, 3, 7])
def test_levels_that_few_topics_with_equal_differences_cannot_have_are_told(topics, tmp_path, capsys):
    qrels, better, worse = (tmp_path / name for name in ("qrels", "better", "worse"))
    qrels.write_text("".join(f"{topic} 0 r 1\n" for topic in range(topics)))
    better.write_text("".join(f"{topic} Q0 r 1 9 better\n" for topic in range(topics)))
    worse.write_text("".join(f"{topic} Q0 x 1 9 worse\n{topic} Q0 r 2 8 worse\n" for topic in range(topics)))
    assert main(["compare", str(qrels), str(better), str(worse), "-mRR", "-fjson"]) == 0
    printed = capsys.readouterr()
    least = f"The level is below {2 / 2**topics:.2g}, the lowest one of the exact randomisation test"
    (pair,) = json.loads(printed.out)["comparisons"]
    doubtful = {test["name"] for test in pair["tests"] if least in (test["note"] or "")}
    assert doubtful == {"t-test", "paired-bootstrap", *(["bootstrap-range"] if topics >= 6 else [])}
    assert "all differences are equal, so there is no variance" in printed.err
    assert sum(test["asl"] == 2 / 2**topics for test in pair["tests"]) >= 3  # randomisation, Wilcoxon, sign
