"""What commands print and read where the encoding of the terminal or of the locale is not UTF-8."""

import json

import pytest

from tests.cli.shells import each_apart

pytestmark = pytest.mark.outer

UTF8 = {"PYTHONUTF8": "1"}
ENCODINGS = [
    {"PYTHONIOENCODING": "cp1252:replace"},
    {"PYTHONIOENCODING": "ascii:strict"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]
QRELS, RUN = "\u4e00 0 \u6587 1\n\u4e8c 0 \u6587 1\n", "\u4e00 Q0 \u6587 1 1 t\u00e4g\n\u4e8c Q0 x 1 1 t\u00e4g\n"
SCORE = ("gainboard", "score", "qrels-\u00e9", "r\u00fcn-\u4e00", "-m", "AP", "-q", "-f")
COMPARE = ("gainboard", "compare", "qrels-\u00e9", "r\u00fcn-\u4e00", "b", "-m", "AP", "-q")
MEASURES = ("gainboard", "trec_eval", "-q", "-m", "map", "-m", "ndcg.\u00e9=1", "qrels-\u00e9", "r\u00fcn-\u4e00")
FOR_PROGRAMS = ("json", "csv", "trec_eval", "latex")
ODD = b"bad\xff"
LINES = {
    **{form: (*SCORE, form) for form in (*FOR_PROGRAMS, "table")},
    "compared": COMPARE,
    "compared as CSV": (*COMPARE, "-f", "csv"),
    "measures": MEASURES,
    "no measure": ("gainboard", "trec_eval", "-m", "\u4e00", "qrels-\u00e9", "b"),
    "no metric": ("gainboard", "score", "qrels-\u00e9", "b", "-m", "\u4e00"),
    "no file": ("gainboard", "score", "\u4e8c", "b"),
    "standard input": ("gainboard", "score", "qrels-\u00e9", "-", "-m", "AP", "-q", "-f", "csv"),
    "ir_measures": ("gainboard.ir_measures", "qrels-\u00e9", "b", "Q", "AP", "-q"),
    "odd name": ("gainboard", "score", "qrels-\u00e9", ODD, "-m", "AP", "-f", "json"),
}


@pytest.fixture(scope="module")
def printing(tmp_path_factory):
    """Returns what each line prints in an environment. Names of files and ids in them are outside Latin-1."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in (("qrels-\u00e9", QRELS), ("r\u00fcn-\u4e00", RUN), ("b", RUN)):
        (folder / name).write_text(text, "utf-8")
    lines = dict(LINES)
    try:
        (folder / ODD.decode("utf-8", "surrogateescape")).write_text(RUN, "utf-8")
    except OSError:
        del lines["odd name"]  # this file system has no such names

    def printing(environment):
        given = {[*lines].index("standard input"): RUN.encode()}
        found = dict(zip(lines, each_apart(lines.values(), folder, given, **environment), strict=True))
        for name, done in found.items():
            assert (done.code, b"Traceback" in done.err) == (int(name.startswith("no ")), False), (name, done.err)
        return found

    return printing


@pytest.fixture(scope="module")
def in_utf8(printing):
    return printing(UTF8)


@pytest.mark.parametrize("environment", ENCODINGS, ids=str)
def test_programs_get_utf8_and_people_escapes_for_what_an_encoding_lacks(environment, printing, in_utf8):
    printed = printing(environment)
    assert [form for form in FOR_PROGRAMS if printed[form].out != in_utf8[form].out] == []
    table = printed["table"].out.decode("latin-1")
    assert [line.split()[-2:] for line in table.splitlines()[1:]] == [
        [r"\u4e00", "1.0000"],
        [r"\u4e8c", "0.0000"],
        ["all", "0.5000"],
    ]
    assert r"n-\u4e00" in table
    assert rb"\u4e8c" in printed["compared"].out
    assert "\u4e8c".encode() in printed["compared as CSV"].out
    # What was given is printed and read, whatever it is.
    assert f"{'map':22}\t\u4e8c\t0.0000\nndcg_\u00e9=1".encode() in printed["measures"].out
    illegal = "trec_eval: illegal measure '\u4e00'\n"
    assert printed["no measure"].err in (illegal.encode(), illegal.encode("ascii", "backslashreplace"))
    assert rb"no metric '\u4e00'" in printed["no metric"].err
    assert printed["no file"].err.startswith(rb"\u4e8c: unreadable")
    assert "\u4e00,AP,1.0".encode() in printed["standard input"].out
    assert "\u4e8c\tAP\t0.0000\n".encode() in printed["ir_measures"].out
    if "odd name" in printed:
        assert printed["odd name"].out == in_utf8["odd name"].out


def test_ids_and_names_are_in_json_as_they_are(in_utf8):
    run = json.loads(in_utf8["json"].out)["runs"][0]
    assert (run["name"], run["topics"]["AP"]) == ("r\u00fcn-\u4e00", {"\u4e00": 1.0, "\u4e8c": 0.0})
    if "odd name" in in_utf8:
        assert json.loads(in_utf8["odd name"].out)["runs"][0]["name"] == "bad\udcff"
