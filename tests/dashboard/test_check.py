"""check.py of a release's folder: it runs by the standard library alone, agrees with the service, and finds changes."""

import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.outside import SOURCE
from tests.world.campaigns import Campaign
from tests.world.files import unpacked
from tests.world.servers import new_settings, serving

pytestmark = pytest.mark.outer  # it starts processes
FILE = SOURCE / "gainboard/dashboard/check.py"
METRICS = [
    *("AP", "AP(mean=geometric)", "Q", "Q(beta=10,gains=10:5:1,recall_base=cutoff)@5", "Rmeasure", "Rmeasure(rel=2)"),
    *("nDCG@5", "nDCG(base=2.5,gains=adjust(10:5:1))@7", "MSnDCG(gains=exp)@5", "MSnDCG(gains=linear)@1000000000"),
    *("ERR@5", "ERR(gains=exp,stop_scale=4)", "RBP", "RBP(p=0.5,gains=flat,rel=2)", "P@5", "P(rel=3)@1", "RR", "RR@2"),
    *("Q(condensed=true)", "AP(condensed=true)@3", "Q(gains=3:0:0)", "bpref"),
]
PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")


def interpreters():
    """Every Python from 3.8 on that is found. A shim of pyenv is none, because it may lead nowhere."""
    names = [f"python3.{minor}" for minor in range(8, 30)]
    there = {path for name in names for path in (shutil.which(name), *PYENV.glob(f"versions/*/bin/{name}")) if path}
    return sorted({str(path) for path in there if Path(path).parent.name != "shims"} | {sys.executable})


def hostile_qrels(drawn):
    """Judgments with levels below 0, topics without a relevant document, and ids that sort by bytes alone."""
    levels = {topic: [-2, -1, 0, 0, 0, 1, 2, 3] for topic in ("1", "=2", "ü", "10", "é́")} | {"nothing": [0, -1]}
    return "".join(
        f"{topic} 0 {document} {drawn.choice(chosen)}\n"
        for topic, chosen in levels.items()
        for document in ("d1", "d10", "D2", "ß", "z#", "zz", "~", "é", "文")
        if drawn.random() < 0.8
    )


def hostile_run(drawn, tag):
    """A run in no order, with ties in single precision, unjudged documents, other topics and comments."""
    lines = ["\ufeff# written by hand"]
    for topic in drawn.sample(["1", "=2", "ü", "10", "é́", "nothing", "unknown"], 6):
        for rank, document in enumerate(
            drawn.sample(["d1", "d10", "D2", "ß", "z#", "zz", "~", "文", "new", "er"], 8), 1
        ):
            score = drawn.choice(["1", "1.00000001", "2e2", "-.5", "1e300", "-1e300", repr(drawn.random())])
            lines.append(f"{topic}\tQ0 {document}  {rank} {score} {tag}")
    return "\r\n".join([*lines, "", ""])


def frozen(campaign, folder, **settings):
    campaign.organiser.patch(campaign.path, json={"policy": {"phase": "released"}}).raise_for_status()
    made = campaign.organiser.post(f"{campaign.path}/releases", json=settings)
    assert made.status_code == 201, made.text
    return unpacked(campaign.organiser.get(f"{campaign.path}/releases/1/archive").raise_for_status().content, folder)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        yield service


@pytest.fixture(scope="module")
def hostile(service, tmp_path_factory):
    """The folder of a release of hostile files, by the order of runs."""

    @cache
    def hostile(order_by):
        drawn = random.Random(order_by)
        campaign = Campaign(service, levels=3, gains="3:2:1", depth=7, order_by=order_by)
        campaign.put_qrels(hostile_qrels(drawn)).raise_for_status()
        for number in range(5):
            campaign.submit(hostile_run(drawn, f"run-{number}")).raise_for_status()
        return frozen(campaign, tmp_path_factory.mktemp("folder"), metrics=METRICS)

    return hostile


