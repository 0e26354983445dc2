"""What a command shows and how it ends while it waits."""

import os
import signal
import threading
from io import StringIO

import pytest

from gainboard.cli import progress
from gainboard.cli.jobs import apart
from gainboard.cli.progress import ProgressLine, progress_line
from tests.cli.terminals import Terminal


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


def test_progress_says_how_much_is_done_how_fast_and_how_long_it_takes_yet():
    line = progress_line("scoring", 45e6, 180e6, 3.0, "B")
    assert line == "scoring  [#####---------------] 45 M/180 MB  15 MB/s  0:09 left"
    assert progress_line("job", 7, None, 2.0, note="running") == "job  7  3.5/s  running"
    assert progress_line("job", 0, 10, 0.0) == "job  [--------------------] 0/10  0/s"


def test_progress_is_shown_on_a_terminal_alone_and_is_gone_at_its_end(monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = Terminal(), StringIO()
    for stream in (terminal, file):
        with ProgressLine("scoring", stream=stream) as shown:
            shown.at(1, 2)
    assert "scoring  [##########----------] 1/2" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")
    assert file.getvalue() == ""
