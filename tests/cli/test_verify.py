"""`gainboard verify`: an exported result is computed again from files, on a machine that has nothing else."""

import json
import shutil

import pytest

from gainboard.cli import main
from gainboard.cli.jobs import write_files

pytestmark = pytest.mark.outer
REPORT = "q-measure-appendix"
FILES = ["--qrels", "qrels.txt", "--runs", "run.txt", "runs/*"]


@pytest.fixture(scope="module")
def exported(prepared, tmp_path_factory):
    """Results of a service that is gone: over a chosen group of topics, over two orders, of uploaded scores, and so on.

    `odd.txt` is a run whose ranks are not the order of its scores.
    """
    from gainboard.client.gainboard import LocalGainboard  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("exported")
    fewer = "".join(line for line in (prepared / "qrels.txt").read_text().splitlines(True) if " d07 " not in line)
    (folder / "fewer.txt").write_text(fewer)
    (folder / "odd.txt").write_text(
        "".join(f"{topic} Q0 d{place:02} {20 - place} {20 - place} odd\n" for topic in "123" for place in range(20))
    )
    with LocalGainboard() as gainboard:
        gainboard.create_collection("web", 3, gains="3:2:1", depth=20)
        gainboard.put_qrels("web", "other 0 d 1\n")
        gainboard.put_qrels("web", prepared / "qrels.txt")
        gainboard.put_qrels("web", folder / "fewer.txt")
        gainboard.put_topic_group("web", "most", [str(number) for number in range(1, 10)])
        for path in (prepared / "run.txt", *sorted((prepared / "runs").iterdir()), folder / "odd.txt"):
            gainboard.submit("web", path, team="lemur", name=f"as-{path.stem}", type="automatic")
        for low in (0, -1):
            gainboard.put_score_matrix(
                "web", "nuggets", b"topic,as-civet,as-otter\n1,0.125,0.5\n2,0.25,1e-1\n", low=low, high=1
            )
        order = gainboard.job("web", "rejudge", order_by="rank")
        order.wait()
        two = [{"metric": "AP", "qrels": version} for version in (3, 4)]
        few = {"metrics": ["Q", "AP"], "trials": 50, "topics": "most", "type": "automatic", "qrels": 2}
        for name, kind, params in (
            ("result", "stability", few),
            ("versions", "judgments", {"qrels": 3, "against": 2}),
            ("pool", "pool", {"depth": 5}),
            ("orders", "rank-correlation", {"metrics": two, "against": "AP (qrels 3)"}),
            ("scores", "rank-correlation", {"metrics": ["custom:nuggets", "AP"], "runs": ["as-civet", "as-otter"]}),
        ):
            job = gainboard.job("web", kind, **params)
            job.wait()
            write_files(job, folder / name)
        report = gainboard.report(REPORT, "web", topics="most")
        report.wait()
        write_files(report, folder / "report")
    return folder


@pytest.mark.parametrize("name", ["versions", "pool", "orders", "report"])
def test_a_result_is_identical_elsewhere(name, exported, folder, capsys):
    both = ["--qrels", "qrels.txt", str(exported / "fewer.txt"), *FILES[2:], str(exported / "odd.txt")]
    assert main(["verify", str(exported / name / "result.json"), *both]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out == "identical\n"


def test_orders_differ_and_scores_are_needed(exported, folder, tmp_path, capsys):
    """What makes the test above worth something."""
    orders = json.loads((exported / "orders/depends_on.json").read_text())["qrels"]
    assert {each["version"]: each["order_by"] for each in orders} == {3: "score", 4: "rank"}
    (alone := tmp_path / "alone").mkdir()
    for name in ("result.json", "depends_on.json"):
        (alone / name).write_bytes((exported / "scores" / name).read_bytes())
    both = [str(exported / "fewer.txt"), *FILES[2:], str(exported / "odd.txt")]
    assert main(["verify", str(alone), "--qrels", *both]) == 1
    said = capsys.readouterr().err
    assert "1 of 1 score matrices as CSV are not among the files, such as version 2 of nuggets" in said
    scores = str(exported / "scores/score-matrix-nuggets-2.csv")
    assert main(["verify", str(alone), "--qrels", *both, "--scores", scores]) == 0, capsys.readouterr().err


def test_what_differs_is_named_and_other_versions_are_not_compared(exported, folder, tmp_path, capsys):
    result, depended = (json.loads((exported / f"result/{name}.json").read_text()) for name in ("result", "depends_on"))
    result["topics"] += 1
    file, beside = tmp_path / "result.json", tmp_path / "depends_on.json"
    file.write_text(json.dumps(result))
    assert main(["verify", str(file), *FILES]) == 1
    assert f"There is no file {beside}" in capsys.readouterr().err
    beside.write_text(json.dumps(depended))
    assert main(["verify", str(file), *FILES, str(exported / "odd.txt")]) == 1
    out, err = capsys.readouterr()
    assert out == "different: 1 value differs by more than 1e-12 relative\n"
    assert err == f"topics: {result['topics']} in the file, {result['topics'] - 1} computed\n"
    beside.write_text(json.dumps(depended | {"engine_version": 2}))
    assert main(["verify", str(file), *FILES]) == 1
    assert capsys.readouterr().out.startswith("stability: made by engine version 2 (here ")
    file.write_text("[]")
    assert main(["verify", str(file), *FILES]) == 1
    assert "is no object of JSON" in capsys.readouterr().err


def test_tables_figures_and_the_page_beside_a_result_are_compared(exported, folder, tmp_path, capsys):
    own = tmp_path / "scores"
    shutil.copytree(exported / "scores", own)
    both = ["--qrels", str(exported / "fewer.txt"), *FILES[2:], str(exported / "odd.txt")]
    assert main(["verify", str(own), *both]) == 0, capsys.readouterr().err
    out, err = capsys.readouterr()
    assert out == "identical\n"
    names = sorted(path.name for path in own.iterdir() if path.suffix in (".csv", ".tex", ".svg", ".html"))
    tables = [name for name in names if not name.startswith("score-matrix-")]
    assert sorted(line.partition(": ")[0] for line in err.splitlines() if line.endswith(": identical")) == tables
    for name in tables:
        content = (own / name).read_bytes()
        (own / name).write_bytes(content[:-4] + b"x" + content[-3:])
    (own / "more.csv").write_text("a,b\n")
    assert main(["verify", str(own), *both]) == 1
    out, err = capsys.readouterr()
    assert out == "identical\n"
    assert {line.partition(": ")[0] for line in err.splitlines() if ": differs: line " in line} == set(tables)
    assert "more.csv: not compared, because it is no table or figure of the result" in err
