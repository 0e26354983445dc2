"""What commands print and read where the encoding of the terminal or of the locale is not UTF-8."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.outside import outside

pytestmark = pytest.mark.outer

UTF8 = {"PYTHONUTF8": "1"}
ENCODINGS = [
    {"PYTHONIOENCODING": "cp1252:replace"},
    {"PYTHONIOENCODING": "ascii:strict"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]
QRELS, RUN = "\u4e00 0 \u6587 1\n\u4e8c 0 \u6587 1\n", "\u4e00 Q0 \u6587 1 1 t\u00e4g\n\u4e8c Q0 x 1 1 t\u00e4g\n"
SCORE = ("gainboard", "score", "qrels-\u00e9", "r\u00fcn-\u4e00", "-m", "AP", "-q", "-f")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Qrels and two runs with ids and names outside Latin-1."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in (("qrels-\u00e9", QRELS), ("r\u00fcn-\u4e00", RUN), ("b", RUN)):
        (folder / name).write_text(text, "utf-8")
    return folder


def printed(environment, folder, *arguments, code=0, given=b""):
    """Return what a command prints in an environment. No argument is encoded by this process's locale."""
    words = [word.encode() if isinstance(word, str) else word for word in arguments]
    command = [sys.executable.encode(), b"-m", *words]
    done = subprocess.run(command, cwd=folder, env=outside(**environment), capture_output=True, input=given)
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    return done.stdout, done.stderr


in_utf8 = cache(lambda folder, *arguments: printed(UTF8, folder, *arguments)[0])


@pytest.mark.parametrize("environment", ENCODINGS, ids=str)
def test_programs_get_utf8_and_tables_have_escapes_for_what_an_encoding_lacks(environment, folder):
    board = ("gainboard", "leaderboard", "--qrels", "qrels-\u00e9", "--runs", "r\u00fcn-\u4e00", "b", "-m", "AP", "-f")
    for line in (*((*SCORE, form) for form in ("json", "csv", "trec_eval", "latex")), (*board, "markdown")):
        assert printed(environment, folder, *line)[0] == in_utf8(folder, *line), line
    run = json.loads(in_utf8(folder, *SCORE, "json"))["runs"][0]
    assert (run["name"], run["topics"]["AP"]) == ("r\u00fcn-\u4e00", {"\u4e00": 1.0, "\u4e8c": 0.0})
    table = printed(environment, folder, *SCORE, "table")[0].decode("latin-1")
    assert [line.split()[-2:] for line in table.splitlines()[1:]] == [
        [r"\u4e00", "1.0000"],
        [r"\u4e8c", "0.0000"],
        ["all", "0.5000"],
    ]
    assert r"n-\u4e00" in table
    compared = ("gainboard", "compare", "qrels-\u00e9", "r\u00fcn-\u4e00", "b", "-m", "AP", "-q")
    assert rb"\u4e8c" in printed(environment, folder, *compared)[0]
    assert "\u4e8c".encode() in printed(environment, folder, *compared, "-f", "csv")[0]


@pytest.mark.parametrize("environment", ENCODINGS, ids=str)
def test_what_was_given_is_printed_and_read_whatever_it_is(environment, folder):
    asked = ("gainboard", "trec_eval", "-q", "-m", "map", "-m", "ndcg.\u00e9=1")
    out, _ = printed(environment, folder, *asked, "qrels-\u00e9", "r\u00fcn-\u4e00")
    assert f"{'map':22}\t\u4e8c\t0.0000\nndcg_\u00e9=1".encode() in out
    _, error = printed(environment, folder, "gainboard", "trec_eval", "-m", "\u4e00", "qrels-\u00e9", "b", code=1)
    assert error in (b"trec_eval: illegal measure '\\u4e00'\n", "trec_eval: illegal measure '\u4e00'\n".encode())
    _, error = printed(environment, folder, "gainboard", "score", "qrels-\u00e9", "b", "-m", "\u4e00", code=1)
    assert rb"no metric '\u4e00'" in error
    _, error = printed(environment, folder, "gainboard", "score", "\u4e8c", "b", code=1)
    assert error.startswith(rb"\u4e8c: unreadable")
    asked = ("gainboard", "score", "qrels-\u00e9", "-", "-m", "AP", "-q", "-f", "csv")
    assert "\u4e00,AP,1.0".encode() in printed(environment, folder, *asked, given=RUN.encode())[0]
    measured = ("gainboard.ir_measures", "qrels-\u00e9", "b", "Q", "AP", "-q")
    assert "\u4e8c\tAP\t0.0000\n".encode() in printed(environment, folder, *measured)[0]


@pytest.mark.parametrize("environment", [*ENCODINGS, UTF8], ids=str)
def test_a_file_name_that_is_no_utf8_is_read_and_escaped(environment, folder):
    name = b"bad\xff"
    try:
        (Path(bytes(folder).decode()) / name.decode("utf-8", "surrogateescape")).write_text(RUN, "utf-8")
    except OSError:
        pytest.skip("this file system has no such names")
    out, _ = printed(environment, folder, "gainboard", "score", "qrels-\u00e9", name, "-m", "AP", "-f", "json")
    assert json.loads(out)["runs"][0]["name"] == "bad\udcff"
