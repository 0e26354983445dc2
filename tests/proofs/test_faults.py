"""The short form of the proof with what a server stands on broken."""

import pytest

from tests.proofs.faults import FAULTS, CannotTry


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_fault_is_refused_with_a_reason_and_nothing_is_lost(name, tmp_path):
    try:
        assert FAULTS[name](tmp_path, 0) == []
    except CannotTry as error:
        pytest.skip(str(error))