@pytest.fixture
def folder(hostile, tmp_path):
    return shutil.copytree(hostile("score"), tmp_path / "folder")


def check(folder, python=sys.executable):
    done = subprocess.run(
        [python, "-I", "-S", str(folder / "check.py")], capture_output=True, text=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout, done.stderr


def sign_again(folder):
    """Writes SHA256SUMS anew, as whoever changes a folder can."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    sums = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in files
    )
    (folder / "SHA256SUMS").write_text("".join(sums))


def rewrite(folder, change):
    document = json.loads((folder / "data/release.json").read_text())
    change(document)
    (folder / "data/release.json").write_text(json.dumps(document))
    sign_again(folder)


def test_it_is_one_short_file_in_the_grammar_of_python_3_8_that_needs_nothing():
    text = FILE.read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert len(text.splitlines()) <= 400
    assert {name.partition(".")[0] for name in imported} <= set(sys.stdlib_module_names)
    assert "SPDX-License-Identifier: MIT" in text


@pytest.mark.parametrize("order_by", ["score", "score32", "rank"])
def test_hostile_files_give_the_numbers_of_the_service_by_every_interpreter(hostile, order_by):
    for python in interpreters():
        code, out, err = check(hostile(order_by), python)
        assert (code, err) == (0, ""), (python, out)
        assert "Scores of 5 runs on 6 topics: AP, AP(mean=geometric), Q(" in out
        assert out.count("Not computed again") == 1
        assert out.endswith("none differ.\n")


def test_each_kind_of_change_is_found_by_whoever_signs_it_again(folder):
    def better(document):
        scores = document["scores"]["AP"]["run-0"]
        at = next(number for number, score in enumerate(scores) if score is not None)
        scores[at] += 1e-6

    table = folder / "data/scores.csv"
    table.write_text(table.read_text().replace("run-1", "run-2", 1))
    sign_again(folder)
    code, out, _ = check(folder)
    assert (code, "data/scores.csv, line: " in out, out.endswith(", and 1 differ.\n")) == (1, True, True)
    rewrite(folder, better)
    code, out, _ = check(folder)
    assert code == 1
    assert "AP of run-0: " in out
    assert "means of run-0 by AP: AP: " in out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda release: release["boards"][0]["rows"][0].update(rank=2), "rank of run-"),
        (lambda release: release["boards"][0]["rows"].pop(), "the runs by AP"),
        (lambda release: release["scores"]["AP"]["run-0"].pop(), "AP of run-0: "),
        (lambda release: release["runs"][0].update(sha256="0" * 64), "SHA-256 in data/release.json: data/runs/"),
        (lambda release: release["topics"].remove("1"), "the topics: "),
        (lambda release: release["settings"].update(order_by="rank", highest_level=2), " of run-"),
    ],
)
def test_a_changed_document_is_told(folder, change, said):
    rewrite(folder, change)
    code, out, _ = check(folder)
    assert (code, said in out) == (1, True), out


def test_a_changed_run_and_a_file_that_nobody_listed_differ(folder):
    run = folder / "data/runs/run-0.txt"
    run.write_text(run.read_text().replace(" 1 ", " 99 "))
    (folder / "more.txt").write_text("more")
    code, out, _ = check(folder)
    assert code == 1
    assert "SHA-256: more.txt: nothing is stored" in out
    assert "SHA-256: data/runs/run-0.txt: " in out
    assert "SHA-256 in data/release.json: data/runs/run-0.txt: " in out


def test_files_that_it_does_not_know_are_hashed_and_no_more(folder):
    assert (folder / "check.py").read_bytes() == FILE.read_bytes()
    (folder / "data/memberships.json").write_text("{")
    sign_again(folder)
    assert check(folder)[0] == 0


def test_what_is_no_release_cannot_be_read(folder):
    for name, content in (("data/release.json", '{"scores": ['), ("data/release.json", "[]"), ("SHA256SUMS", "x\n")):
        kept = (folder / name).read_text()
        (folder / name).write_text(content)
        code, _, err = check(folder)
        assert (code, f"cannot be read as a release: {name} is not as a release has it (" in err) == (2, True)
        (folder / name).write_text(kept)
    (folder / "SHA256SUMS").unlink()
    assert check(folder)[0] == 2


def test_a_folder_without_runs_has_its_hashes_checked_and_says_so(service, tmp_path):
    campaign = Campaign(service)
    campaign.put_qrels().raise_for_status()
    campaign.submit().raise_for_status()
    folder = frozen(campaign, tmp_path / "folder", metrics=["AP"], run_files=False)
    code, out, _ = check(folder)
    assert (code, "scores of 1 runs, which have no file here" in out) == (0, True)
    assert "Scores of" not in out


def test_scores_of_systems_are_means_of_their_replicates(service, tmp_path):
    campaign = Campaign(service)
    campaign.put_qrels("1 0 a 1\n2 0 b 1\n3 0 c 1\n").raise_for_status()
    runs = ("1 Q0 a 1 9 s1\n2 Q0 x 1 9 s1\n2 Q0 b 2 8 s1\n", "1 Q0 x 1 9 s2\n1 Q0 a 2 8 s2\n", "3 Q0 c 1 9 alone\n")
    for number, (run, told) in enumerate(zip(runs, ("dense", "dense", None), strict=True)):
        more = {"system": told, "replicate": str(number)} if told else {}
        campaign.submit(run, **more).raise_for_status()
    folder = frozen(campaign, tmp_path / "folder", metrics=["AP"])
    assert check(folder)[0] == 0

    def better(document):
        document["scores"]["AP"]["dense"][0] = 0.5

    rewrite(folder, better)
    code, out, _ = check(folder)
    assert (code, "AP of dense: 1: 0.5 is stored, and 0.75 was computed" in out) == (1, True), out


def test_named_levels_three_columns_and_scores_from_elsewhere_agree(service, tmp_path):
    named = Campaign(service, levels=["B", "A", "S"], topics=["1", "2"], ignore_identical_ids=True)
    named.put_qrels("1 S a 1\n1 C b 0\n2 B 1 1\n2 L2 2 1\n3 A a 1\n").raise_for_status()
    named.submit("1 1 9\n1 b 5\n1 a 4.5\n2 2 7\n2 1 3\n3 a 1\n", name="three").raise_for_status()
    assert check(frozen(named, tmp_path / "named", metrics=["Q", "nDCG@3"]))[0] == 0
    alone = Campaign(service, kind="scores", levels=None)
    matrix = "run,a,-b\nx,0.5,1\ny,,0.25\n"
    query = {"missing": "leave-out", "direction": "down"}
    alone.organiser.put(f"{alone.path}/score-matrices/accuracy", content=matrix, params=query).raise_for_status()
    code, out, _ = check(frozen(alone, tmp_path / "alone"))
    assert (code, "Not computed again: custom:accuracy(version=1)" in out) == (0, True), out


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        ("trec", "1 0 a 2\n1 0 b 0\n@attributes gender nominal 0.5 0.5\n1 a 1 0\n1 b 0.5 0.5\n"),
        ("trec-stratum", "1 0 a 1 2\n1 0 c 2 -1\n1 0 b 2 0\n"),
    ],
)
def test_memberships_and_strata_are_no_judgments(columns, lines, tmp_path):
    path = tmp_path / "data" / "qrels" / "official-1.txt"
    path.parent.mkdir(parents=True)
    path.write_text(lines)
    (tmp_path / "data/release.json").write_text('{"scores": {}, "settings": {"highest_level": 3, "level_names": null}}')
    code = "import check, sys; from pathlib import Path; folder = check.FolderCheck(Path(sys.argv[1]));"
    version = {"judgments": "official", "version": 1, "columns": columns}
    code += f"print(folder.read_judgments({version}))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, cwd=FILE.parent)
    assert (done.stdout, done.stderr) == ("{b'1': {b'a': 2, b'b': 0}}\n", "")
