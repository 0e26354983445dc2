"""The demo on a server: loaded once for all processes of a session, as that takes ten seconds."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gainboard import demo
from gainboard.evaluation.principals import Sender, authenticate
from gainboard.main import open_workspace
from tests.conftest import ADMIN, Service, new_settings, serving


@contextmanager
def serving_demo(factory: pytest.TempPathFactory, **given: Any) -> Iterator[Service]:
    """A server on a copy of the demo, with both campaigns."""
    folder = factory.mktemp("demo")
    shutil.copy(_database(factory), folder)
    with serving(new_settings(folder, **given)) as service:
        yield service


def _database(factory: pytest.TempPathFactory) -> Path:
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
