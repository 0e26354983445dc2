"""`gainboard gate` says whether a new run is worse; its exit code is the verdict's, and 2 for every error."""

import gzip
import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

import gainboard
from gainboard.cli import main
from gainboard.cli.commands import gate as command
from gainboard.errors import BadInput
from tests.cli.test_score import stored  # noqa: F401 (a fixture)
from tests.outside import outside
from tests.world.servers import ADMIN

WORSE = ["qrels.txt", "runs/civet.txt", "runs/otter.txt", "-mnDCG@10", "--margin", "0.01"]
NOT_WORSE = ["qrels.txt", "runs/otter.txt", "runs/civet.txt", "-mnDCG@10", "--margin", "0.01"]
OPEN = ["qrels.txt", "run.txt", "runs/egret.txt", "-mP@30", "--margin", "0.001"]


def gate(capsys, *arguments, code):
    assert main(["gate", *arguments]) == code
    return capsys.readouterr()


def as_json(capsys, *arguments, code):
    return json.loads(gate(capsys, *arguments, "-fjson", code=code).out)


def test_the_exit_code_is_the_verdict(folder, capsys):
    assert gate(capsys, *NOT_WORSE, code=0).out.startswith("civet.txt is not worse than otter.txt\n")
    assert gate(capsys, *WORSE, code=1).out.startswith("otter.txt is worse than civet.txt\n")
    said = gate(capsys, *OPEN, code=3).out
    assert said.startswith("cannot tell whether egret.txt is worse than run.txt\n")
    assert "12 topics show differences from " in said
    assert " topics would tell)" in said
    assert gate(capsys, *OPEN, "--cannot-tell", "pass", code=0).out == said
    gate(capsys, *OPEN, "--cannot-tell", "fail", code=1)
    gate(capsys, *WORSE, "--cannot-tell", "pass", code=1)


def test_a_run_that_is_worse_by_less_than_the_margin_is_not_worse(folder, capsys):
    said = gate(capsys, *WORSE[:-1], "0.9", code=0).out
    assert "nDCG(base=2,gains=linear)@10: not worse (worse by 0." in said
    assert ", within the margin of 0.9)" in said


def test_a_margin_may_be_a_share_of_the_old_mean(folder, capsys):
    by_share = as_json(capsys, *WORSE[:-1], "5%", code=1)["metrics"][0]
    assert by_share["margin"] == pytest.approx(0.05 * by_share["old"])
    assert as_json(capsys, *WORSE[:-1], str(by_share["margin"]), code=1)["metrics"][0] == by_share


TROUBLE = [
    [],
    ["qrels.txt", "run.txt", "runs/civet.txt"],  # no margin
    ["qrels.txt", "run.txt", "--margin", "0.01"],  # one run
    [*WORSE, "--all", "--any"],
    [*WORSE, "--no-such-option"],
    [*WORSE[:-1], "0"],
    [*WORSE[:-1], "-2%"],
    [*WORSE[:-1], "much"],
    ["absent.txt", *WORSE[1:]],
    [WORSE[0], "teams.csv", *WORSE[2:]],  # no run
    ["qrels.txt", "run.txt", "runs/civet.txt", "-mNoMetric", "--margin", "0.01"],
    ["qrels.txt", "run.txt", "runs/civet.txt", "-mAP(mean=geometric)", "--margin", "0.01"],
    ["qrels.txt", "run.txt", "--baseline", "absent.json", "--margin", "0.01"],
    ["qrels.txt", "run.txt", "--baseline", "qrels.txt", "--margin", "0.01"],
    ["qrels.txt", "run.txt", "--write-baseline", "no-such-folder/baseline.json"],
    ["run.txt", "--scores", "qrels.txt", "--margin", "0.01"],
    ["a", "b", "--scores", "iprob.txt", "--margin", "0.01", "--baseline", "c"],
    ["-c", "web", "--server", "http://127.0.0.1:9", "a", "b", "--margin", "0.01"],
]


@pytest.mark.parametrize("arguments", TROUBLE, ids=lambda words: " ".join(words[-3:]) or "nothing")
def test_every_error_ends_with_2(arguments, folder, capsys):
    try:
        code = main(["gate", *arguments])
    except SystemExit as error:  # argparse's own way
        code = error.code
    assert code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [RuntimeError("no such thing"), MemoryError(), OSError(28, "No space left on device")]
)
def test_unexpected_errors_end_with_2_and_with_1_under_other_commands(error, folder, capsys, monkeypatch):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(command, "score_files", fail)
    said = gate(capsys, *WORSE, code=2).err
    assert "No space left" in said if isinstance(error, OSError) else type(error).__name__ in said


def outside_of_here(folder, *arguments, **settings):
    words = [sys.executable, "-m", "gainboard", "gate", *arguments]
    return subprocess.Popen(words, cwd=folder, env=outside(), stderr=subprocess.PIPE, **settings)


