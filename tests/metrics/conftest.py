from __future__ import annotations

from hypothesis import settings

# What takes long here is the first example, which compiles regular expressions and fills caches.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
