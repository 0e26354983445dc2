"""What the README says is true: its commands run, and its requests answer as printed."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from gainboard.cli.commands import view
from tests.outside import ROOT, outside
from tests.waiting import until
from tests.world.pages import block as below
from tests.world.processes import answers
from tests.world.servers import free_port

pytestmark = pytest.mark.outer

README = (ROOT / "README.md").read_text()
PRINTED_BY_IT = "printed.txt"
PRINTED = "http://127.0.0.1:8000"

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the README's requests are curl's")


def block(kind, name):
    return below(README, f"{kind}: {name}")


def command(name):
    """The last part of a command line: the installed command itself, here that of the running Python."""
    words = block("command", name).split("&&")[-1].split()
    return [sys.executable, "-m", "gainboard", *words[words.index(".venv/bin/gainboard") + 1 :]]


@contextmanager
def running(arguments, folder, settings=None, end=signal.SIGINT):
    """The address of a server that this command line starts on a free port; it ends as by Ctrl+C unless told else."""
    port = free_port()
    command, environment = [*arguments, "--port", str(port)], outside(**(settings or {}))
    with (
        (folder / PRINTED_BY_IT).open("w") as printed,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=printed, start_new_session=True) as server,
    ):
        try:
            until(lambda: server.poll() is not None or answers(f"http://127.0.0.1:{port}"), 120)
            assert server.poll() is None
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(end)
            try:
                server.wait(30)
            finally:
                with suppress(ProcessLookupError):  # of a server that did not end, its processes would go on
                    os.killpg(server.pid, signal.SIGKILL)


def shell(script, url, folder):
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


def session(block):
    lines = block.splitlines(keepends=True)
    printed = "".join(line for line in lines if not line.startswith("$ "))
    return "".join(line.removeprefix("$ ") for line in lines if line.startswith("$ ")), printed


def test_a_campaign_of_ones_own_is_served_as_the_readme_shows(tmp_path):
    setting, token = block("command", "serve").split()[0].split("=")
    with running(command("serve"), tmp_path, {setting: token}) as url:
        create = ".venv/bin/gainboard collection create web --levels B,A,S --gains 3:2:1"
        made = shell(f"export GAINBOARD_TOKEN={token}\n{create}", url, tmp_path)
    assert "3:2:1" in made


def test_scripts_get_what_trec_eval_prints(tmp_path):
    shell(block("requests", "files"), "", tmp_path)
    printed = shell(block("requests", "trec_eval"), "", tmp_path)
    assert [line.split() for line in printed.splitlines()] == [
        ["map", "all", "0.4095"],
        ["ndcg_cut_10", "all", "0.5537"],
    ]


def test_the_board_of_files_is_opened_as_an_example_of_its_command_does():
    line = block("requests", "view").strip().removeprefix(".venv/bin/")
    assert line.replace("try/", "") in [example.line for example in view.view.examples]


class Reader:
    """Somebody who follows the pages in a fresh copy of the source, without any other installation of Gainboard."""

    def __init__(self, folder):
        self.clone = folder / "clone"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        for name in listed.stdout.decode().rstrip("\0").split("\0"):
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.clone / name)
        folders = [Path(sys.base_prefix, "bin"), *map(Path, os.environ["PATH"].split(os.pathsep))]
        path = os.pathsep.join(str(each) for each in folders if not (each / "gainboard").exists())
        # No bytecode of 13,000 modules, a third of the time of an installation: pip reads this the other way round.
        self._world = outside(PATH=path, HOME=str(folder), BROWSER="true", PIP_NO_COMPILE="0")

    def run(self, script):
        command = ["bash", "-euo", "pipefail", "-c", script]
        return subprocess.run(command, cwd=self.clone, env=self._world, capture_output=True, text=True)

    def look(self, script, code=0):
        """Open the board that the last command of a script serves, and end it as by Ctrl+C. It exits with this code."""
        *before, last = script.strip().splitlines()
        script = "\n".join([*before, f"exec {last}"])
        with subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.clone,
            env=self._world,
            stdout=subprocess.PIPE,
            text=True,
        ) as serving:
            assert serving.stdout is not None
            addresses = (re.search(r"http://[\w.:]+/\S*", line) for line in serving.stdout)
            address = next(found[0] for found in addresses if found)
            assert httpx.get(address, follow_redirects=True, timeout=60).status_code == 200
            serving.send_signal(signal.SIGINT)
        assert serving.returncode == code


def marked(page):
    found = re.findall(r"<!-- (setup|run|view) -->\n```(?:console|sh)\n(.*?)```", page, re.DOTALL)
    return [(mark, session(text)[0] if "$ " in text else text) for mark, text in found]


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_the_doors_and_the_tutorial_run_as_printed_in_a_fresh_clone(tmp_path):
    reader = Reader(tmp_path)
    *installing, demo = block("command", "demo").split(" && ")
    # `pip check` fails where pyproject.toml asks for what the lock does not hold.
    installing.append(".venv/bin/pip check")
    for script in (" && ".join(installing), block("requests", "files"), block("requests", "trec_eval")):
        done = reader.run(script)
        assert done.returncode == 0, (script, done.stderr)
    reader.look(demo, 128 + signal.SIGINT)
    reader.look(block("requests", "view"))
    blocks = marked((ROOT / "docs/tutorial-files.md").read_text(encoding="utf-8"))
    (_, start), *others, (_, extra), (_, last) = blocks
    for mark, script in others:
        if mark == "view":
            reader.look(start.replace("mkdir tutorial && ", "") + script)
            continue
        done = reader.run(start + script)
        assert done.returncode == 0, (script, done.stderr)
        start = start.replace("mkdir tutorial && ", "")
    _without_figures(reader.run(start + last))
    shutil.rmtree(reader.clone / "tutorial/power")
    done = reader.run(start + extra + last)
    assert done.returncode == 0, done.stderr
    assert (reader.clone / "tutorial/power/asl-curves.svg").exists()
    assert (reader.clone / "tutorial/board.tex").exists()


def _without_figures(done):
    """The reader was told before and after, in words, that figures need an extra."""
    before, *_, after = done.stderr.splitlines()
    assert done.returncode == 1
    assert "note: figures will not be drawn, because the `figures` extra is not installed here" in before
    assert after.startswith("gainboard: Results and tables are written, but not the figures (asl-curves)")
    assert '"level"' not in done.stderr, "a line of a log is for operators"
