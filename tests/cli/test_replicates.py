"""Replicates in the names of run files: `dense@1.txt` and `dense@2.txt` are of the system `dense`."""

import json
import shutil

import pytest

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
