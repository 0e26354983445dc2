"""The short form of the proof under load: nobody is answered 5xx, and nothing is lost. Times are not judged here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proofs.load import LOADS, SLOW_ANSWER

pytestmark = pytest.mark.outer
SECONDS = 4


@pytest.mark.parametrize("name", list(LOADS))
def test_nobody_is_failed_under_load(name: str, tmp_path: Path) -> None:
    assert [each for each in LOADS[name](tmp_path, SECONDS) if not each.startswith(SLOW_ANSWER)] == []
