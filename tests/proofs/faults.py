"""Breaks what a server stands on, looks how it answers, mends it, and looks whether the server recovers by itself.

    python -m tests.proofs.faults
    python -m tests.proofs.faults --seconds 60 locked

A full disk for the database and one for temporary files, a locked database, a PostgreSQL that is stopped, a clock that
jumps, little memory, and a data folder that may not be written. The server has no more rights than an ordinary user.
While something is broken, requests that need it are refused with a reason, and others are answered. Nothing that was
answered 2xx is lost. What is wrong is printed, and the exit code is 1.
"""

import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import httpx

from tests import private_postgres
from tests.outside import outside
from tests.proofs import asked
from tests.waiting import over, until
from tests.world.benches import computing
from tests.world.laboratories import LONG, SHORT, Laboratory, rotated
from tests.world.processes import all_end, answers
from tests.world.servers import ADMIN, Service, free_port

MIB = 1 << 20
START_SECONDS = 60


class CannotTry(Exception):
    """This machine lacks what a fault needs; the message says what."""


@dataclass
class Server:
    """`gainboard serve` in a process with an ordinary user's rights, a collection, and what was answered about it."""

    service: Service
    process: subprocess.Popen[bytes]
    log: Path
    stored: dict[str, str] = field(default_factory=dict)
    """The text of each run that was answered 201, by name."""
    wrong: list[str] = field(default_factory=list)

    def prepare(self):
        self.laboratory = Laboratory(self.service)
        self.send(rotated(4))

    def send(self, text, name=""):
        """Uploads a run and remembers it if it is stored."""
        name = name or f"own-{len(self.stored)}"
        answer = self.laboratory.submit(text, name=name)
        if answer.status_code == 201:
            self.stored[name] = text
        return answer

    def send_once(self, number):
        """Uploads a run of a MiB under a key of its own."""
        name, text = f"full-{number}", _incompressible(MIB, number)
        query, headers = {"team": "lemur", "name": name}, {"Idempotency-Key": name}
        path = f"{self.laboratory.path}/runs"
        answer = self.service.organiser.post(path, content=text, params=query, headers=headers)
        if answer.status_code == 201:
            self.stored[name] = text
        return answer

    def must_refuse(self, answer, kind):
        """Notes an answer that is not 503 with this type, a reason, and the time to wait."""
        problem = answer.json() if "problem+json" in answer.headers.get("content-type", "") else {}
        found = (answer.status_code, problem.get("type"), "retry-after" in answer.headers)
        self.expect(found == (503, f"/problems/{kind}", True), f"{found} {answer.text[:200]} instead of {kind}")

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def must_read(self, by=None):
        """Notes a run that is not there byte for byte: on this server, or on a later one over the same data."""
        for name, text in self.stored.items():
            path = f"{self.laboratory.path}/runs/{name}"
            answer = (by or self.service).organiser.get(path, headers={"Accept": "text/plain"})
            self.expect((answer.status_code, answer.text) == (200, text), f"run {name}: {answer.status_code}")

    def must_recover(self):
        """Notes what does not work once nothing is broken any more: without a restart, within half a minute."""
        until(lambda: self.send(rotated(2), f"after-{time.monotonic_ns()}").status_code in (200, 201), 30)
        self.must_read()
        job = over(self.service.organiser, self.laboratory.ask(**SHORT, seed=len(self.stored)).headers["location"])
        self.expect(job["state"] == "succeeded", f"the job {job['state']}: {job['error']}")
        ready = self.service.anonymous.get("/readyz")
        self.expect(ready.status_code == 200, f"not ready: {ready.text}")

    def said(self):
        return self.log.read_text(errors="replace")


