"""`gainboard compare` gives what the service gives, without it."""

import csv
import json
import random
import shutil
from io import StringIO

import pytest

from gainboard.cli import main
from tests.cli.test_score import stored  # noqa: F401 (a fixture)

METRICS = ["-mAP", "-mnDCG@10", "-mAP(mean=geometric)", "--gains", "3:2:1"]
SENT = {"metric": ["AP", "nDCG@10", "AP(mean=geometric)"], "gains": "3:2:1"}


def compare(capsys, *arguments, code=0):
    """What the command prints."""
    assert main(["compare", "qrels.txt", *arguments]) == code
    return capsys.readouterr().out


def asked(service, **query):
    """The service's answer."""
    return service.organiser.get("/v1/collections/c/compare", params={**SENT, **query}).raise_for_status()


def test_two_runs_are_compared_as_by_the_service(
    stored,  # noqa: F811
    folder,
    capsys,
):
    files = ["runs/civet.txt", "runs/egret.txt"]
    ours = json.loads(compare(capsys, *files, *METRICS, "--margin", "0.1", "-f", "json"))
    theirs = asked(stored, run=["civet.txt", "egret.txt"], margin=0.1).json()
    assert {key: ours[key] for key in ("metrics", "comparisons")} == {
        key: theirs[key] for key in ("metrics", "comparisons")
    }
    printed = compare(capsys, *files, *METRICS, "-f", "csv")
    assert printed == asked(stored, run=["civet.txt", "egret.txt"], format="csv").text


def test_all_files_are_compared_with_baselines_as_by_the_service(
    stored,  # noqa: F811
    folder,
    capsys,
):
    files = ["runs/civet.txt", "runs/egret.txt", "runs/otter.txt"]
    chosen = ["--baseline", "runs/otter.txt", "--baseline", "runs/egret.txt"]
    ours = json.loads(compare(capsys, *files, *chosen, *METRICS, "-f", "json"))
    baselines = ["otter.txt", "egret.txt"]
    assert ours["comparisons"] == asked(stored, baseline=baselines).json()["comparisons"]
    rows = compare(capsys, *files, *chosen, "-mAP").splitlines()
    assert [row.split()[1:3] for row in rows[1:]] == [["civet.txt", each] for each in baselines]


def test_a_table_has_the_levels_and_the_topics_that_decide_are_told(folder, capsys):
    assert main(["compare", "qrels.txt", "runs/civet.txt", "runs/otter.txt", "-mAP", "--margin", "0.2", "-q"]) == 0
    printed = capsys.readouterr()
    first, second = printed.out.split("\n\n")
    heading, row = first.splitlines()
    for name in ("difference", "t-test", "wilcoxon", "Holm", "max-T", "TOST"):
        assert name in heading
    assert row.split()[:3] == ["AP", "civet.txt", "otter.txt"]
    differences = [float(line.split()[-1]) for line in second.splitlines()[1:]]
    assert differences == sorted(differences, reverse=True)
    assert len(differences) == 12
    assert "the difference would not be significant" in printed.err


@pytest.mark.parametrize(
    ("baseline", "files"),
    [
        ("runs/civet.txt", ["runs"]),
        ("./runs/civet.txt", ["runs"]),
        ("civet.txt", ["runs"]),
        ("civet", ["runs/egret.txt", "runs/civet.txt", "runs/otter.txt"]),
        ("of-civet", ["runs"]),
    ],
)
def test_a_baseline_is_a_file_a_printed_name_or_a_tag(own_folder, capsys, baseline, files):
    civet = own_folder / "runs" / "civet.txt"
    civet.write_text(civet.read_text().replace(" civet\n", " of-civet\n"))
    by_file = compare(capsys, "runs/egret.txt", "runs/otter.txt", "--baseline", "runs/civet.txt", "-mAP")
    assert compare(capsys, *files, "--baseline", baseline, "-mAP") == by_file


def test_a_baseline_that_is_none_or_several_is_refused_before_files_are_read(own_folder, capsys):
    assert main(["compare", "absent.txt", "runs", "--baseline", "newt"]) == 1
    err = capsys.readouterr().err
    assert "--baseline newt is no file, and the name or tag of no run. Available: civet.txt, egret.txt" in err
    shutil.copy("runs/civet.txt", "runs/copy.txt")
    assert main(["compare", "absent.txt", "runs", "--baseline", "civet", "--baseline", "otter"]) == 1
    assert "absent.txt: unreadable" in capsys.readouterr().err
    shutil.move("runs/civet.txt", "runs/other.txt")
    assert main(["compare", "absent.txt", "runs", "--baseline", "civet"]) == 1
    assert "names 2 runs: runs/copy.txt, runs/other.txt" in capsys.readouterr().err


