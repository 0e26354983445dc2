"""What a command shows and how it ends while it waits."""

import os
import signal
import threading

import pytest

from gainboard.cli.jobs import apart


def test_ctrl_c_ends_the_wait_for_a_call_that_would_clean_up_for_ever():
    lock, begun = threading.Lock(), threading.Event()

    def stuck():
        # As in a request that is interrupted where the HTTP library holds its lock: cleaning up waits for the lock.
        lock.acquire()
        begun.set()
        try:
            threading.Event().wait()
        finally:
            lock.acquire()

    def press():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=press, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            apart(stuck)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_a_call_returns_and_raises_is_handed_on():
    assert apart(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        apart(lambda: 1 // 0)
