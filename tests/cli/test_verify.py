"""`gainboard verify`: an exported result is computed again from files, on a machine that has nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gainboard.cli import main

pytestmark = pytest.mark.outer
FILES = ["--qrels", "qrels.txt", "--runs", "run.txt", "runs/*"]


@pytest.fixture(scope="module")
def exported(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a job over a chosen group of topics, exported from a service that is gone."""
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("exported")
    fewer = "".join(line for line in (prepared / "qrels.txt").read_text().splitlines(True) if " d07 " not in line)
    (folder / "fewer.txt").write_text(fewer)
    with LocalGainboard() as gainboard:
        gainboard.create_collection("web", 3, gains="3:2:1", depth=20)
        gainboard.put_qrels("web", "other 0 d 1\n")
        gainboard.put_qrels("web", prepared / "qrels.txt")
        gainboard.put_qrels("web", folder / "fewer.txt")
        gainboard.put_topic_group("web", "most", [str(number) for number in range(1, 10)])
        for path in (prepared / "run.txt", *sorted((prepared / "runs").iterdir())):
            gainboard.submit("web", path, team="lemur", name=f"as-{path.stem}", type="automatic")
        for name, kind, params in (
            (
                "result",
                "stability",
                {"metrics": ["Q", "AP"], "trials": 50, "topics": "most", "type": "automatic", "qrels": 2},
            ),
            ("versions", "judgments", {"qrels": 3, "against": 2}),
            ("pool", "pool", {"depth": 5}),
        ):
            job = gainboard.job("web", kind, **params)
            job.wait()
            (folder / name).mkdir()
            (folder / name / "result.json").write_text(json.dumps(job.result_json()))
            (folder / name / "depends_on.json").write_text(json.dumps(job.dependencies()))
    return folder


@pytest.mark.parametrize("name", ["result", "pool"])
def test_a_result_is_identical_elsewhere(name: str, exported: Path, folder: Path, capsys: Any) -> None:
    assert main(["verify", str(exported / name / "result.json"), *FILES]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out == "identical\n"


def test_a_result_about_two_versions_needs_both(exported: Path, folder: Path, capsys: Any) -> None:
    result = str(exported / "versions/result.json")
    assert main(["verify", result, *FILES]) == 1
    said = capsys.readouterr().err
    assert "1 of 2 judgments are not among the files, such as version 3 of official with the SHA-256" in said
    both = ["--qrels", "qrels.txt", str(exported / "fewer.txt"), *FILES[2:]]
    assert main(["verify", result, *both]) == 0, capsys.readouterr().err


def test_what_differs_is_named_and_other_versions_are_not_compared(
    exported: Path, folder: Path, tmp_path: Path, capsys: Any
) -> None:
    result, depended = (json.loads((exported / f"result/{name}.json").read_text()) for name in ("result", "depends_on"))
    result["topics"] += 1
    file, beside = tmp_path / "result.json", tmp_path / "depends_on.json"
    file.write_text(json.dumps(result))
    assert main(["verify", str(file), *FILES]) == 1
    assert f"There is no file {beside}" in capsys.readouterr().err
    beside.write_text(json.dumps(depended))
    assert main(["verify", str(file), *FILES]) == 1
    out, err = capsys.readouterr()
    assert out == "different: 1 value differs by more than 1e-12 relative\n"
    assert err == f"topics: {result['topics']} in the file, {result['topics'] - 1} computed\n"
    beside.write_text(json.dumps(depended | {"engine_version": 2}))
    assert main(["verify", str(file), *FILES]) == 1
    assert capsys.readouterr().out.startswith("made by engine version 2 (here ")
    file.write_text("[]")
    assert main(["verify", str(file), *FILES]) == 1
    assert "is no result of a job" in capsys.readouterr().err
