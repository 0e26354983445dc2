"""Thoroughness of a session of tests: under CI, property tests look at all of their examples, and else at a fifth."""

from __future__ import annotations

import os

from hypothesis import settings

IS_THOROUGH = bool(os.environ.get("CI"))


def examples(count: int) -> int:
    """Return how many examples a property test looks at, of the number that it has under CI."""
    return count if IS_THOROUGH else max(1, count // 5)


# Without a deadline: the first example compiles regular expressions and fills caches.
settings.register_profile("gainboard", max_examples=examples(100), deadline=None)
settings.load_profile("gainboard")
