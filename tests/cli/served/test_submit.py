"""`gainboard submit`, `runs` and `withdraw` against a real server."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from gainboard.cli import main
from tests.world.campaigns import RUN

pytestmark = pytest.mark.outer

FAULTY = "1 Q0 good first 1 broken\n1 Q0 good 1 1 broken\n1 Q0\n"


def test_each_of_several_files_is_stored_and_told_of(campaign, capsys):
    assert main(["submit", "run.txt", "runs/worse.txt", "--team", "lemur", "--type", "automatic"]) == 0
    out, err = capsys.readouterr()
    assert out == "run.txt: tag: 2 topics, 4 documents\nruns/worse.txt: worse: 2 topics, 5 documents\n"
    assert err == ""
    stored = campaign.get("/runs").json()["items"]
    assert [(run["name"], run["team"], run["type"], run["pooled"]) for run in stored] == [
        ("tag", "lemur", "automatic", True),
        ("worse", "lemur", "automatic", True),
    ]


def test_a_faulty_file_is_refused_with_all_its_lines_and_the_others_are_stored(campaign, folder, capsys):
    (folder / "broken.txt").write_text(FAULTY)
    assert main(["submit", "broken.txt", "run.txt", "absent.txt", "--team", "lemur"]) == 1
    out, err = capsys.readouterr()
    assert out == "run.txt: tag: 2 topics, 4 documents\n"
    answer = campaign.submit(FAULTY)
    assert [f"broken.txt:{each['line']}: {each['code']}: {each['message']}" for each in answer.json()["errors"]] == [
        line for line in err.splitlines() if line.startswith("broken.txt:")
    ]
    assert "absent.txt: unreadable: Cannot be read: No such file or directory" in err
    assert [run["name"] for run in campaign.get("/runs").json()["items"]] == ["tag"]


def test_a_refusal_that_is_not_about_lines_names_the_problem(campaign, capsys):
    assert main(["submit", "run.txt"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("run.txt: team-required: ")
    assert said.endswith("run.txt: note: team-required: Name the run's team with --team, for example --team lemur\n")


def test_the_unjudged_share_and_warnings_are_told_where_there_are_judgments(campaign, folder, capsys):
    assert campaign.put_qrels().status_code == 201
    (folder / "odd.txt").write_text("1 Q0 good 1 3 odd\n1 Q0 new 2 2 odd\n9 Q0 good 1 1 odd\n")
    assert main(["submit", "odd.txt", "--team", "lemur"]) == 0
    out, err = capsys.readouterr()
    share = campaign.get("/runs/odd").json()["unjudged_share"]
    assert out == f"odd.txt: odd: 2 topics, 3 documents, {share:.1%} unjudged\n"
    assert "odd.txt: warning: unknown-topics: " in err
    assert "odd.txt: warning: missing-topics: " in err


def test_compressed_files_and_standard_input_are_sent_as_they_are(campaign, folder, monkeypatch):
    (folder / "run.txt.gz").write_bytes(gzip.compress(RUN.encode()))
    assert main(["submit", "run.txt.gz", "--team", "lemur", "--name", "zipped", "--not-pooled"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert main(["submit", "-", "--team", "otter", "--name", "piped"]) == 0
    for run, is_pooled in (("zipped", False), ("piped", True)):
        assert campaign.organiser.get(f"{campaign.path}/runs/{run}", headers={"Accept": "text/plain"}).text == RUN
        assert campaign.get(f"/runs/{run}").json()["pooled"] is is_pooled


def test_many_files_are_all_stored(campaign, folder, capsys):
    names = [f"runs/{number:02}.txt" for number in range(25)]
    for name in names:
        (folder / name).write_text(RUN.replace("tag", Path(name).stem))
    assert main(["submit", *names, "--team", "lemur"]) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == names
    assert len(campaign.get("/runs").json()["items"]) == 25


def test_a_folder_stands_for_its_files(campaign, folder, capsys):
    (folder / "runs" / ".hidden").write_text("no run")
    (folder / "runs" / "older").mkdir()
    (folder / "runs" / "better.txt").write_text(RUN)
    assert main(["submit", "runs", "--team", "lemur"]) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        "runs/better.txt",
        "runs/worse.txt",
    ]
    assert main(["submit", "runs/older", "--team", "lemur"]) == 1
    assert "The folder runs/older has no files" in capsys.readouterr().err


def test_a_file_of_ir_metadata_goes_with_its_run(campaign, folder, capsys):
    (folder / "runs/worse.ir_metadata.yml").write_text("ir_metadata.start\nresources: {ram: 3}\nir_metadata.end\n")
    assert main(["submit", "run.txt", "runs", "--team", "lemur"]) == 0
    assert [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines()] == [
        "tag: 2 topics, 4 documents",
        "worse: 2 topics, 5 documents",
        "with its file of ir_metadata",
    ]
    assert campaign.get("/runs/worse/metadata").json()["file"]["metadata"] == {"resources": {"ram": 3}}
    assert campaign.get("/runs/tag/metadata").json()["file"] is None
    (folder / "ir-metadata.yml").write_text("tag: other\n")
    assert main(["submit", "run.txt", "ir-metadata.yml", "--team", "lemur"]) == 0  # the only run of its folder
    assert "ir_metadata has the tag 'other'" in capsys.readouterr().err
    (folder / "elsewhere").write_text("[1\n")
    assert main(["submit", "run.txt", "--metadata", "elsewhere", "--team", "lemur"]) == 1
    assert "The file of ir_metadata is not YAML" in capsys.readouterr().err
    assert main(["submit", "run.txt", "--metadata", "nowhere", "--team", "lemur"]) == 1
    assert "nowhere cannot be read" in capsys.readouterr().err


def test_a_file_of_ir_metadata_without_a_run_is_refused(campaign, folder, capsys):
    (folder / "runs/third.ir_metadata.yml").write_text("method: {}\n")
    for asked in (["runs"], ["run.txt", "runs/third.ir_metadata.yml"]):
        assert main(["submit", *asked, "--team", "lemur"]) == 1
        assert "does not tell which run it is about. Call it RUN.ir_metadata.yml" in capsys.readouterr().err
    assert main(["submit", "run.txt", "runs/worse.txt", "--metadata", "qrels.txt", "--team", "lemur"]) == 1
    assert "--metadata is for one file" in capsys.readouterr().err
    assert campaign.get("/runs").json()["items"] == []


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


def test_a_csv_of_runs_gives_teams_to_the_files_beside_it(campaign, folder, capsys):
    (folder / "lists").mkdir()
    (folder / "lists" / "teams.csv").write_text("run,team\nworse,otter\n")
    assert main(["submit", "lists/teams.csv", "run.txt", "runs/worse.txt", "--team", "lemur"]) == 0
    assert {run["name"]: run["team"] for run in campaign.get("/runs").json()["items"]}["worse"] == "otter"
    assert "runs/worse.txt: worse: " in capsys.readouterr().out
    (folder / "lists" / "teams.csv").write_text("run,team\nworst,otter\n")
    assert main(["submit", "lists/teams.csv", "runs/worse.txt"]) == 1
    said = "lists/teams.csv:2: no-file: No file, or more than one, is called 'worst'. Name the runs with the table"
    assert said in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "1: bad-columns"),
        (b"team,name\nlemur,a\n", "1: bad-columns"),
        (b"file;team\nrun.txt;lemur\n", "1: bad-columns"),
        (b"file,colour\nrun.txt,red\n", "1: bad-columns"),
        (b"file,file\nrun.txt,run.txt\n", "1: bad-columns"),
        (b"file\n", "1: empty-file"),
        (b'file\n"run.txt\n', "2: bad-columns"),
        (b"file\nr\xfcn.txt\n", " bad-encoding"),
    ],
)
def test_a_csv_that_cannot_be_read_is_refused_whole(campaign, folder, capsys, content, code):
    (folder / "all.csv").write_bytes(content)
    assert main(["submit", "all.csv", "--team", "lemur"]) == 1
    assert capsys.readouterr().err.startswith(f"all.csv:{code}: ")
    assert campaign.get("/runs").json()["items"] == []


def test_one_name_is_not_for_several_files(campaign, capsys):
    assert main(["submit", "run.txt", "runs/worse.txt", "--name", "one", "--team", "lemur"]) == 1
    assert "--name is for one file" in capsys.readouterr().err
    assert campaign.get("/runs").json()["items"] == []


def test_runs_are_listed_as_table_csv_and_json(scored, capsys):
    assert main(["runs"]) == 0
    headings, *rows = capsys.readouterr().out.splitlines()
    assert headings.split()[:3] == ["name", "team", "type"]
    assert [row.split()[:2] for row in rows] == [["tag", "lemur"], ["worse", "lemur"]]
    assert main(["runs", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == scored.get("/runs").json()["items"]
    assert main(["runs", "--format", "csv"]) == 0
    hashes = [run["sha256"] for run in scored.get("/runs").json()["items"]]
    assert [line.split(",")[-1] for line in capsys.readouterr().out.splitlines()] == ["sha256", *hashes]


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


def test_runs_are_withdrawn(scored, capsys):
    assert main(["withdraw", "tag", "worse"]) == 0
    assert capsys.readouterr().out == "tag: withdrawn\nworse: withdrawn\n"
    assert scored.get("/runs").json()["items"] == []
    assert main(["withdraw", "tag"]) == 1
    assert "(problem not-found)" in capsys.readouterr().err
