"""Servers in processes of their own, which can be stopped and killed."""

import os
import signal
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from threading import Thread

import httpx

from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.engine import Engine
from gainboard.store.database import Database
from tests.outside import outside
from tests.waiting import until
from tests.world.benches import computing, is_there, is_zombie
from tests.world.servers import ADMIN, NO_AUTHORITIES, free_port


class Started:
    process: subprocess.Popen

    def computing(self):
        return computing(self.process.pid)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.terminate()
        return self.process.wait(60)


class Server(Started):
    def __init__(self, database_url, slots=1, host="127.0.0.1", prefix=()):
        port = free_port(host)
        self.url = f"http://{host}:{port}"
        settings = {"DATABASE_URL": database_url, "ADMIN_TOKEN": ADMIN, "JOB_SLOTS": str(slots)}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "gainboard", "serve", "--host", host, "--port", str(port)],
            env=outside(**{f"GAINBOARD_{name}": value for name, value in settings.items()}),
            stderr=subprocess.DEVNULL,
        )


def server(database_url, slots=1, host="127.0.0.1", prefix=()):
    """A server that is killed in the end, and the processes that it leaves behind have ended."""
    return _killed_in_the_end(Server(database_url, slots, host, prefix))


@contextmanager
def _killed_in_the_end(running):
    try:
        yield running
    finally:
        left = running.computing()
        running.kill()
        all_end(left)


class FleetWorker(Started):
    def __init__(self, database_url, slots=1, prefix=(), options=()):
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "gainboard", "worker", "--job-slots", str(slots), *options],
            env=outside(GAINBOARD_DATABASE_URL=database_url),
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = []
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self):
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.said.extend(lines)

    def kill(self):
        super().kill()
        self._reading.join()


def fleet_worker(database_url, slots=1, **given):
    """A worker that is killed in the end, and the processes that it leaves behind have ended."""
    return _killed_in_the_end(FleetWorker(database_url, slots, **given))


@contextmanager
def working(bench, slots=1, changed=lambda: None):
    before = computing()
    # A workspace of its own: several may be at work over the database of one bench.
    with closing(Database(bench.url)) as database:
        engine = Engine(Workspace(database), slots, changed=changed)
        engine.start()
        try:
            yield engine
        finally:
            pids = [pid for pid in computing() if pid not in before]
            engine.stop()
        assert [pid for pid in pids if is_there(pid) or is_zombie(pid)] == []


def answers(url):
    try:
        return httpx.get(f"{url}/healthz", timeout=60, verify=NO_AUTHORITIES).is_success
    except httpx.TransportError:
        return False


def all_end(pids, seconds=30):
    until(lambda: not any(map(is_there, pids)), seconds)


def kill(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
