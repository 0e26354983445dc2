"""`gainboard check` says of a file what the service says at its upload."""

import json
from io import StringIO

import pytest

from gainboard.cli import main, progress
from gainboard.cli.files import short_names
from gainboard.cli.progress import ProgressLine as Progress
from gainboard.cli.progress import progress_line
from gainboard.trec.zstd import compress
from tests.cli.terminals import Terminal
from tests.world.servers import new_settings, serving

FILES = {
    "columns": b"1 Q0 d1 1 2.5 tag\n1 Q0 d 2 2 1.5 tag\n",
    "numbers": b"1 Q0 d1 1 nan tag\n1 Q0 d2 2 1_0 tag\n1 Q0 d3 3 1.0 tag\n",
    "twice": b"1 Q0 d1 1 2.5 tag\n1 Q0 d1 2 1.5 tag\n",
    "empty": b"",
    "foreign": b"x Q0 d1 1 2.5 tag\n",
    "all": b"all Q0 d1 1 2.5 tag\n",
    "bytes": b"1 Q0 d\xff 1 2.5 tag\n",
    "many": b"".join(b"1 Q0 d%d 1 high tag\n" % number for number in range(150)),
}
ODD = {
    "crlf": b"1 Q0 d1 1 2.5 tag\r\n1 Q0 d9 2 1.5 tag\r\n",
    "mixed": b"2 Q0 d1 1 2.5 one\n2\tQ0\td2\t1\t3.5\ttwo",
    "unknown": b"1 Q0 d1 1 2.5 tag\nx Q0 d1 1 2.5 tag\n",
    "order": b"1 Q0 d1 2 2.5 tag\n1 Q0 d2 1 1.5 tag\n",
}
QRELS = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with the same judgments."""
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        service.organiser.post("/v1/collections", json={"name": "qrels", "levels": 3}).raise_for_status()
        service.organiser.put("/v1/collections/qrels/qrels", content=QRELS).raise_for_status()
        yield service


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """All files by their names, and `qrels`, the judgments."""
    for name, content in {**FILES, **ODD, "qrels": QRELS}.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys, *arguments, code=0):
    """What is said as JSON."""
    assert main(["check", "--json", *arguments]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", FILES)
def test_a_faulty_run_has_the_faults_of_its_upload(name, service, folder, capsys):
    query = {"team": "t", "name": name}
    answer = service.organiser.post("/v1/collections/qrels/runs", params=query, content=FILES[name])
    assert answer.status_code == 422
    found = checked(capsys, name, "--qrels", "qrels", code=1)[1]
    assert found["errors"] == answer.json()["errors"]
    assert found["errors_total"] == answer.json()["errors_total"]


@pytest.mark.parametrize("name", ODD)
def test_a_run_that_is_taken_has_the_warnings_of_its_upload(name, service, folder, capsys):
    query = {"team": "t", "name": name}
    answer = service.organiser.post("/v1/collections/qrels/runs", params=query, content=ODD[name]).raise_for_status()
    theirs = answer.json()
    _, ours = checked(capsys, name, "--qrels", "qrels")
    stated = [{key: value for key, value in each.items() if value is not None} for each in theirs["warnings"]]
    assert stated
    assert ours["warnings"] == stated
    shared = ("tag", "topics", "retrieved", "unjudged_share")
    assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}


def test_qrels_have_the_faults_and_warnings_of_theirs(service, folder, capsys):
    for content in (b"1 0 d1 7\n", b"1 0 d1 1\n1 0 d1 2\n", b"", b"1 0 d1\n1 0 d2 1\n2 0 d1 1\n"):
        (folder / "bad").write_bytes(content)
        answer = service.organiser.put("/v1/collections/qrels/qrels", content=content)
        assert answer.status_code == 422
        (found,) = checked(capsys, "--qrels", "bad", "--levels", "3", code=1)
        assert found["errors"] == answer.json()["errors"]
    (found,) = checked(capsys, "--qrels", "qrels")
    assert (found["topics"], found["judged"], found["per_level"]) == (2, 3, {"0": 1, "1": 1, "2": 1})


def test_findings_are_written_as_compilers_write_them(folder, capsys):
    assert main(["check", "twice", "crlf", "many"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("twice:2: duplicate-document: document 'd1' is already on line 1 for this topic")
    assert lines[1] == "twice: faulty: run"
    assert lines[2:4] == [
        "crlf: warning: crlf: Lines end in CRLF (2)",
        "crlf: fine: run, tag tag, topics 1, retrieved 2",
    ]
    assert lines[-2:] == ["many: 150 faults; these are the first 100", "many: faulty: run"]


def test_a_collections_settings_count(folder, capsys):
    assert checked(capsys, "order", "--depth", "1")[0]["retrieved"] == 1
    (folder / "ranks").write_bytes(b"1 Q0 d1 1 2.5 tag\n1 Q0 d2 1 1.5 tag\n")
    assert checked(capsys, "ranks")[0]["errors"] == []
    (error,) = checked(capsys, "ranks", "--order-by", "rank", code=1)[0]["errors"]
    assert error["code"] == "bad-rank"
    (folder / "ntcir").write_bytes(b"1 S d1\n1 B d2\n")
    assert checked(capsys, "--qrels", "ntcir", "--levels", "B,A,S")[0]["per_level"] == {"1": 1, "3": 1}


def test_a_tag_that_is_no_name_is_a_warning(folder, capsys):
    (folder / "tag").write_bytes(b"1 Q0 d1 1 2.5 t!g\n")
    assert [each["code"] for each in checked(capsys, "tag")[0]["warnings"]] == ["name-required"]


def test_limits_are_those_of_a_server_here(folder, capsys, monkeypatch):
    monkeypatch.setenv("GAINBOARD_MAX_LINES", "1")
    (error,) = checked(capsys, "crlf", code=1)[0]["errors"]
    assert (error["code"], error["line"]) == ("too-large", None)


def test_compressed_files_are_read_and_damaged_ones_are_faulty(folder, capsys):
    whole = compress(ODD["crlf"])
    (folder / "whole.zst").write_bytes(whole)
    (folder / "cut.zst").write_bytes(whole[:-3])
    fine, cut = checked(capsys, "whole.zst", "cut.zst", code=1)
    assert fine["errors"] == []
    assert [each["code"] for each in cut["errors"]] == ["bad-compression"]


def test_misuse_has_a_code_of_its_own(folder, capsys):
    for arguments in ([], ["crlf", "--levels", "128"], ["crlf", "--levels", "B,B"], ["crlf", "--depth", "0"]):
        with pytest.raises(SystemExit) as stopped:
            main(["check", *arguments])
        assert stopped.value.code == 2


def test_runs_are_called_as_briefly_as_tells_them_apart():
    assert short_names(["a/run.txt.gz", "b/other.zst"]) == ["run.txt", "other"]
    assert short_names(["a/run.txt", "b/run.txt"]) == ["a/run.txt", "b/run.txt"]


def test_progress_says_how_much_is_done_how_fast_and_how_long_it_takes_yet():
    line = progress_line("scoring", 45e6, 180e6, 3.0, "B")
    assert line == "scoring  [#####---------------] 45 M/180 MB  15 MB/s  0:09 left"
    assert progress_line("job", 7, None, 2.0, note="running") == "job  7  3.5/s  running"
    assert progress_line("job", 0, 10, 0.0) == "job  [--------------------] 0/10  0/s"


def test_progress_is_shown_on_a_terminal_alone_and_is_gone_at_its_end(monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = Terminal(), StringIO()
    for stream in (terminal, file):
        with Progress("scoring", stream=stream) as shown:
            shown.at(1, 2)
    assert "scoring  [##########----------] 1/2" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")
    assert file.getvalue() == ""


def test_what_ends_at_once_shows_no_progress(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with Progress("scoring", stream=terminal) as shown:
        shown.at(1, 2)
    assert terminal.getvalue() == ""


def test_after_a_thousand_faults_the_number_is_a_minimum(folder, capsys):
    (folder / "faulty").write_bytes(b"short\n" * 1001)
    (found,) = checked(capsys, "faulty", code=1)
    assert (found["errors_total"], found["errors_total_is_minimum"]) == (1000, True)
    assert main(["check", "faulty"]) == 1
    assert "faulty: at least 1,000 faults; the rest of the file was not read" in capsys.readouterr().out


INTENTS = "1 1 d1 1\n1 2 d2 1\n"
TWO = ("--qrels", "intents", "--iprob", "iprob")


def test_faults_in_the_file_of_probabilities_have_its_name_and_lines(folder, capsys):
    for end in ("", "\n"):  # with and without a last line feed
        (folder / "intents").write_text(INTENTS.removesuffix("\n") + end)
        (folder / "iprob").write_text("1 1 1.5\n1 2 0.5\n1 2 0.4\n")
        assert main(["check", *TWO]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(": ")[:2] for line in lines[:2]] == [
            ["iprob:1", "bad-probability"],
            ["iprob:3", "bad-probability"],
        ]
        assert lines[2:] == ["intents: faulty: qrels"]
    (found,) = checked(capsys, *TWO, code=1)
    assert [(each["file"], each["line"]) for each in found["errors"]] == [("iprob", 1), ("iprob", 3)]


def test_a_fault_of_two_lines_names_the_file_of_each(folder, capsys):
    (folder / "intents").write_text("1 1\n")
    (folder / "iprob").write_text(f"1 1\n1 1\n{INTENTS}1 1 d1 0\n")
    assert main(["check", *TWO]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("intents:1: bad-columns: ")
    assert not lines[0].endswith(")")
    assert lines[1].startswith("iprob:1: bad-columns: ")
    assert lines[1].endswith(" (on all lines to 2)")
    assert lines[2].startswith("iprob:5: conflicting-judgment: ")
    assert "but level 1 on line 3. " in lines[2]
    assert checked(capsys, *TWO, code=1)[0]["errors"][-1]["lines"] == [3, 5]
    (folder / "intents").write_text(INTENTS)
    (folder / "iprob").write_text("1 1 d1 0\n")
    assert main(["check", *TWO]) == 1
    assert "but level 1 on line 1 of intents. " in capsys.readouterr().out


def test_a_file_of_probabilities_that_cannot_be_read_is_named(folder, capsys):
    (folder / "intents").write_text(INTENTS)
    assert main(["check", *TWO]) == 1
    said = "iprob: unreadable: Cannot be read: No such file or directory"
    assert capsys.readouterr().out.splitlines()[0] == said
    assert main(["score", "intents", "crlf", "--iprob", "iprob"]) == 1
    assert capsys.readouterr().err.splitlines() == [said]
    (folder / "iprob").write_bytes(compress(b"1 1 1\n")[:-3])
    assert main(["check", *TWO]) == 1
    assert capsys.readouterr().out.startswith("iprob: bad-compression: ")
    (folder / "iprob").write_bytes(b"1 1 1\n")
    assert main(["score", "absent", "crlf", "--iprob", "iprob"]) == 1
    assert capsys.readouterr().err.splitlines() == [said.replace("iprob", "absent")]
