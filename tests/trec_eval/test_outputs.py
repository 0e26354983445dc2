"""The outputs that trec_eval's own tests expect, byte for byte. They are looked for beside the real runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gainboard.trec_eval import main
from tests import real

OUTPUTS = {
    "out.test": ["qrels.test", "results.test"],
    "out.test.a": ["-m", "all_trec", "qrels.test", "results.test"],
    "out.test.aq": ["-m", "all_trec", "-q", "qrels.test", "results.test"],
    "out.test.aqc": ["-m", "all_trec", "-q", "-c", "qrels.test", "results.trunc"],
}


@pytest.fixture
def folder() -> Path:
    """Where trec_eval's tests are."""
    return real.folder().parent / "trec-eval-tests"


@pytest.mark.parametrize("expected", OUTPUTS)
def test_the_output_is_that_of_trec_eval(expected: str, folder: Path) -> None:
    out, errors = io.BytesIO(), io.StringIO()
    arguments = [str(folder / word) if "." in word else word for word in OUTPUTS[expected]]
    assert main(arguments, out, errors) == 0
    assert out.getvalue() == (folder / expected).read_bytes()
    assert errors.getvalue() == ""
