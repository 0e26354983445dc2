"""A real server on a real database: what touches the store runs on SQLite and on PostgreSQL."""

import asyncio
import gc
import os
import platform
import signal
import socket
import ssl
import sys
import threading
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest
import uvicorn.server
from fastapi import FastAPI
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from gainboard.cli.serving import Server
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store.database import Database
from gainboard.store.schema import migrate
from tests import (
    private_postgres,
    thorough,  # noqa: F401 (it sets how many examples property tests look at)
)

INNER_LOOP = "not outer"
SECOND_PART = "proof or postgresql"
"""What `.ci/run` runs after README's command."""
HERE = Path(__file__).parent
OUTER = ("api", "client", "dashboard", "jobs", "operations", "proofs", "reports", "trust")
OF_FIRST_PART = ("analyses", "defects", "exhibits", "reports", "statistics", "trec", "trec_eval")
"""The folders without a proof, and without a test that runs on PostgreSQL."""
LONGEST = {
    *("test_every_page.py", "test_demo.py", "test_ways.py"),
    *("test_dockerfile.py", "test_fleet.py", "test_load.py", "test_owners.py", "test_faults.py"),
    *("test_crash.py", "test_slots.py", "test_package.py"),
}
ON_BOTH_DATABASES = {"database_url", "migrated_url", "postgres_url", "on_both"}
ADMIN = "the-admin-token-of-the-tests"
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Tests speak plain HTTP. Reading the certificates of the usual authorities takes a client longer than many tests."""


# A shell that starts the tests in the background has SIGINT ignored. Servers that tests start would inherit that, and
# Ctrl+C would not end them.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # also collected without pytest-xdist
def pytest_xdist_auto_num_workers(config):
    """One process more than cores for `-n auto`: tests wait for browsers and servers. Two more are slower."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path, config):
    """Let a part of the tests read no folder of which it runs nothing: imports took a quarter of the inner loop."""
    unread = {INNER_LOOP: OUTER, SECOND_PART: OF_FIRST_PART}.get(config.option.markexpr, ())
    return True if collection_path.parent == HERE and collection_path.name in unread else None


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses among the marks
def pytest_collection_modifyitems(items):
    """Mark what runs on PostgreSQL, the proofs, and the folders in which most tests are slow or start processes."""
    for item in items:
        fixtures = getattr(item, "fixturenames", [])
        folder = item.path.relative_to(HERE).parts[0]
        if ON_BOTH_DATABASES.intersection(fixtures) or folder in OUTER:
            item.add_marker(pytest.mark.outer)
        if "postgres_url" in fixtures:
            item.add_marker(pytest.mark.postgresql)
        if folder == "proofs":
            item.add_marker(pytest.mark.proof)
        if folder in OF_FIRST_PART and any(map(item.get_closest_marker, ("postgresql", "proof"))):
            raise pytest.UsageError(f"{item.nodeid} is of the second part: take {folder!r} out of OF_FIRST_PART")
    if "PYTEST_XDIST_WORKER" in os.environ:
        _begin_with_the_longest(items)


def _begin_with_the_longest(items):
    """Sort files so that no process waits for another one at the end."""
    outer = {item.path for item in items if item.get_closest_marker("outer")}
    items.sort(
        key=lambda item: (item.path.name not in LONGEST, item.path.parent.name != "dashboard", item.path not in outer)
    )


def pytest_configure(config):
    """Keep that order: by itself pytest-xdist begins with the files of most tests, which are quick."""
    config.option.loadscopereorder = False


def pytest_collection_finish():
    """Forget what imports have started: NumPy asks `uname`, and so does Python for the processor, once.

    All modules and tests are here to stay: a job frees memory by a collection, which would look at them for 0.3 s.
    """
    platform.processor()
    _started.clear()
    gc.freeze()


_started = []
"""The programs that were started since the last test, each with the thread that started it."""


def _note_start(event, arguments):
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty", "os.system"):
        _started.append((threading.get_ident(), f"{event} {arguments[:2]}"))


sys.addaudithook(_note_start)


@pytest.fixture(autouse=True)
def _inner_loop_starts_no_process(request):
    """Fail a test of the inner loop that starts a process.

    In a whole session only what its own thread starts: a server that other tests share may start one late.
    """
    yield
    is_inner_loop = request.config.option.markexpr == INNER_LOOP
    started = [what for thread, what in _started if is_inner_loop or thread == threading.get_ident()]
    _started.clear()
    if started and request.node.get_closest_marker("outer") is None:
        pytest.fail(f"This test starts a process: mark it with `pytest.mark.outer`. {started[0]}")


@pytest.fixture(scope="session")
def postgres_url():
    """A PostgreSQL to test on: the one that is configured, else a private one, else none and that is said."""
    if url := os.environ.get("GAINBOARD_TEST_POSTGRES"):
        yield url
        _drop_template(url)
        return
    if not private_postgres.is_installed():
        pytest.skip("no PostgreSQL: set GAINBOARD_TEST_POSTGRES or install its server")
    # Not below pytest's folders, which another session of pytest closes to everybody but its owner.
    with TemporaryDirectory() as folder, private_postgres.running(Path(folder)) as server:
        yield server.url


BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
"""The databases of tests where the two can differ."""


@pytest.fixture(params=BOTH)
def database_url(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'gainboard.db'}"
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
def empty_postgres(postgres_url):
    """An empty database on PostgreSQL."""
    with new_database(postgres_url) as url:
        yield url


