"""The campaign of the laboratory, made once for the tests of a file; jobs are added to it, never taken away."""

import pytest

from tests.world.groves import planted


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    """Eight runs of four teams on twelve topics, three levels, two qrels versions."""
    return planted(tmp_path_factory.mktemp("laboratory"))
