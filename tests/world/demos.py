"""The demo on a server: loaded once for all processes of a session, by its command, as that takes ten seconds."""

import fcntl
import json
import os
import re
import shutil
from contextlib import contextmanager

from gainboard.evaluation.principals import Sender, authenticate
from gainboard.main import open_workspace
from gainboard.settings import Settings
from tests.cli.shells import Shell, served
from tests.world.servers import new_settings, serving


@contextmanager
def serving_demo(factory, **given):
    """A server on a copy of the demo, with both campaigns."""
    folder = factory.mktemp("demo")
    shutil.copy(loaded_demo(factory) / "data" / "gainboard.db", folder)
    with serving(new_settings(folder, **given)) as service:
        yield service


def loaded_demo(factory):
    """The folder in which the first process that asks runs the command while others wait.

    `said.json` has its exit code, what it printed, its address, and the role of the token that it printed.
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
            done, url = served(Shell(loading), f"gainboard demo --data {loading / 'data'}", lambda url: url)
            workspace, _ = open_workspace(Settings.read({}, data=loading / "data"))
            (token,) = re.findall(r"gainboard_\S+", done.out)
            role = authenticate(workspace, Sender.of(token)).role
            workspace.database.close()
            (loading / "said.json").write_text(json.dumps([*done, url, role]))
            loading.rename(loaded)
    return loaded
