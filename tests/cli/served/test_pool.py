"""`gainboard pool` against a real server, and from files: the same bytes."""

import hashlib
import json

import pytest

from gainboard.cli import main
from tests.world.campaigns import run_text

pytestmark = pytest.mark.outer

RUNS = {
    "a": {"10": ["x"], "1": ["new", "good", "deep"], "2": ["bad", "=x"]},
    "b": {"2": ["bad"], "1": ["good", "new"]},
    "c": {"1": ["only", "good"], "10": ["y", "x"]},
}
LIST = "file,team,name,pooled,priority\na.txt,lemur,,,2\nb.txt,lemur,,,1\nc.txt,otter,,,\nd.txt,otter,,no,\n"


@pytest.fixture
def uploaded(campaign, folder):
    """The runs of a CSV, in files and on the server."""
    for name, run in (*RUNS.items(), ("d", {"1": ["unpooled"]})):
        (folder / f"{name}.txt").write_text(run_text(run, name))
    (folder / "list.csv").write_text(LIST)
    assert main(["submit", "list.csv"]) == 0
    return campaign


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main(["pool", *arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ("--depth", "2"),
        ("--depth", "2", "--order", "rrf", "-f", "ntcir"),
        ("--order", "random", "--seed", "7", "--budget", "2", "-f", "csv"),
        ("--order", "document", "--budget", "4", "--in-all", "-f", "json", "--details"),
        ("--top", "1", "-f", "csv", "--details"),
        ("--run", "d", "--run", "a"),
        ("--team", "otter"),
    ],
    ids=" ".join,
)
def test_a_pool_of_files_has_the_bytes_of_one_of_stored_runs(uploaded, capsys, options):
    served = printed(capsys, "make", *options)
    assert served == printed(capsys, "make", "--runs", "list.csv", *options)
    assert served


def test_the_file_is_trecs_and_its_hash_is_told(uploaded, capsys):
    assert main(["pool", "make", "--runs", "[abc].txt", "--depth", "1"]) == 0
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == ["1 good", "1 new", "1 only", "10 x", "10 y", "2 bad"]
    assert hashlib.sha256(out.encode()).hexdigest() in err


def test_what_a_second_round_leaves_out_is_a_version_a_set_or_a_file(uploaded, folder, capsys):
    (folder / "first.txt").write_text("1 0 good 1\n")
    (folder / "second.txt").write_text("10 0 x 0\n")
    assert uploaded.put_qrels("1 0 good 1\n").status_code == 201
    assert uploaded.put_qrels("10 0 x 0\n", judgments="second").status_code == 201
    served = printed(capsys, "make", "--without", "1", "--without", "second:1")
    assert served == printed(capsys, "make", "--without", "second", "--without", "official")
    own = printed(capsys, "make", "--runs", "list.csv", "--without", "first.txt", "--without", "second.txt")
    assert served == own
    assert "1 good\n" not in served
    assert "10 x\n" not in served
    assert main(["pool", "make", "--without", "second:x"]) == 1
    assert "second:3" in capsys.readouterr().err


def test_costs_are_those_of_the_pools_themselves(uploaded, folder, capsys):
    asked = ("costs", "--at", "1", "--at", "2")
    table = printed(capsys, *asked)
    assert table == printed(capsys, *asked, "--runs", "list.csv")
    counts = [int(line.split()[1]) for line in table.splitlines()[1:]]
    made = [printed(capsys, "make", "--depth", depth, "-f", "json") for depth in "12"]
    assert counts == [sum(len(each["documents"]) for each in json.loads(text)["topics"]) for text in made]


def test_faults_of_a_file_are_told_and_nothing_is_made(uploaded, folder, capsys):
    (folder / "bad.txt").write_text("1 Q0 d 1 nan t\n")
    capsys.readouterr()
    assert main(["pool", "make", "--runs", "a.txt", "bad.txt"]) == 1
    out, err = capsys.readouterr()
    assert (out, "bad.txt:1: " in err, "No pool was made" in err) == ("", True, True)
    (folder / "odd.csv").write_text("file,priority\na.txt,0\n")
    assert main(["submit", "odd.csv"]) == 1
    assert "'0' is not a whole number from 1" in capsys.readouterr().err


def test_judgments_that_come_back_are_compared_with_the_pool_of_an_id(uploaded, folder, capsys):
    printed(capsys, "make", "--depth", "1")
    (job,) = uploaded.organiser.get("/v1/jobs", params={"collection": uploaded.name}).json()["items"]
    (folder / "back.txt").write_text("1 0 good 1\n1 0 deep 0\n")
    assert main(["qrels", "put", "back.txt", "--pool", job["id"][:8]]) == 0
    err = capsys.readouterr().err
    assert "Documents of the pool are not judged" in err
    assert "Judged documents are not in the pool, such as 'deep' of topic '1'" in err
    assert main(["qrels", "put", "back.txt", "--pool", "x"]) == 1
    assert "gainboard job list --kind pool" in capsys.readouterr().err
