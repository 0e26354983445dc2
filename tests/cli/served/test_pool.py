"""`gainboard pool` against a real server, and from files: the same bytes."""

import pytest

from gainboard.cli import main
from tests.world.campaigns import run_text

pytestmark = pytest.mark.outer

RUNS = {
    "a": {"10": ["x"], "1": ["new", "good", "deep"], "2": ["bad", "=x"]},
    "b": {"2": ["bad"], "1": ["good", "new"]},
    "c": {"1": ["only", "good"], "10": ["y", "x"]},
}
LIST = """file,team,name,pooled,priority,family
a.txt,lemur,,,2,acme
b.txt,lemur,,,1,
c.txt,otter,,,,
d.txt,otter,,no,,
"""


@pytest.fixture
def uploaded(campaign, folder):
    for name, run in (*RUNS.items(), ("d", {"1": ["unpooled"]})):
        (folder / f"{name}.txt").write_text(run_text(run, name))
    (folder / "list.csv").write_text(LIST)
    assert main(["submit", "list.csv"]) == 0
    return campaign


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main(["pool", *arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_a_pool_of_files_has_the_bytes_of_one_of_stored_runs(uploaded, capsys):
    for options in (
        "--depth 2",
        "--depth 2 --order rrf -f ntcir",
        "--order random --seed 7 --budget 2 -f csv",
        "--order document --budget 4 --in-all -f json --details",
        "--top 1 -f csv --details",
        "--run d --run a",
        "--team otter",
    ):
        served = printed(capsys, "make", *options.split())
        assert served == printed(capsys, "make", "--runs", "list.csv", *options.split()), options
        assert served


def test_a_csv_marks_runs_with_their_family(uploaded):
    families = {name: uploaded.get(f"/runs/{name}").json()["family"] for name in "abc"}
    assert families == {"a": "acme", "b": None, "c": None}


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


def test_a_pool_without_strata_has_no_file_of_them(uploaded, capsys):
    with pytest.raises(SystemExit):
        main(["pool", "make", "--runs", "list.csv", "-f", "strata"])
    assert "--strata 10:1,100:0.2" in capsys.readouterr().err