@pytest.mark.outer
def test_a_reader_that_is_gone_and_a_module_that_cannot_be_imported_end_with_2(folder, tmp_path):
    with outside_of_here(folder, *WORSE, stdout=subprocess.PIPE) as process:
        process.stdout.close()
        process.stderr.read()
        assert process.wait(60) == 2
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("raise ImportError('broken')")
    (tmp_path / "numpy.py").write_text("raise ImportError('broken')")
    world = outside(PYTHONPATH=f"{tmp_path}:{outside()['PYTHONPATH']}")
    words = [sys.executable, "-m", "gainboard", "gate", *WORSE]
    done = subprocess.run(words, cwd=folder, env=world, capture_output=True, text=True, check=False)
    assert (done.returncode, "ImportError: broken" in done.stderr) == (2, True)


def test_a_baseline_stands_for_the_old_run(own_folder, capsys):
    metrics = ["-mnDCG@10", "-mAP", "-mP@5"]
    gate(capsys, "qrels.txt", "runs/civet.txt", *metrics, "--write-baseline", "baseline.json", code=0)
    by_files = as_json(capsys, "qrels.txt", "runs/civet.txt", "runs/otter.txt", *metrics, "--margin", "0.01", code=1)
    by_baseline = ["qrels.txt", "runs/otter.txt", "--baseline", "baseline.json", "--margin", "0.01"]
    assert as_json(capsys, *by_baseline, code=1)["metrics"] == by_files["metrics"]
    assert as_json(capsys, *by_baseline, *metrics[::-1], code=1)["metrics"] == by_files["metrics"][::-1]

    assert "metrics: 1 new (Q(beta=1,gains=linear)); metrics: 3 gone" in gate(capsys, *by_baseline, "-mQ", code=2).err
    qrels = (own_folder / "qrels.txt").read_text()
    (own_folder / "qrels.txt").write_text(qrels.replace(" 0\n", " 1\n", 1))
    assert "changed: judgments: the SHA-256 of qrels.txt was " in gate(capsys, *by_baseline, code=2).err
    (own_folder / "qrels.txt").write_text(f"{qrels}99 0 d00 1\n")
    assert "topics: 1 new (99)" in gate(capsys, *by_baseline, code=2).err


def test_a_baseline_of_packed_qrels_is_that_of_the_plain_ones(own_folder, capsys):
    (own_folder / "qrels.txt.gz").write_bytes(gzip.compress((own_folder / "qrels.txt").read_bytes()))
    gate(capsys, "qrels.txt.gz", "run.txt", "-mAP", "--write-baseline", "baseline.json", code=0)
    gate(capsys, "qrels.txt", "run.txt", "--baseline", "baseline.json", "--margin", "0.01", code=0)


def test_runs_of_a_server_have_the_verdict_of_their_files(stored, folder, capsys):  # noqa: F811
    metrics = ["-mnDCG@10", "-mAP", "--margin", "0.01"]
    by_files = as_json(capsys, "qrels.txt", "runs/civet.txt", "runs/otter.txt", *metrics, "--gains", "3:2:1", code=1)
    server = ["--server", str(stored.organiser.base_url), "--token", ADMIN]
    found = as_json(capsys, *server, "-cc", "civet.txt", "otter.txt", *metrics, "--gains", "3:2:1", code=1)
    for ours, theirs in zip(by_files["metrics"], found["metrics"], strict=True):
        for name, value in ours.items():
            equal = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            assert theirs[name] == equal if name != "losses" else len(theirs[name]) == len(value)


def test_a_metric_that_is_better_if_lower_is_worse_if_higher():
    scores = {"old": {str(topic): 0.2 for topic in range(30)}, "new": {str(topic): 0.3 for topic in range(30)}}
    assert gainboard.gate(scores=scores, old="old", new="new", margin=0.01).verdict == "not worse"
    found = gainboard.gate(scores=scores, old="old", new="new", margin=0.01, direction="down")
    assert (found.verdict, found.metrics[0].difference) == ("worse", pytest.approx(-0.1))


def test_topics_that_one_of_two_systems_lacks_are_left_out_and_counted():
    random = np.random.default_rng(1)
    old = {str(topic): value for topic, value in enumerate(random.random(60).tolist())}
    new = {topic: value - 0.05 + 0.1 * random.random() for topic, value in old.items()}
    whole = gainboard.gate(scores={"a": old, "b": new}, old="a", new="b", margin=0.05)
    assert (whole.metrics[0].topics, whole.metrics[0].resamples, whole.not_worse) == (60, 10_000, True)
    del old["0"], old["1"], new["2"]
    found = gainboard.gate(scores={"a": old, "b": new}, old="a", new="b", margin=0.05).metrics[0]
    assert (found.topics, found.left_out) == (57, ["0", "1", "2"])
    common = sorted(old.keys() & new.keys())
    assert found.old == pytest.approx(np.mean([old[topic] for topic in common]))
    with pytest.raises(BadInput, match="both runs have a score on 1 topics"):
        gainboard.gate(scores={"a": {"1": 1, "2": 1}, "b": {"2": 1, "3": 1}}, old="a", new="b", margin=0.05)


