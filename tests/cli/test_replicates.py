"""Replicates in the names of run files: `dense@1.txt` and `dense@2.txt` are of the system `dense`."""

import json
import shutil

import pytest
from scipy import stats

import gainboard
from gainboard.cli import main


@pytest.fixture
def replicated(folder):
    for name, of in (("dense@1", "civet"), ("dense@2", "egret"), ("other", "otter")):
        shutil.copy(folder / "runs" / f"{of}.txt", folder / f"{name}.txt")
    return ["dense@1.txt", "dense@2.txt", "other.txt"]


def printed(capsys, *arguments):
    main([*arguments, "--replicates", "@", "-mAP", "-fjson"])
    return json.loads(capsys.readouterr().out)


def test_each_command_on_files_has_the_same_systems(replicated, capsys):
    alone = gainboard.score("qrels.txt", ["runs/civet.txt", "runs/egret.txt", "runs/otter.txt"], ["AP"])
    means = dict(zip(alone.runs, alone.scores.means[0].tolist(), strict=True))
    dense, other = (means["civet"] + means["egret"]) / 2, means["otter"]
    board = printed(capsys, "leaderboard", "--qrels", "qrels.txt", "--runs", *replicated)
    assert {row["name"]: row["mean"]["AP"] for row in board["rows"]} == pytest.approx({"dense": dense, "other": other})
    (pair,) = printed(capsys, "compare", "qrels.txt", *replicated, "--baseline", "other")["comparisons"]
    assert pair["difference"] == pytest.approx(dense - other)
    gate = printed(capsys, "gate", "qrels.txt", *replicated, "--margin", "0.01")
    assert (gate["old"], gate["metrics"][0]["difference"]) == ("dense", pytest.approx(other - dense))
    scored = gainboard.leaderboard("qrels.txt", replicated, ["AP"], replicates="@")
    assert {row.run: row.means["AP"] for row in scored.rows} == pytest.approx({"dense": dense, "other": other})


@pytest.mark.parametrize("command", ["compare", "table"])
@pytest.mark.parametrize("baseline", ["other", "other.txt", "./other.txt"])
def test_a_baseline_beside_replicates_is_named_as_anywhere_else(replicated, capsys, command, baseline):
    assert main([command, "qrels.txt", *replicated, "--replicates", "@", "-mAP", "--baseline", baseline]) == 0
    out = capsys.readouterr().out
    assert ("other" in out, "other.txt" in out) == (True, False)


def test_several_baselines_beside_replicates_are_all_compared(replicated, capsys):
    baselines = ("--baseline", "dense", "--baseline", "other")
    pairs = printed(capsys, "compare", "qrels.txt", *replicated, "runs/otter.txt", *baselines)["comparisons"]
    assert [pair["baseline"] for pair in pairs] == ["dense", "other"]


def test_tests_on_files_draw_replicates_anew_if_asked(replicated, capsys):
    alone, both = (
        printed(capsys, "compare", "qrels.txt", *replicated, "--baseline", "other", "--resample", drawn)
        for drawn in ("topics", "topics+replicates")
    )
    (of_alone,), (of_both,) = alone["comparisons"], both["comparisons"]
    width = [pair["interval"][1] - pair["interval"][0] for pair in (of_alone, of_both)]
    count = of_both["topics_scored"]
    added = (2 * stats.t.ppf(0.975, count - 1)) ** 2 * of_both["noise"]
    assert width[1] ** 2 == pytest.approx(width[0] ** 2 + added)
    gates = [
        printed(capsys, "gate", "qrels.txt", *replicated, "--margin", "0.01", "--resample", drawn)["metrics"][0]
        for drawn in ("topics", "topics+replicates")
    ]
    assert gates[0]["difference"] == pytest.approx(gates[1]["difference"])
    half = [(gate["difference"] - gate["low"]) / stats.t.ppf(0.95, count - 1) for gate in gates]
    assert half[1] ** 2 == pytest.approx(half[0] ** 2 + of_both["noise"])
    board = gainboard.leaderboard("qrels.txt", replicated, ["AP"], replicates="@", resample="topics+replicates")
    before = gainboard.leaderboard("qrels.txt", replicated, ["AP"], replicates="@")
    intervals = [{row.run: row.intervals["AP"] for row in each.rows} for each in (before, board)]
    assert intervals[0]["other"] == intervals[1]["other"]
    assert intervals[0]["dense"][0] > intervals[1]["dense"][0]


def test_a_replicate_that_lacks_a_topic_is_not_said_to_score_0_there(replicated, folder, capsys):
    lines = (folder / "dense@1.txt").read_text().splitlines(keepends=True)
    lacking = lines[0].split()[0]
    (folder / "dense@1.txt").write_text("".join(line for line in lines if line.split()[0] != lacking))
    said = f"missing-topics: The run lacks topics of the qrels; {{}}these score 0: {lacking} (1)"
    main(["compare", "qrels.txt", *replicated, "-mAP", "--baseline", "other", "--replicates", "@"])
    beside = said.format("where no other replicate has them, ")
    assert f"dense@1.txt: warning: {beside}" in capsys.readouterr().err
    main(["score", "qrels.txt", *replicated, "-mAP"])
    assert f"dense@1.txt: warning: {said.format('')}" in capsys.readouterr().err
    assert any(beside in note for note in gainboard.score("qrels.txt", replicated, ["AP"], replicates="@").notes)


def test_a_file_without_replicates_keeps_its_suffix_where_a_system_has_its_name(replicated, folder, capsys):
    shutil.copy(folder / "runs" / "otter.txt", folder / "dense.txt")
    board = printed(capsys, "compare", "qrels.txt", *replicated, "dense.txt", "--baseline", "dense.txt")
    assert [run["name"] for run in board["runs"]] == ["dense", "other", "dense.txt"]
    (folder / "faulty").mkdir()
    (folder / "faulty" / "dense.txt").write_text("faulty")
    files = ["faulty/dense.txt", "dense.txt", "other.txt", "--replicates", "@"]
    assert main(["compare", "qrels.txt", *files, "--baseline", "dense.txt"]) == 1
    assert "dense" in capsys.readouterr().out
