"""One server for the tests of a file, as in `tests.api`."""

from tests.api.conftest import campaign, on_both, shared, still

__all__ = ["campaign", "on_both", "shared", "still"]