def test_so_many_topics_as_are_said_to_tell_have_the_power_that_is_promised():
    random = np.random.default_rng(5)
    old, change = random.random(30), random.normal(0, 0.1, 30)
    new = old + change - change.mean() - 0.01
    by_topic = [{str(topic): value for topic, value in enumerate(row.tolist())} for row in (old, new)]
    (found,) = gainboard.gate(scores={"a": by_topic[0], "b": by_topic[1]}, old="a", new="b", margin=0.04).metrics
    assert found.verdict == "cannot tell"
    effect = 0.03 / np.std(new - old, ddof=1)
    counts = (found.topics_needed, found.topics_needed - 1)
    enough, fewer = (TTestPower().power(effect, count, 0.05, alternative="larger") for count in counts)
    assert enough >= 0.8 > fewer


def test_the_command_takes_two_systems_of_a_file_of_scores(tmp_path, capsys):
    random = np.random.default_rng(4)
    rows = {"slow": random.random(20).tolist(), "fast": random.random(20).tolist(), "other": [0.5] * 20}
    lines = [f"system,{','.join(f't{topic}' for topic in range(20))}"]
    lines += [f"{name},{','.join(map(str, row))}" for name, row in rows.items()]
    (tmp_path / "ms.csv").write_text("\n".join(lines))
    options = ["--scores", str(tmp_path / "ms.csv"), "--margin", "0.5"]
    for direction in ("up", "down"):
        said = as_json(capsys, "slow", "fast", *options, "--direction", direction, code=0)
        by_topic = {name: {f"t{topic}": value for topic, value in enumerate(row)} for name, row in rows.items()}
        found = gainboard.gate(scores=by_topic, old="slow", new="fast", margin=0.5, direction=direction)
        ours, theirs = said["metrics"][0], json.loads(json.dumps(found.to_dict()))["metrics"][0]
        assert {**ours, "metric": ""} == {**theirs, "metric": ""}
    after = as_json(capsys, "--scores", str(tmp_path / "ms.csv"), "slow", "fast", "--margin", "0.5", code=0)
    assert (after["old"], after["new"]) == ("slow", "fast")
    assert "There are no scores of the system 'none'" in gate(capsys, "none", "fast", *options, code=2).err


def test_scores_of_any_size_have_the_same_verdict():
    random = np.random.default_rng(2)
    old, new = random.random(60), random.random(60)

    def found(unit):
        scores = {
            name: {str(topic): unit * value for topic, value in enumerate(row.tolist())}
            for name, row in (("a", old), ("b", new))
        }
        return gainboard.gate(scores=scores, old="a", new="b", margin="10%").metrics[0]

    one, large = found(1.0), found(2.0**40)
    assert (large.level_worse, large.level_not_worse) == (one.level_worse, one.level_not_worse)
    assert (large.low, large.detectable) == (one.low * 2.0**40, one.detectable * 2.0**40)


def test_every_form_has_every_verdict(folder, tmp_path, capsys, monkeypatch):
    asked = ["qrels.txt", "runs/civet.txt", "runs/otter.txt", "-mnDCG@10", "-mP@10", "--margin", "0.01"]
    found = as_json(capsys, *asked, code=1)
    assert [metric["verdict"] for metric in found["metrics"]] == ["worse", "cannot tell"]
    suite = ElementTree.fromstring(gate(capsys, *asked, "-fjunit", code=1).out.split("\n", 1)[1])
    cases = {case.get("name"): case.find("failure").get("type") for case in suite}
    assert cases == {metric["metric"]: metric["verdict"] for metric in found["metrics"]}
    assert suite.get("failures") == "2"
    passing = ElementTree.fromstring(
        gate(capsys, *asked, "-fjunit", "--cannot-tell", "pass", code=1).out.split("\n", 1)[1]
    )
    assert passing.get("failures") == "1"
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    annotations = gate(capsys, *asked, "-fgithub", "--cannot-tell", "pass", code=1).out.splitlines()
    assert [line.split(" ")[0] for line in annotations] == ["::error", "::notice"]
    markdown = gate(capsys, *asked, "-fmarkdown", code=1).out
    assert summary.read_text() == markdown
    assert markdown.startswith("### otter.txt is worse than civet.txt\n")
    lost = found["metrics"][0]["losses"]
    assert len(lost) == 5
    for topic, old, new, difference in lost:
        assert f"| {topic} | {old:.4f} | {new:.4f} | {difference:.4f} |" in markdown


def test_python_has_the_gate_of_the_command(folder, capsys):
    found = gainboard.gate("qrels.txt", "runs/civet.txt", "runs/otter.txt", ["nDCG@10", "AP"], margin=0.01)
    printed = as_json(capsys, *WORSE[:3], "-mnDCG@10", "-mAP", "--margin", "0.01", code=1)
    assert json.loads(json.dumps(found.to_dict()))["metrics"] == printed["metrics"]
    assert not found.not_worse
    assert "nDCG(base=2,gains=linear)@10: worse by" in str(found)
    assert found.to_pandas()["verdict"].tolist() == ["worse", "worse"]
    assert found.to_polars()["metric"].to_list() == found.columns()["metric"]
