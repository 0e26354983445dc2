"""The short form of the proof under load: nobody is answered 5xx, and nothing is lost. Times are not judged here."""

from dataclasses import replace

import pytest

from tests.proofs.faults import CannotTry
from tests.proofs.load import LOADS, SLOW_ANSWER, Crowd

SECONDS = 2
FEWER = 4


@pytest.mark.parametrize("name", list(LOADS))
def test_nobody_is_failed_under_load(name, tmp_path):
    load = LOADS[name]
    if isinstance(load, Crowd):
        load = replace(load, count=load.count // FEWER)
    try:
        found = load(tmp_path, SECONDS)
    except CannotTry as error:
        pytest.skip(str(error))
    assert [each for each in found if not each.startswith(SLOW_ANSWER)] == []
