"""Waiting for a condition, with a deadline that a machine three times slower than ours meets, too."""

import time


def until(condition, seconds=60):
    """Return what the condition gives as soon as that is true; fail when the time is up."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.01)
    return found


def over(client, url, seconds=90):
    """Return a job or report as it is once its work has ended, well or not."""

    def ended():
        answer = client.get(url, params={"wait": 30})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return None if found["state"] in ("queued", "running") else found

    return until(ended, seconds)
