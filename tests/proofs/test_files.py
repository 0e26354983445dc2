"""The short form of the proof of files. It also shows that a broken reader is noticed."""

from collections import Counter

import pytest

from gainboard.acceleration import is_installed
from gainboard.trec import READING, rankings
from tests.proofs.files import check_batch, check_files

FILES = 2_500
NEEDED = 10
"""Files of each kind without which the proof would say little."""


@pytest.fixture(autouse=True)
def _plain_again():
    """The compiled reader is for these tests alone."""
    if not is_installed():
        pytest.skip("the fast extra is not installed")
    yield
    READING.unload()


def test_every_fault_is_found_on_its_line_and_none_in_a_valid_file():
    counts, wrong = Counter(), []
    for counted, found in check_files(FILES):
        counts.update(counted)
        wrong += found
    assert wrong == []
    assert len(counts) == 22
    assert min(counts.values()) > NEEDED


def test_a_reader_that_orders_ties_wrongly_is_noticed(monkeypatch):
    monkeypatch.setattr(rankings, "_best_first", lambda keys, documents: (-keys).argsort(kind="stable"))
    _, wrong = check_batch(0, range(200))
    assert any("trec_eval" in each for each in wrong)
    assert any("plain reader" in each for each in wrong)
