"""A service of one process: what is loaded into it, and what is left when it ends."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import ir_measures
import pytest

from gainboard.client import Gainboard
from gainboard.errors import BadInput
from tests.outside import outside
from tests.waiting import until
from tests.world.benches import is_there

QRELS = {"1": {"good": 2, "fair": 1, "bad": 0}, "2": {"good": 1}}
RUNS = {"lemur": {"1": {"good": 2.5, "bad": 1}, "2": {"bad": 1}}, "otter": {"1": {"bad": 2}, "2": {"good": 1}}}


@pytest.fixture(scope="module")
def local():
    with Gainboard.local(job_slots=1) as made:
        yield made


def frame(rows, *names):
    pandas = pytest.importorskip("pandas")
    cells = [(topic, document, value) for topic, own in rows.items() for document, value in own.items()]
    return pandas.DataFrame(cells, columns=list(names))


def test_dictionaries_frames_and_files_are_the_same_runs(local, tmp_path):
    for number, folder in enumerate(("badger", "civet")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.txt").write_text(f"1 Q0 good 1 {2 - number} tag\n2 Q0 bad 1 1 tag\n")
    found = {
        "dictionaries": local.load("dictionaries", QRELS, RUNS),
        "ir_measures": local.load(
            "ir_measures",
            frame(QRELS, "query_id", "doc_id", "relevance"),
            {name: frame(run, "query_id", "doc_id", "score") for name, run in RUNS.items()},
        ),
        "pyterrier": local.load(
            "pyterrier",
            frame(QRELS, "qid", "docno", "label"),
            {name: frame(run, "qid", "docno", "score").assign(rank=0) for name, run in RUNS.items()},
        ),
    }
    assert {tuple(each.runs) for each in found.values()} == {("lemur", "otter")}
    boards = [local.leaderboard(name, metrics=["Q", "AP"]).rows for name in found]
    assert boards[0] == boards[1] == boards[2]
    loaded = local.load("files", QRELS, tmp_path / "*" / "run.txt", {"faulty": b"1 Q0\n"})
    assert (loaded.runs, list(loaded.refused)) == (["run", "civet-run"], ["faulty"])
    assert [run.team for run in local.runs("files")] == ["civet", "badger"]


def test_what_score_takes_is_loaded(local, tmp_path):
    (tmp_path / "file.run").write_text("#1 Q0 b 1 1 t\n1 Q0 a 1 1 t\n")
    qrels = [ir_measures.Qrel("#1", "a", 1), ir_measures.Qrel("1", "a", 1)]
    scored = [ir_measures.ScoredDoc("#1", "b", 2.0), ir_measures.ScoredDoc("#1", "a", 1.0)]
    runs = [[tmp_path, scored], {"named": iter(scored), "faulty": {"1": {"a": None}}}, iter(scored)]
    loaded = local.load("lists", iter(qrels), *runs)
    assert loaded.runs == ["file", "run-2", "named", "run-5"]
    assert str(loaded.refused["faulty"]).startswith("The run 'faulty', topic '1', document 'a': score None")
    means = {run.name: run.mean["AP"] for run in local.scores("lists", ["AP"]).runs}
    assert means == {"file": 0.5, "run-2": 0.25, "named": 0.25, "run-5": 0.25}
    for wrong in ({"1": {"a": 0.5}}, {"1": {None: 1}}, {None: {"a": 1}}):
        with pytest.raises(BadInput, match="The qrels"):
            local.load("rounded", wrong, scored)
    assert "rounded" not in [each.name for each in local.collections()]


def test_arguments_of_another_locale_are_sent_as_utf8(local):
    # So Python has the bytes of an argument that an ASCII locale cannot read.
    title = "\u00c9t\u00e9".encode().decode("ascii", "surrogateescape")
    assert local.create_collection("summer", 1, title=title).title == "\u00c9t\u00e9"
    with pytest.raises(BadInput, match="cannot be sent"):
        local.create_collection("x", 1, title="\ud800")
    with pytest.raises(BadInput, match="cannot be sent"):
        local.collection("\udcff")


def test_what_is_no_table_is_refused_with_what_would_be(local):
    for given, why in (
        (frame(QRELS, "query", "doc_id", "relevance"), "has the columns query, doc_id, relevance, but one of query_id"),
        ({"1": {"a b": 1}}, "'a b' cannot be an id"),
        ({}, "no rows"),
        (7, "7 is neither a file"),
    ):
        with pytest.raises(BadInput, match=why):
            local.load("refused", given, RUNS)


def test_only_its_user_enters_its_folder_and_no_port_is_open(local):
    folder = Path(local.service.folder)
    assert folder.stat().st_mode & 0o77 == 0
    assert (folder / "socket").is_socket()
    assert local.service.port == 0


SCRIPT = """
import sys
from gainboard.client import Gainboard
local = Gainboard.local()
print(local.service.folder, local.service.process, flush=True)
sys.stdin.read()
"""


def test_it_starts_below_a_temporary_folder_that_is_too_deep_for_a_socket(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with Gainboard.local(job_slots=1) as made:
        assert made.load("web", QRELS, RUNS).runs == ["lemur", "otter"]
        assert [entry.name for entry in (deep / os.listdir(deep)[0]).iterdir()] == ["data"]
    assert os.listdir(deep) == []


def test_it_ends_with_its_process_however_that_ends_and_leaves_nothing():
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=outside()
    ) as owner:
        assert owner.stdout is not None
        folder, process = owner.stdout.readline().split()
        assert os.path.isdir(folder)
        owner.kill()
    until(lambda: not is_there(int(process)))
    assert not os.path.exists(folder)
