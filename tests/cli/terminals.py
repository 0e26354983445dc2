"""A command in a terminal of its own."""

import os
import pty
import signal
import subprocess
import sys
from io import StringIO

from gainboard.cli import main
from tests.outside import outside


class Terminal(StringIO):
    """What is typed at a terminal, or written to it."""

    def isatty(self):
        return True


def in_terminal(arguments, interrupted_at=None, **environment):
    """The exit code, and all that a person would see; Ctrl+C is pressed once what was seen satisfies the condition."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "gainboard", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=outside(TERM="xterm", COLUMNS="200", **environment),
    ) as command:
        os.close(theirs)
        seen = b""
        is_pressed = interrupted_at is None
        try:
            while piece := _read(ours):
                seen += piece
                if not is_pressed and interrupted_at is not None and interrupted_at(seen.decode()):
                    command.send_signal(signal.SIGINT)
                    is_pressed = True
        except BaseException:
            command.kill()  # else the end of this block would wait for a command that nobody interrupts
            raise
    os.close(ours)
    return command.returncode, seen.decode()


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux's way to say that nobody writes any more
        return b""


def printed(capsys, *arguments):
    assert main(arguments) == 0
    return capsys.readouterr().out