def _ordinary():
    """The command by which root runs another one without the rights that only root has."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise CannotTry("setpriv is not installed")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]


def _command(port, data):
    return [*_ordinary(), sys.executable, "-m", "gainboard", "serve", "--port", str(port), "--data", str(data)]


@contextmanager
def running(folder, **environment):
    """A server over the folder `data` in this one, which is stopped in the end and must end well."""
    port = free_port()
    folder.joinpath("data").mkdir(exist_ok=True)
    log, service = folder / "log", Service(f"http://127.0.0.1:{port}")
    given = {"GAINBOARD_ADMIN_TOKEN": ADMIN, "GAINBOARD_JOB_SLOTS": "1"} | environment
    with log.open("wb") as errors:
        process = subprocess.Popen(_command(port, folder / "data"), env=outside(**given), stderr=errors, stdout=errors)
    server = Server(service, process, log)
    try:
        until(lambda: answers(service.url), START_SECONDS)
        server.prepare()
        yield server
        children = computing(process.pid)
        process.terminate()
        server.expect(process.wait(30) in (0, -signal.SIGTERM), f"exit code {process.returncode}")
        all_end(children)
        server.expect("Traceback" not in server.said(), f"a traceback in the log: {server.said()[-1000:]}")
    finally:
        process.kill()
        process.wait()
        service.close()


@contextmanager
def small_disk(folder, size):
    """Mounts a small file system over a folder; what it yields changes the size."""
    folder.mkdir(exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if made.returncode:
        raise CannotTry("a small file system cannot be mounted here")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _incompressible(size, seed=0):
    draw = Random(seed)
    lines = size // 80
    return "".join(f"{line // 1000 + 1} Q0 {draw.randbytes(28).hex()} 1 {-line} tag\n" for line in range(lines))


FAULTS = {}


def fault(function):
    FAULTS[function.__name__.replace("_", "-")] = function
    return function


@fault
def full_disk(folder, seconds):
    with small_disk(folder / "data", 8 * MIB) as resize, running(folder) as server:
        answers = {f"full-{number}": server.send_once(number) for number in range(24)}
        refused = {name: answer for name, answer in answers.items() if answer.status_code != 201}
        server.expect(refused, "the disk did not fill up")
        for answer in (*refused.values(), server.service.anonymous.get("/readyz")):
            server.must_refuse(answer, "no-space")
        listed = server.laboratory.get("/runs", limit=500).json()["items"]
        server.expect(refused.keys().isdisjoint(run["name"] for run in listed), "what was refused is stored")
        server.must_read()
        resize(64 * MIB)
        server.must_recover()
        again = [server.send_once(number).status_code for number in range(24)]
        server.expect(set(again) == {201}, f"repeated with their keys: {again}")
    return server.wrong


@fault
def full_temporary_folder(folder, seconds):
    temporary = folder / "temporary"
    with small_disk(temporary, 4 * MIB) as resize, running(folder, TMPDIR=str(temporary)) as server:
        large = _incompressible(12 * MIB)
        server.must_refuse(server.send(large, "large"), "no-space")
        server.expect(server.send(rotated(3), "small").status_code == 201, "a small run needs no temporary file")
        resize(64 * MIB)
        server.expect(server.send(large, "large").status_code == 201, "the large run is refused")
        server.must_recover()
    return server.wrong


@fault
def locked(folder, seconds):
    with running(folder) as server, closing(sqlite3.connect(folder / "data" / "gainboard.db")) as other:
        began = time.monotonic()
        other.execute("BEGIN IMMEDIATE")
        refused = 0
        while not refused or time.monotonic() < began + seconds:
            server.must_refuse(server.send(rotated(1), "locked-out"), "database-busy")
            refused += 1
            server.must_read()
        other.execute("ROLLBACK")
        server.must_recover()
    return server.wrong


@fault
def stopped_postgresql(folder, seconds):
    if not private_postgres.is_installed():
        raise CannotTry("PostgreSQL is not installed")
    with ExitStack() as stack:
        own = Path(stack.enter_context(TemporaryDirectory()))
        database = stack.enter_context(private_postgres.running(own))
        server = stack.enter_context(running(folder, GAINBOARD_DATABASE_URL=database.url))
        job = server.laboratory.ask(**LONG)
        until(lambda: server.laboratory.job(job)["state"] == "running")
        database.stop()
        server.must_refuse(server.send(rotated(1), "unlucky"), "database-busy")
        server.must_refuse(server.laboratory.get("/runs"), "database-busy")
        server.expect(server.service.anonymous.get("/healthz").status_code == 200, "/healthz needs the database")
        server.must_refuse(server.service.anonymous.get("/readyz"), "database-busy")
        database.start()
        until(lambda: server.laboratory.get("/runs").status_code == 200, 30)
        ended = over(server.service.organiser, job.headers["location"])
        server.expect(ended["state"] == "succeeded", f"the running job {ended['state']}: {ended['error']}")
        server.must_recover()
    return server.wrong


@fault
def jumping_clock(folder, seconds):
    """The clock goes an hour back, and then two forward."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if library is None:
        raise CannotTry("faketime is not installed")
    clock = folder / "clock"
    clock.write_text("+0")
    # Only the time of day jumps: programs of the system count waits by a clock that never does.
    fake = {"FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}
    with running(folder, LD_PRELOAD=str(library), **fake) as server:
        lab = server.laboratory
        lab.change(policy={"phase": "released", "late": "open", "quotas": {"concurrent": 1}})
        team = lab.client("participant", "lemur")
        for shift, text in (("-3600", rotated(5)), ("+3600", rotated(1))):
            with _half_sent(team, f"{lab.path}/runs?name=slow-{len(server.stored)}", text.encode()) as end:
                clock.write_text(shift)
                again = lab.submit(rotated(6), team)
                server.expect(again.status_code in (403, 429), f"{shift}: the slot was lost: {again.status_code}")
                sent = end()
                server.expect(" 201 " in sent, f"{shift}: the upload under way was answered {sent[:200]}")
            server.expect(lab.get("/runs", team).status_code == 200, f"{shift}: the token is refused")
            server.must_recover()
    return server.wrong


@contextmanager
def _half_sent(client, path, body):
    """Sends the first half of a run, and the rest when it is asked for the answer."""
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\nAuthorization: {client.headers['authorization']}\r\n"
    head += f"Content-Length: {len(body)}\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=60) as connection:
        connection.sendall(head.encode())
        told = connection.recv(65536)
        assert told.startswith(b"HTTP/1.1 100"), told  # it has a slot, and its body is read
        connection.sendall(body[:50])

        def end():
            connection.sendall(body[50:])
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

        yield end


@fault
def little_memory(folder, seconds):
    with running(folder) as server:
        pid = server.process.pid
        held = int(re.findall(r"VmSize:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) << 10
        limit = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, (held + 8 * MIB, limit[1]))
        judged = "".join(f"{line % 5000} 0 document-{line} 1\n" for line in range(1_500_000))
        answer = server.laboratory.put_qrels(judged)
        server.must_refuse(answer, "out-of-memory")
        server.expect(server.service.anonymous.get("/healthz").status_code == 200, "it does not live")
        server.must_read()
        resource.prlimit(pid, resource.RLIMIT_AS, limit)
        server.expect(server.laboratory.put_qrels(judged).status_code == 201, "the judgments are refused afterwards")
        server.must_recover()
    return server.wrong


@fault
def read_only(folder, seconds):
    with running(folder) as server:
        pass
    data, wrong = folder / "data", server.wrong
    for path in (*data.iterdir(), data):
        path.chmod(0o555 if path.is_dir() else 0o444)
    ended = subprocess.run(_command(0, data), env=outside(), capture_output=True, text=True, timeout=START_SECONDS)
    if ended.returncode == 0 or str(data) not in ended.stderr or "Traceback" in ended.stderr:
        wrong.append(f"started, or did not say why not: {ended.returncode} {ended.stderr[-300:]}")
    for path in (data, *data.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with running(folder) as again:
        server.must_read(again.service)
    return wrong + again.wrong


def try_faults(names, seconds):
    wrong = []
    for name in names:
        with TemporaryDirectory() as folder:
            began = time.monotonic()
            try:
                found = FAULTS[name](Path(folder), seconds)
            except CannotTry as error:
                print(f"{name}: not tried, because {error}", flush=True)
                continue
            except (AssertionError, httpx.HTTPError, KeyError) as error:
                found = [f"{type(error).__name__}: {error}"]
        print(f"{name}: {len(found)} wrong, {time.monotonic() - began:.0f} s", *found[:5], sep="\n  ", flush=True)
        wrong += [f"{name}: {each}" for each in found]
    return wrong


def main():
    given = asked(__doc__, *FAULTS, seconds=60.0)
    return 1 if try_faults(given.names or list(FAULTS), given.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
