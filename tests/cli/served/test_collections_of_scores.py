"""Commands about a collection of scores, which has no judgments."""

import pytest

from gainboard.cli import main

pytestmark = pytest.mark.outer


def test_no_caption_names_qrels_and_missing_bounds_are_said(campaign, folder, capsys):
    (folder / "scores.csv").write_text("run,topic,score\na,1,0.5\na,2,0.1\nb,1,0.4\n")
    assert main(["collection", "create", "models", "--kind", "scores"]) == 0
    assert main(["matrix", "put", "accuracy", "scores.csv", "-c", "models"]) == 0
    capsys.readouterr()
    for command in ("scores", "leaderboard"):
        assert main(f"{command} -c models --bounds".split()) == 0
        printed = capsys.readouterr()
        assert "note: --bounds has none for custom:accuracy(version=1): uploaded scores" in printed.err
        assert "qrels" not in printed.err
        assert main(f"{command} -c models -f latex".split()) == 0
        assert "qrels" not in capsys.readouterr().out
    assert main(["leaderboard", "-c", "models", "--bounds", "-f", "csv"]) == 1
    assert "no place for --bounds" in capsys.readouterr().err
    assert main(["scores", "-c", "models"]) == 0
    assert "topics left out of the run's mean because the run lacks them: b lacks 1" in capsys.readouterr().err
