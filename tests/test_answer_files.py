"""Boards of answers from files alone: the same scores as those of the service, from one command."""

import json

import numpy as np
import pytest

import gainboard
from gainboard.errors import BadInput, FaultyFile
from tests.api.test_answers import TEXTS, assigned, cited, nuggets

TOPICS = list(TEXTS)


@pytest.fixture
def files(tmp_path):
    """Two files of two judges' runs, of which the second answers half of the topics."""
    (tmp_path / "nuggets.jsonl").write_text(nuggets())
    (tmp_path / "a.jsonl").write_text(assigned("210", "a") + cited("a", [["full", "none"]], TOPICS[:2]))
    (tmp_path / "b.jsonl").write_text(assigned("222", "b", TOPICS[:4]))
    return tmp_path


def test_a_board_of_answers_needs_two_names(files):
    board = gainboard.leaderboard(scores=[files / "a.jsonl", files / "b.jsonl"], nuggets=files / "nuggets.jsonl")
    assert board.by == "nuggets:vital_strict"
    assert [(row.run, row.means[board.by]) for row in board.rows] == [("a", 0.5), ("b", 0.5)]
    by_name = {row.run: row.means for row in board.rows}
    assert by_name["a"]["nuggets:vital"] == 0.75
    # Support is over the topics that were judged, and a run without verdicts on citations has none.
    assert by_name["a"]["support:precision"] == 0.5
    assert np.isnan(by_name["b"]["support:precision"])
    assert "4 of 8 topics have no answer of b, which scores 0 there." in board.notes


def test_two_files_may_not_judge_one_answer(files):
    (files / "again.jsonl").write_text(assigned("000", "b", TOPICS[:1]))
    with pytest.raises(BadInput, match=r"Topic '1' of run 'b' is in .*again.jsonl and in another file"):
        gainboard.leaderboard(scores=[files / "b.jsonl", files / "again.jsonl"], nuggets=files / "nuggets.jsonl")


def test_faults_name_their_file_and_strays_may_count(files):
    (files / "b.jsonl").write_text(
        assigned("222", "b").replace("partial_support", "failed").replace('"support"', '"x"')
    )
    with pytest.raises(FaultyFile) as refused:
        gainboard.leaderboard(scores=files / "b.jsonl", nuggets=files / "nuggets.jsonl")
    assert {fault.file for fault in refused.value.faults} == {str(files / "b.jsonl")}
    board = gainboard.leaderboard(scores=files / "b.jsonl", nuggets=files / "nuggets.jsonl", stray="count")
    assert [row.means["nuggets:all"] for row in board.rows] == [0.0]


def test_answers_without_nuggets_say_what_is_missing(files):
    with pytest.raises(FaultyFile, match="Verdicts need their nuggets, too"):
        gainboard.leaderboard(scores=files / "a.jsonl")


def test_people_correct_a_model_on_files(files):
    random = np.random.default_rng(4)
    texts = {f"t{number}": ["river", "bridge", "tower"] for number in range(60)}
    (files / "nuggets.jsonl").write_text(nuggets(texts))
    runs = {"low": 0.3, "high": 0.8}
    for name, topics in (("model", list(texts)), ("people", list(texts)[:30])):
        lines = [
            assigned(f"{2 * (random.random() < ability)}20", run, [topic], texts)
            for run, ability in runs.items()
            for topic in topics
        ]
        (files / f"{name}.jsonl").write_text("".join(lines))
    options = {"nuggets": files / "nuggets.jsonl", "corrected_by": files / "people.jsonl"}
    board = gainboard.leaderboard(scores=files / "model.jsonl", metrics=["nuggets:vital_strict"], **options)
    assert board.notes
    assert json.dumps([row.run for row in board.rows]) == '["high", "low"]'
