"""Thoroughness of a session of tests: how many of its examples a property test looks at."""

import os

from hypothesis import settings

SHARE = 1.0 if os.environ.get("GAINBOARD_THOROUGH") else 0.1
"""A tenth, and all of them in a long session."""


def examples(count):
    """Return how many examples a property test looks at, of the number that it has in a long session."""
    return max(1, int(count * SHARE))


# Without a deadline: the first example compiles regular expressions and fills caches.
settings.register_profile("gainboard", max_examples=examples(100), deadline=None)
settings.load_profile("gainboard")
