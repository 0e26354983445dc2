"""`gainboard check` says of a file what the service says at its upload."""

import json

import pytest

from gainboard.cli import main
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
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        service.organiser.post("/v1/collections", json={"name": "qrels", "levels": 3}).raise_for_status()
        service.organiser.put("/v1/collections/qrels/qrels", content=QRELS).raise_for_status()
        yield service


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in {**FILES, **ODD, "qrels": QRELS}.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys, *arguments, code=0):
    assert main(["check", "--json", *arguments]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", [*FILES, *ODD])
def test_a_run_has_the_faults_and_warnings_of_its_upload(name, service, folder, capsys):
    query = {"team": "t", "name": name}
    answer = service.organiser.post("/v1/collections/qrels/runs", params=query, content=(folder / name).read_bytes())
    theirs = answer.json()
    assert answer.status_code == (422 if name in FILES else 201)
    _, ours = checked(capsys, name, "--qrels", "qrels", code=int(name in FILES))
    if name in ODD:
        theirs["warnings"] = [
            {key: value for key, value in each.items() if value is not None} for each in theirs["warnings"]
        ]
        assert theirs["warnings"]
    shared = (
        ("errors", "errors_total") if name in FILES else ("warnings", "tag", "topics", "retrieved", "unjudged_share")
    )
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


def test_a_collections_settings_and_a_servers_limits_count(folder, capsys, monkeypatch):
    assert checked(capsys, "order", "--depth", "1")[0]["retrieved"] == 1
    (folder / "ranks").write_bytes(b"1 Q0 d1 1 2.5 tag\n1 Q0 d2 1 1.5 tag\n")
    assert checked(capsys, "ranks")[0]["errors"] == []
    (error,) = checked(capsys, "ranks", "--order-by", "rank", code=1)[0]["errors"]
    assert error["code"] == "bad-rank"
    (folder / "ntcir").write_bytes(b"1 S d1\n1 B d2\n")
    assert checked(capsys, "--qrels", "ntcir", "--levels", "B,A,S")[0]["per_level"] == {"1": 1, "3": 1}
    monkeypatch.setenv("GAINBOARD_MAX_LINES", "1")
    (error,) = checked(capsys, "crlf", code=1)[0]["errors"]
    assert (error["code"], error["line"]) == ("too-large", None)


INTENTS = "1 1 d1 1\n1 2 d2 1\n"
TWO = ("--qrels", "intents", "--iprob", "iprob")


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
