"""`gainboard submit`, `runs` and `withdraw` against a real server."""

import gzip
import io
import json
import sys

import pytest

from gainboard.cli import main
from tests.world.campaigns import RUN

pytestmark = pytest.mark.outer


def test_compressed_files_and_standard_input_are_sent_as_they_are(campaign, folder, monkeypatch):
    (folder / "run.txt.gz").write_bytes(gzip.compress(RUN.encode()))
    assert main(["submit", "run.txt.gz", "--team", "lemur", "--name", "zipped", "--not-pooled"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert main(["submit", "-", "--team", "otter", "--name", "piped"]) == 0
    for run, is_pooled in (("zipped", False), ("piped", True)):
        assert campaign.organiser.get(f"{campaign.path}/runs/{run}", headers={"Accept": "text/plain"}).text == RUN
        assert campaign.get(f"/runs/{run}").json()["pooled"] is is_pooled


def test_a_file_of_ir_metadata_goes_with_its_run(campaign, folder, capsys):
    (folder / "runs/worse.ir_metadata.yml").write_text("ir_metadata.start\nresources: {ram: 3}\nir_metadata.end\n")
    assert main(["submit", "run.txt", "runs", "--team", "lemur"]) == 0
    assert [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines()] == [
        "tag: 2 topics, 4 documents",
        "worse: 2 topics, 5 documents",
        "with its file of ir_metadata",
    ]
    assert campaign.get("/runs/worse/metadata").json()["file"]["metadata"] == {"resources": {"ram": 3}}
    (folder / "ir-metadata.yml").write_text("tag: other\n")
    assert main(["submit", "run.txt", "ir-metadata.yml", "--team", "lemur"]) == 0  # the only run of its folder
    assert "ir_metadata has the tag 'other'" in capsys.readouterr().err


def test_a_csv_gives_each_run_its_team_and_name(campaign, folder, capsys):
    (folder / "lists").mkdir()
    (folder / "lists" / "all.csv").write_text(
        '\ufefffile,name,team,description,pooled\r\n../run.txt,first,otter,"a, b",no\r\n\r\n../runs/worse.txt,,,,\r\n',
        encoding="utf-8",
        newline="",
    )
    assert main(["submit", "lists/all.csv", "--team", "lemur", "--type", "manual"]) == 0
    stored = campaign.get("/runs").json()["items"]
    assert [(run["name"], run["team"], run["description"], run["type"], run["pooled"]) for run in stored] == [
        ("first", "otter", "a, b", "manual", False),
        ("worse", "lemur", None, "manual", True),
    ]


def test_faulty_rows_are_named_by_line_and_nothing_is_sent(campaign, folder, capsys):
    (folder / "all.csv").write_text(
        "file,team,name,pooled\nrun.txt,lemur,same,\nabsent.txt,lemur,b,\nruns/worse.txt,a team,same,perhaps\n"
        ",lemur,c,\nrun.txt,lemur,d,yes,too,many\nruns/worse.txt,lemur,=1+1,\n"
    )
    assert main(["submit", "all.csv", "run.txt", "--team", "lemur"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(": ")[:2] for line in err.splitlines()[:-1]] == [
        ["all.csv:3", "no-file"],
        ["all.csv:4", "bad-team"],
        ["all.csv:4", "bad-pooled"],
        ["all.csv:4", "repeated-name"],
        ["all.csv:5", "no-file"],
        ["all.csv:6", "bad-columns"],
        ["all.csv:7", "bad-name"],
    ]
    assert err.endswith("gainboard: Nothing was sent. Correct the CSV, and submit it again.\n")
    assert campaign.get("/runs").json()["items"] == []


def test_others_words_do_not_steer_a_terminal(campaign, capsys):
    assert campaign.submit(type="\x9b2Jcleared").status_code == 201
    assert main(["runs"]) == 0
    printed = capsys.readouterr().out
    assert "\x9b" not in printed
    assert r"\x9b2Jcleared" in printed
    assert main(["runs", "--format", "json"]) == 0
    printed = capsys.readouterr().out
    assert "\x9b" not in printed
    assert json.loads(printed)[0]["type"] == "\x9b2Jcleared"
