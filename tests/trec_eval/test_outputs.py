"""The outputs that trec_eval's own tests expect, byte for byte. They are looked for beside the real runs."""

import io

import pytest

from gainboard import cli
from gainboard.trec_eval import main
from tests import real

OUTPUTS = {
    "out.test": ["qrels.test", "results.test"],
    "out.test.a": ["-m", "all_trec", "qrels.test", "results.test"],
    "out.test.aq": ["-m", "all_trec", "-q", "qrels.test", "results.test"],
    "out.test.aqc": ["-m", "all_trec", "-q", "-c", "qrels.test", "results.trunc"],
}
COUNTS = (b"num_ret", b"num_rel", b"num_rel_ret")
"""Lines that are not scores of a run."""


@pytest.fixture
def folder():
    return real.folder().parent / "trec-eval-tests"


@pytest.mark.parametrize("expected", OUTPUTS)
def test_the_output_is_that_of_trec_eval(expected, folder):
    out, errors = io.BytesIO(), io.StringIO()
    arguments = [str(folder / word) if "." in word else word for word in OUTPUTS[expected]]
    assert main(arguments, out, errors) == 0
    assert out.getvalue() == (folder / expected).read_bytes()
    assert errors.getvalue() == ""


def test_the_preset_has_the_scores_of_the_default_output(folder, capfdbinary):
    files = [str(folder / name) for name in OUTPUTS["out.test"]]
    assert cli.main(["score", *files, "-m", "trec_eval", "-f", "trec_eval"]) == 0
    lines = (folder / "out.test").read_bytes().splitlines()
    assert capfdbinary.readouterr().out.splitlines() == [line for line in lines if line.split()[0] not in COUNTS]
