"""The demo on a server: loaded once for all processes of a session, as that takes ten seconds."""

import fcntl
import os
import shutil
from contextlib import contextmanager

from gainboard import demo
from gainboard.evaluation.principals import Sender, authenticate
from gainboard.main import open_workspace
from tests.world.servers import ADMIN, new_settings, serving


@contextmanager
def serving_demo(factory, **given):
    """A server on a copy of the demo, with both campaigns."""
    folder = factory.mktemp("demo")
    shutil.copy(_database(factory), folder)
    with serving(new_settings(folder, **given)) as service:
        yield service


def _database(factory):
    """The file of the demo, which the first process that asks makes while others wait."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    loaded = shared / "loaded-demo"
    with (shared / "loaded-demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not loaded.exists():
            loading = shared / "loading-demo"
            shutil.rmtree(loading, ignore_errors=True)
            workspace, _ = open_workspace(new_settings(loading))
            list(demo.load(workspace, authenticate(workspace, Sender.of(ADMIN))))
            workspace.database.close()
            loading.rename(loaded)
    return loaded / "gainboard.db"
