"""`gainboard score` in processes of its own, and beside trec_eval on real runs."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from gainboard.metrics import every_metric
from gainboard.metrics.names import is_pinned
from tests import real
from tests.cli.shells import Shell
from tests.cli.terminals import in_terminal
from tests.cli.test_score import score
from tests.outside import outside

pytestmark = pytest.mark.outer


def gainboard(*arguments, **options):
    environment = outside(**options.pop("environment", {}))
    whole = {"capture_output": True, **options}
    return subprocess.run(
        [sys.executable, "-m", "gainboard", *arguments], env=environment, text=True, check=False, **whole
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is always full here")
def test_a_full_disk_is_told_of_and_nothing_else(folder):
    with open("/dev/full", "w") as full:
        done = gainboard(
            "score", "qrels.txt", "run.txt", "--quiet", capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert (done.returncode, done.stderr) == (1, "gainboard: Cannot write: No space left on device.\n")


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_give_what_one_gives(start, folder):
    runs = ["runs/civet.txt", "runs/egret.txt", "runs/otter.txt", "run.txt", "qrels.txt"]
    code = (
        "import multiprocessing, sys; from gainboard.cli import main, parallel; "
        f"multiprocessing.set_start_method({start!r}); parallel.WORTH_PROCESSES = int(sys.argv[1]); "
        f"raise SystemExit(main({['score', 'qrels.txt', *runs, '-q', '-mADM', '-mQ', '-fjson']!r}))"
    )
    one, several = (
        subprocess.run([sys.executable, "-c", code, worth], env=outside(), capture_output=True)
        for worth in (str(1 << 60), "0")
    )
    assert one.returncode == several.returncode == 1, several.stderr
    assert several.stdout == one.stdout
    assert several.stderr == one.stderr


@pytest.mark.parametrize(("environment", "is_marked"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_the_best_is_bold_on_a_terminal_alone(environment, is_marked, folder):
    line = ("score", "qrels.txt", "run.txt", "runs/civet.txt", "-mAP")
    code, seen = in_terminal(line, **environment)
    assert (code, seen.count("\033[1m")) == (0, is_marked)
    assert "\033" not in Shell(folder, TERM="xterm", **environment).run(f"gainboard {' '.join(line)}").out


def real_files():
    return real.folder() / "qrels.dl19-passage.txt", sorted((real.folder() / "runs").glob("*.gz"))


OF_ITS_OWN = {"gm_map", "gm_bpref", "11pt_avg"}
"""trec_eval 9 prints logarithms by topic for geometric means, and rounds recall points otherwise than version 10."""


def test_trec_eval_itself_gives_the_same_figures_for_37_real_runs(capsys):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, runs = real_files()
    assert len(runs) == 37
    names = [alias for metric in every_metric() for alias in metric.aliases if is_pinned(alias)]
    known = [name for name in names if name.removesuffix("_l") in pytrec_eval.supported_measures - OF_ITS_OWN]
    cut = {name.removesuffix("_l"): name.endswith("_l") for name in known}
    words = [f"{name}.5,10,100" if is_cut else name for name, is_cut in cut.items()]
    assert {"map", "P", "ndcg_cut", "recall", "recip_rank"} <= cut.keys()
    eleven_points = "AP11pt(rounding=trec_eval9)"
    asked = " ".join([*words, eleven_points])
    score(*map(str, runs), "-q", "-m", asked, "-f", "trec_eval", "--order-by", "score32", qrels=str(qrels))
    ours = blocks(capsys.readouterr().out)
    with qrels.open() as file:
        levels = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(levels, {*words, "11pt_avg"})
    for path, figures in zip(runs, ours, strict=True):
        with gzip.open(path, "rt") as file:
            theirs = evaluator.evaluate(pytrec_eval.parse_run(file))
        by_name = {(name, topic): f"{value:.4f}" for topic, row in theirs.items() for name, value in row.items()}
        for name in {name for name, _ in by_name}:
            by_name[name, "all"] = f"{sum(row[name] for row in theirs.values()) / len(theirs):.4f}"
        compared = {
            ({"11pt_avg": eleven_points}.get(name, name), topic): value for (name, topic), value in by_name.items()
        }
        assert {key: figures.get(key) for key in compared} == compared, path.name


def blocks(text):
    found = [{}]
    previous = ""
    for line in text.splitlines():
        name, topic, value = line.split("\t")
        if previous == "all" != topic:
            found.append({})
        previous = topic
        found[-1][name.strip(), topic] = value
    return found