@contextmanager
def new_database(url, is_migrated=False):
    """A new database of a PostgreSQL server, empty or with Gainboard's tables."""
    name = f"test_{uuid4().hex}"
    _ask_postgres(url, f"CREATE DATABASE {name} TEMPLATE {_template(url) if is_migrated else 'template0'}")
    try:
        yield make_url(url).set(database=name).render_as_string(False)
    finally:
        _ask_postgres(url, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def copied_database(url, original):
    """A copy of a database of a PostgreSQL server that nobody uses meanwhile."""
    name, of = f"test_{uuid4().hex}", make_url(original).database
    _ask_postgres(url, f"CREATE DATABASE {name} TEMPLATE {of}")
    try:
        yield make_url(url).set(database=name).render_as_string(False)
    finally:
        _ask_postgres(url, f"DROP DATABASE {name} WITH (FORCE)")


@cache
def _template(url):
    """The name of a migrated database, which takes ten times as long to make as to copy."""
    name = f"test_{uuid4().hex}"
    _ask_postgres(url, f"CREATE DATABASE {name} TEMPLATE template0")
    database = Database(make_url(url).set(database=name).render_as_string(False))
    migrate(database)
    database.close()
    return name


def _drop_template(url):
    if _template.cache_info().currsize:
        _ask_postgres(url, f"DROP DATABASE {_template(url)} WITH (FORCE)")
        _template.cache_clear()


def _ask_postgres(url, statement):
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


class Service:
    """A running Gainboard, and clients of it."""

    application: FastAPI
    """What is served, if it is served in this process."""

    def __init__(self, url):
        self.url = url
        self._clients = []
        self._addresses = ip_network("198.18.0.0/15").hosts()
        self.organiser = self.client(ADMIN)
        self.anonymous = self.client(None)

    def client(self, token):
        """A client with this token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # All connections are kept, for nearly as long as the server keeps them: 75 seconds. To keep few, or after 5
        # seconds (its own default), httpx may close one that another thread has just been given.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60)
        client = httpx.Client(base_url=self.url, headers=headers, timeout=60, limits=limits, verify=NO_AUTHORITIES)
        self._clients.append(client)
        return client

    def stranger(self):
        """A client with an invalid token, who sends each request from another address, so that no limit is reached."""
        client = self.client("gainboard_unknown")
        client.event_hooks["request"] = [
            lambda sent: sent.headers.update({"X-Forwarded-For": str(next(self._addresses))})
        ]
        return client

    def token(self, collection, role, team=None):
        """A client with a new token of this collection."""
        sent = {"role": role} | ({"team": team} if team else {})
        answer = self.organiser.post(f"/v1/collections/{collection}/tokens", json=sent)
        assert answer.status_code == 201, answer.text
        return self.client(answer.json()["token"])

    def close(self):
        """Closes all clients."""
        for client in self._clients:
            client.close()


@contextmanager
def serving(settings):
    """A server over these settings."""
    with running(create_app(open_workspace(settings)[0], settings)) as service:
        yield service


def _brief_sleep(seconds):
    """Sleep less: uvicorn looks every 0.1 s whether it shall end, and then waits as long for its connections."""
    return asyncio.sleep(min(seconds, 0.005))


setattr(uvicorn.server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": _brief_sleep}))  # noqa: B010


class Announced(Server):
    """A server that tells other threads when its start has ended, well or not."""

    def __init__(self, application, root_path):
        super().__init__(application, root_path)
        self.start_ended = threading.Event()

    async def startup(self, sockets=None):
        """Starts, and tells it."""
        await super().startup(sockets)
        self.start_ended.set()

    def run(self, sockets=None):
        """Serves to its end, which ends the start too where that failed."""
        try:
            super().run(sockets)
        finally:
            self.start_ended.set()


@cache
def description():
    """OpenAPI's, which is every application's and takes a second to make."""
    database = Database("sqlite://")
    described = create_app(Workspace(database)).openapi()
    database.close()
    return described


@contextmanager
def running(application, root_path=""):
    """A server of this application, on a free port of this machine, in a thread of its own."""
    application.openapi = description
    server = Announced(application, root_path)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    service = Service(f"http://127.0.0.1:{listener.getsockname()[1]}")
    service.application = application
    try:
        assert server.start_ended.wait(60)
        assert server.started
        yield service
    finally:
        service.close()
        server.should_exit = True
        thread.join()


@cache
def migrated():
    """The file of a migrated SQLite database, which takes five times as long to make as to open."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "gainboard.db")
        database = Database(f"sqlite:///{file}")
        migrate(database)
        database.close()
        return file.read_bytes()


def new_settings(folder, **given):
    """Settings of a server on SQLite. The folder gets a migrated database without rows, unless it has a database."""
    file = folder / "gainboard.db"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_bytes(migrated())
    return Settings.read({}, data=folder, admin_token=ADMIN, **given)


@pytest.fixture(params=BOTH)
def migrated_url(request, tmp_path):
    """A database of each kind with Gainboard's tables and no rows."""
    with migrated_database(request.param, request, tmp_path) as url:
        yield url


@contextmanager
def migrated_database(kind, request, folder):
    """A database with Gainboard's tables and no rows, `sqlite` in this folder or `postgresql`."""
    if kind == "sqlite":
        file = folder / "gainboard.db"
        file.write_bytes(migrated())
        yield f"sqlite:///{file}"
        return
    with new_database(request.getfixturevalue("postgres_url"), is_migrated=True) as url:
        yield url


@pytest.fixture
def service(migrated_url):
    """Gainboard on each kind of database."""
    with serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN)) as service:
        yield service


@pytest.fixture
def sqlite_service(tmp_path):
    """Gainboard on SQLite, for tests of what is the same on every database."""
    with serving(new_settings(tmp_path)) as service:
        yield service