def test_a_table_for_a_paper_names_runs_as_score_does(own_folder, capsys):
    for place in ("a", "b"):
        (own_folder / place).mkdir()
        shutil.copy("runs/civet.txt" if place == "a" else "runs/otter.txt", f"{place}/r.txt")
    printed = compare(capsys, "a", "b", "-mAP", "-f", "latex")
    assert "AP & r.txt (1) & r.txt (2) &" in printed
    assert main(["score", "qrels.txt", "a", "b", "-mAP", "-f", "latex"]) == 0
    assert "r.txt (2) &" in capsys.readouterr().out


def test_latex_is_a_table(folder, capsys):
    assert r"\begin{table}" in compare(capsys, "runs/civet.txt", "runs/otter.txt", "-f", "latex")


def test_pairs_with_one_run_are_one_table_in_a_paper(folder, tmp_path, capsys):
    others = [
        shutil.copy(folder / "runs" / "otter.txt", tmp_path / f"run-of-a-team-{place}.txt") for place in range(30)
    ]
    printed = compare(
        capsys, "runs/civet.txt", *map(str, others), "--baseline", "runs/civet.txt", "-mAP", "-f", "latex"
    )
    assert printed.count(r"\begin{longtable}") == 1
    assert "; metric AP; baseline civet.txt" in printed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["run.txt"], "number of files is 1"),
        (["run.txt", "run.txt"], "number of files is 1"),
        (["run.txt", "runs/civet.txt", "runs/otter.txt"], "--baseline RUN"),
        (["run.txt", "--baseline", "run.txt"], "number of files is 0"),
    ],
)
def test_files_that_make_no_pair_are_refused(given, said, folder, capsys):
    assert main(["compare", "qrels.txt", *given]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("margin", ["0", "-1", "inf", "much"])
def test_a_margin_is_a_number_above_0(margin, folder, capsys):
    with pytest.raises(SystemExit):
        main(["compare", "qrels.txt", "run.txt", "runs/civet.txt", f"--margin={margin}"])
    assert "is not a margin" in capsys.readouterr().err


def test_the_pairs_of_a_faulty_file_are_left_out(folder, tmp_path, capsys):
    bad = tmp_path / "bad.txt"
    bad.write_text("1 Q0 d01 1 high tag\n")
    printed = compare(capsys, str(bad), "runs/civet.txt", "--baseline", "run.txt", "-mAP", "-f", "csv", code=1)
    assert {row["run"] for row in csv.DictReader(StringIO(printed))} == {"civet.txt"}
    assert compare(capsys, str(bad), "run.txt", code=1) == ""


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


def test_many_pairs_have_one_remark_on_topics_under_each_metric(tmp_path, capsys):
    drawn, topics = random.Random(4), range(20)
    qrels, files = tmp_path / "qrels", [tmp_path / f"run-{number}" for number in range(6)]
    qrels.write_text("".join(f"{topic} 0 r 1\n" for topic in topics))
    for number, file in enumerate(files):
        ranks = [1 + drawn.randrange(1 + 3 * number) for _ in topics]
        lines = [
            f"{topic} Q0 {'r' if rank == own else f'x{rank}'} {rank} {20 - rank} t\n"
            for topic, own in zip(topics, ranks, strict=True)
            for rank in range(1, own + 1)
        ]
        file.write_text("".join(lines))
    assert main(["compare", str(qrels), *map(str, files), "--baseline", str(files[0]), "-mAP", "-mP@1"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "pairs would not differ" in line]
    assert [line.split()[1] for line in told] == ["AP:", "P@1:"]
    assert all(line.count("(in ") == 3 for line in told)


@pytest.mark.parametrize("form", ["table", "latex"])
def test_without_remarks_there_are_none_in_any_form(folder, capsys, form):
    files = ["runs/civet.txt", "runs/egret.txt", "-mAP", "-f", form]
    assert main(["compare", "qrels.txt", *files]) == 0
    loud = capsys.readouterr()
    assert main(["compare", "qrels.txt", *files, "--quiet"]) == 0
    quiet = capsys.readouterr()
    remarks = [line.removeprefix("note: ") for line in loud.err.splitlines()]
    assert remarks
    assert quiet.err == ""
    assert not [remark for remark in remarks if remark in quiet.out]
    assert len(quiet.out) <= len(loud.out)
