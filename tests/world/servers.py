"""Real servers on real databases, SQLite or PostgreSQL, in threads of this process."""

import asyncio
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
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

from gainboard.cli.local_service import Server
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store.database import Database
from gainboard.store.schema import migrate
from tests.world.here import working_here

ADMIN = "the-admin-token-of-the-tests"
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Tests speak plain HTTP. Reading the certificates of the usual authorities takes a client longer than many tests."""
BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
"""The databases of tests where the two can differ."""


@contextmanager
def new_database(url, is_migrated=False):
    name, template = f"test_{uuid4().hex}", _template(url) if is_migrated else "template0"
    _ask_postgres(url, f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield make_url(url).set(database=name).render_as_string(False)
    finally:
        _drops.append(_dropping.submit(_ask_postgres, url, f"DROP DATABASE {name} WITH (FORCE)"))


_dropping, _drops = ThreadPoolExecutor(1), []
"""Databases are dropped beside the next tests: PostgreSQL waits for the disk, for half a second or more."""


@cache
def _template(url):
    """The name of a migrated database, which takes ten times as long to make as to copy."""
    name = f"test_{uuid4().hex}"
    _ask_postgres(url, f"CREATE DATABASE {name} TEMPLATE template0")
    database = Database(make_url(url).set(database=name).render_as_string(False))
    migrate(database)
    database.close()
    return name


def drop_databases(url):
    """Drop the template as well, and wait until all databases are gone."""
    while _drops:
        _drops.pop().result()
    if _template.cache_info().currsize:
        _ask_postgres(url, f"DROP DATABASE {_template(url)} WITH (FORCE)")
        _template.cache_clear()


def _ask_postgres(url, statement):
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def free_port(host="127.0.0.1"):
    with socket.create_server((host, 0)) as free:
        return free.getsockname()[1]


class Service:
    application: FastAPI
    """What is served, if it is served in this process."""

    def __init__(self, url):
        self.url = url
        self._clients = []
        self._addresses = ip_network("198.18.0.0/15").hosts()
        self.organiser = self.client(ADMIN)
        self.anonymous = self.client(None)

    def client(self, token):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # All connections are kept, for nearly as long as the server keeps them: 75 seconds. To keep few, or after 5
        # seconds (its own default), httpx may close one that another thread has just been given.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60)
        client = httpx.Client(base_url=self.url, headers=headers, timeout=120, limits=limits, verify=NO_AUTHORITIES)
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
        sent = {"role": role} | ({"team": team} if team else {})
        answer = self.organiser.post(f"/v1/collections/{collection}/tokens", json=sent)
        assert answer.status_code == 201, answer.text
        return self.client(answer.json()["token"])

    def close(self):
        for client in self._clients:
            client.close()


@contextmanager
def serving(settings):
    with working_here():
        application = create_app(open_workspace(settings)[0], settings)
    with running(application) as service:
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
