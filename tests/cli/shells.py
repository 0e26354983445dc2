"""A small shell whose commands run in this process: to start Python for each took a tenth of all tests."""

import io
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from glob import glob
from itertools import chain, groupby
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx
import pytest

from gainboard.cli import main
from gainboard.cli.local_service import address_of, listen
from tests.outside import outside
from tests.waiting import until
from tests.world.servers import NO_AUTHORITIES


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """Runs scripts in a folder, and with these variables beside none of the settings of the tests.

    It reads `|`, `<`, `>`, `*`, comments, variables, `NAME=VALUE COMMAND` and `NAME=$(COMMAND)`, and ends a script with
    the first command that fails.
    """

    def __init__(self, folder, **environment):
        self._folder = folder
        self._world = outside(HOME=str(folder), **environment)
        self._known = dict(self._world)

    def run(self, script):
        """Return the last exit code, and all that was printed."""
        code, out, err = 0, "", io.StringIO()
        for line in script.splitlines():
            assigned = re.fullmatch(r"(\w+)=\$\((.*)\)", line)
            code, printed = self._line(assigned[2] if assigned else line, err)
            if assigned:
                self._known[assigned[1]] = printed.decode().rstrip("\n")
            else:
                out += printed.decode()
            if code:
                break
        return Done(code, out, err.getvalue())

    def _line(self, line, err):
        words = shlex.shlex(Template(line).safe_substitute(self._known), posix=True, punctuation_chars="|<>")
        words.whitespace_split = True
        code, passed = 0, b""
        for is_bar, command in groupby(words, "|".__eq__):
            if not is_bar and code == 0:
                code, passed = self._command(list(command), passed, err)
        return code, passed

    def _command(self, words, given, err):
        source, target = _file_after("<", words), _file_after(">", words)
        start = words.index("gainboard")
        variables = self._world | dict(word.split("=", 1) for word in words[:start])
        files = [sorted(glob(word, root_dir=self._folder)) or [word] for word in words[start + 1 :]]
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self._folder)
            # As a whole: threads of servers that other tests share may be reading the variables.
            patch.setattr(os, "environ", variables)
            content = Path(source).read_bytes() if source else given
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
            with unchanged(), redirect_stdout(out), redirect_stderr(err):
                code = main([*chain.from_iterable(files)])
            printed = out.buffer.getvalue()
            if target:
                Path(target).write_bytes(printed)
        return code, b"" if target else printed


def _file_after(sign, words):
    """Take a sign and the name of a file after it out of the words of a command."""
    if sign not in words:
        return None
    place = words.index(sign)
    del words[place]
    return words.pop(place)


def shell(line, folder, **environment):
    """Return what a line comes to in bash, where `gainboard` is this one in a process of its own."""
    function = f'gainboard() {{ {shlex.quote(sys.executable)} -m gainboard "$@"; }}'
    whole = outside(HOME=str(folder), **environment)
    return subprocess.run(
        ["bash", "-c", f"{function}\n{line}"], cwd=folder, env=whole, capture_output=True, text=True, check=False
    )


EACH = """
import os, runpy, sys
import gainboard.cli.parsing, numpy
place, *words = sys.argv[1:]
for number, command in enumerate(" ".join(words).split(" NEXT ")):
    if not (pid := os.fork()):
        for handle, name in enumerate(("in", "out", "err")):
            os.dup2(os.open(f"{place}/{number}.{name}", os.O_RDWR | os.O_CREAT), handle)
        sys.argv = command.split(" ")
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def each_apart(commands, folder, given=None, prepare=None, **environment):
    """Return what each command of this form comes to in a process of its own, in bytes: `("gainboard", "me")`.

    They are forks of one process, as to start Python takes longer than most commands. Their words have no blanks, and
    are not encoded by this process's locale. `given` has the standard input of some, by their numbers.
    """
    words = [
        word.encode() if isinstance(word, str) else word for word in chain(*((*each, "NEXT") for each in commands))
    ]
    variables = outside(OPENBLAS_NUM_THREADS="1", HOME=str(folder)) | environment
    with TemporaryDirectory() as name:
        place = Path(name)
        for number in range(len(commands)):
            (place / f"{number}.in").write_bytes((given or {}).get(number, b""))
        asked = [sys.executable, "-c", EACH, name, *words[:-1]]
        done = subprocess.run(asked, cwd=folder, env=variables, capture_output=True, check=True, preexec_fn=prepare)
        codes = map(int, done.stdout.split())
        return [
            Done(code, *((place / f"{number}.{stream}").read_bytes() for stream in ("out", "err")))
            for number, code in enumerate(codes)
        ]


@contextmanager
def unchanged():
    """Restore what a command that serves changes for good, as its process ends with it: the log, and what files get."""
    loggers = [logging.getLogger(name) for name in (None, "gainboard", "uvicorn", "uvicorn.error", "uvicorn.access")]
    before = [(each.handlers[:], each.level, each.propagate) for each in loggers]
    mask, interval = os.umask(0o077), sys.getswitchinterval()
    os.umask(mask)
    try:
        yield
    finally:
        os.umask(mask)
        sys.setswitchinterval(interval)
        for each, (handlers, level, propagate) in zip(loggers, before, strict=True):
            each.handlers[:], each.propagate = handlers, propagate
            each.setLevel(level)


def interrupted(shell, line, visit, number=signal.SIGINT):
    """Return what came of a command that is visited and then gets a signal, by default Ctrl+C's; and of the visit.

    The visit, in a thread of its own, waits by itself until there is something to visit.
    """
    has_ended = threading.Event()

    def send():
        try:
            return visit()
        finally:
            if not has_ended.is_set():
                os.kill(os.getpid(), number)

    with ThreadPoolExecutor(1) as pool:
        visiting = pool.submit(send)
        try:
            done = shell.run(line)
        finally:
            has_ended.set()
        return done, visiting.result()


def served(shell, line, visit, host="127.0.0.1"):
    """Return what came of a command that serves, and what it was asked at its address, on a free port of this host."""
    with listen(host, 0) as free:
        url = address_of(free)

    def ready():
        with suppress(httpx.TransportError):
            return httpx.get(f"{url}/readyz", timeout=60, verify=NO_AUTHORITIES).status_code == 200
        return False

    def ask():
        until(ready, 200)  # the demo loads its campaigns first
        return visit(url)

    return interrupted(shell, f"{line} --port {url.rpartition(':')[2]}", ask)
