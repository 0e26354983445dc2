"""What the README says is true: its commands run, and its requests answer as printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from gainboard.cli.commands import view
from tests.outside import ROOT, outside

pytestmark = pytest.mark.outer

README = (ROOT / "README.md").read_text()
PRINTED_BY_IT = "printed.txt"
PRINTED = "http://127.0.0.1:8000"
QRELS = "1 0 d1 3\n1 0 d2 0\n1 0 d3 1\n2 0 d1 2\n"
RUN = "1 Q0 d1 1 2.5 lemur-1\n1 Q0 d2 2 1.5 lemur-1\n2 Q0 d1 1 0.5 lemur-1\n"

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the README's requests are curl's")


def block(kind: str, name: str) -> str:
    """The fenced block below a mark."""
    found = re.search(rf"<!-- {kind}: {name} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None, f"the README has no block {kind}: {name}"
    return found[1]


def command(name: str) -> list[str]:
    """The last part of a command line: the installed command itself, here that of the running Python."""
    words = block("command", name).split("&&")[-1].split()
    return [sys.executable, "-m", "gainboard", *words[words.index(".venv/bin/gainboard") + 1 :]]


@contextmanager
def running(
    arguments: list[str], folder: Path, settings: Mapping[str, str] | None = None, end: signal.Signals = signal.SIGINT
) -> Iterator[str]:
    """The address of a server that this command line starts on a free port; it ends as by Ctrl+C unless told else."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command, environment = [*arguments, "--port", str(port)], outside(**(settings or {}))
    with (
        (folder / PRINTED_BY_IT).open("w") as printed,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=printed, start_new_session=True) as server,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(end)
            try:
                server.wait(30)
            finally:
                with suppress(ProcessLookupError):  # of a server that did not end, its processes would go on
                    os.killpg(server.pid, signal.SIGKILL)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Until the server answers, or has ended."""
    deadline = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/readyz", timeout=120).status_code == 200:
                return
        except httpx.ConnectError:
            time.sleep(0.05)  # nobody listens yet: there is nothing to wait on but time
    raise AssertionError(f"no answer at {url}")


def shell(script: str, url: str, folder: Path) -> str:
    """What a script of the README prints, with the server and the command where they are here."""
    command = f"{shlex.quote(sys.executable)} -m gainboard"
    done = subprocess.run(
        ["bash", "-euc", script.replace(PRINTED, url).replace(".venv/bin/gainboard", command)],
        cwd=folder,
        env=outside(GAINBOARD_SERVER=url, HOME=str(folder)),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def session(block: str) -> tuple[str, str]:
    """The commands of a console, and what they print."""
    lines = block.splitlines(keepends=True)
    printed = "".join(line for line in lines if not line.startswith("$ "))
    return "".join(line.removeprefix("$ ") for line in lines if line.startswith("$ ")), printed


def test_a_campaign_of_ones_own_is_served_as_the_readme_shows(tmp_path: Path) -> None:
    setting, token = block("command", "serve").split()[0].split("=")
    with running(command("serve"), tmp_path, {setting: token}) as url:
        create = ".venv/bin/gainboard collection create web --levels B,A,S --gains 3:2:1"
        made = shell(f"export GAINBOARD_TOKEN={token}\n{create}", url, tmp_path)
    assert "3:2:1" in made


def test_scripts_get_what_trec_eval_prints(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    printed = shell(block("requests", "trec_eval"), "", tmp_path)
    assert [line.split() for line in printed.splitlines()] == [
        ["map", "all", "0.7500"],
        ["ndcg_cut_10", "all", "0.9131"],
    ]


def test_the_board_of_files_is_opened_as_an_example_of_its_command_does() -> None:
    line = block("requests", "view").strip().removeprefix(".venv/bin/")
    assert line in [example.line for example in view.COMMAND.examples]


def test_every_file_that_the_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []
