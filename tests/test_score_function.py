"""`gainboard.score`: files, frames and dictionaries, scored as `gainboard score` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gainboard
from gainboard.errors import BadExpression, BadInput, FaultyFile
from tests.api.campaign import QRELS, RUN, WORSE
from tests.cli.shells import Shell


def by_topic(text: str, value: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        words = line.split()
        found.setdefault(words[0], {})[words[2]] = float(words[value])
    return found


def test_files_frames_and_dictionaries_have_the_scores_of_the_command(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "runs").mkdir()
    for name, run in (("run", RUN), ("worse", WORSE)):
        (tmp_path / "runs" / f"{name}.txt").write_text(run)
    shell = Shell(tmp_path)
    done = shell.run("gainboard score qrels.txt runs/run.txt runs/worse.txt -m Q -m nDCG@10 --gains 3:1 -q -f json")
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    qrels, runs = by_topic(QRELS, 3), {"run": by_topic(RUN, 4), "worse": by_topic(WORSE, 4)}
    columns = ["qid", "docno", "score"]
    frames = {
        name: pandas.DataFrame([(t, d, v) for t, own in run.items() for d, v in own.items()], columns=columns)
        for name, run in runs.items()
    }
    given: list[tuple[Any, Any]] = [
        (tmp_path / "qrels.txt", tmp_path / "runs"),
        (tmp_path / "qrels.txt", [str(tmp_path / "runs/*.txt")]),
        (QRELS, {"run": RUN.encode(), "worse": WORSE}),
        (qrels, runs),
        (qrels, frames),
    ]
    for judged, each in given:
        found = gainboard.score(judged, each, ["Q", "nDCG@10"], gains="3:1")
        assert list(found.runs) == ["run", "worse"]
        assert list(found.metrics) == printed["metrics"]
        assert [*found.to_dict().values()] == [run["mean"] for run in printed["runs"]]
        wide = found.to_pandas(topics=True)
        for name, run in zip(found.runs, printed["runs"], strict=True):
            for label in found.metrics:
                for topic, value in run["topics"][label].items():
                    np.testing.assert_equal(wide.loc[(name, topic), label], np.nan if value is None else value)


def test_what_cannot_be_scored_is_refused_with_what_would_be() -> None:
    assert {"score", "FileScores"} <= set(dir(gainboard))
    one = {"1": {"a": 1.0}}
    refusals: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (BadInput, "no parameter 'gain'. Available: .*gains", {"gain": "3"}),
        (BadInput, "No topic of the run 'run-1' is judged, such as '2'", {"runs": {"2": {"a": 1.0}}}),
        (BadInput, "Cannot read absent.txt", {"runs": "absent.txt"}),
        (BadInput, "no run to score", {"runs": []}),
        (BadExpression, "Nonsense", {"metrics": ["Nonsense"]}),
        (FaultyFile, "line 1|fault", {"qrels": "1 0 a x\n"}),
    ]
    for kind, why, given in refusals:
        with pytest.raises(kind, match=why):
            gainboard.score(**({"qrels": one, "runs": one} | given))
