"""Waiting for a condition, with a deadline that a machine three times slower than ours meets, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

T = TypeVar("T")


def until(condition: Callable[[], T], seconds: float = 60) -> T:
    """Return what the condition gives as soon as that is true; fail when the time is up."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.01)
    return found


def over(client: httpx.Client, url: str, seconds: float = 90) -> Any:
    """Return a job or report as it is once its work has ended, well or not."""

    def ended() -> Any:
        answer = client.get(url, params={"wait": 30})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return None if found["state"] in ("queued", "running") else found

    return until(ended, seconds)
