"""The demo on a server: loaded once for all processes of a session, by its command, as that takes ten seconds."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.main import open_workspace
from gainboard.settings import Settings
from tests.outside import outside
from tests.waiting import until
from tests.world.processes import answers
from tests.world.servers import free_port, new_settings, serving


@contextmanager
def serving_demo(factory, **given):
    folder = factory.mktemp("demo")
    shutil.copy(loaded_demo(factory) / "data" / "gainboard.db", folder)
    with serving(new_settings(folder, **given)) as service:
        yield service


def loaded_demo(factory):
    """The folder in which the first process that asks runs the command while others wait.

    `said.json` has what it printed, its address, and the role of the token that it printed.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    loaded = shared / "loaded-demo"
    with (shared / "loaded-demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not loaded.exists():
            loading = shared / "loading-demo"
            shutil.rmtree(loading, ignore_errors=True)
            loading.mkdir()
            url, said = _run(loading)
            workspace, _ = open_workspace(Settings.read({}, data=loading / "data"))
            (token,) = re.findall(r"gainboard_\S+", said[0])
            role = authenticate(workspace, Sender.of(token)).role
            workspace.database.close()
            (loading / "said.json").write_text(json.dumps([*said, url, role]))
            loading.rename(loaded)
    return loaded


def _run(folder):
    """The address of the command, which is interrupted once it serves, and what it has printed on both streams.

    In a process of its own: the event loop of a browser may run in this one.
    """
    port = free_port()
    command = [sys.executable, "-m", "gainboard", "demo", "--data", str(folder / "data"), "--port", str(port)]
    world = outside(HOME=str(folder))
    with subprocess.Popen(command, env=world, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        until(lambda: answers(f"http://127.0.0.1:{port}"), 200)
        running.send_signal(signal.SIGINT)
        return f"http://127.0.0.1:{port}", running.communicate()
