"""Loads a server in three ways, and looks how everybody else is answered meanwhile.

    python -m tests.proofs.load
    python -m tests.proofs.load --seconds 60 dashboards

`dashboards`: 50 clients poll boards and a job once a second, runs are uploaded and a job computes. Nobody is answered
5xx, the 99th percentile of the polls stays within five times that of an idle server, and memory stays flat.
`hostile-posts`: 60 bodies that cost as much as a body can are posted at once, again and again. `/healthz` stays within
a second.
`forms`, `bodies`, `comparisons`: 60 forms, 20 faulty JSON bodies of 1 MiB, or 40 comparisons with 16 baselines are sent
at once, again and again, by anybody and by tokens. `/healthz` stays within 300, 500 and 500 ms, a form costs 0.02 s of
CPU, a body 0.3 s, and memory comes back.
`connections`: 1,000 connections are idle and 200 send a byte now and then, while others are served; those that stall
are closed.
"""

import gzip
import resource
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import httpx

from benchmarks.processes import IS_COUNTED, cpu_seconds, memory
from tests.proofs import asked
from tests.proofs.faults import CannotTry, Server, running
from tests.waiting import until
from tests.world.campaigns import Campaign, run_text
from tests.world.laboratories import LONG, rotated
from tests.world.servers import ADMIN

POLLERS, IDLE, SLOW = 50, 1_000, 200
FACTOR = 5
"""The most by which others may wait longer than on an idle server."""
SLOW_ANSWER = "slow: "
"""The beginning of what is wrong about times, which a test on a busy machine cannot judge."""
MOST_KEPT = 100 << 20
"""The most bytes by which memory may have grown once a crowd has gone."""
MOST_GROWTH = 64 << 20
"""The most bytes by which memory may grow in the second half."""


@dataclass
class Waits:
    """How long requests of one kind took, in seconds, and the answers that are 5xx or none."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def ask(self, client, path):
        began = time.perf_counter()
        try:
            answer = client.get(path)
        except httpx.TransportError as error:
            self.failed.append(f"{path}: {type(error).__name__}")
            return
        self.seconds.append(time.perf_counter() - began)
        if answer.status_code >= 500:
            self.failed.append(f"{path}: {answer.status_code} {answer.text[:200]}")

    def at(self, share):
        """The wait that this share of the requests did not exceed."""
        return statistics.quantiles(self.seconds, n=1000, method="inclusive")[round(share * 1000) - 1]


def measured(clients, paths, pause, ended):
    """Polls until it has ended, each client at its own times."""
    waits = Waits()

    def poll(number):
        stop.wait(pause * number / len(clients))  # not all at the same moment
        turn = number
        while not ended():
            waits.ask(clients[number], paths[turn % len(paths)])
            turn += 1
            stop.wait(pause)

    stop = Event()
    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(poll, range(len(clients))))
    return waits


def after(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def compared(what, found, idle):
    """Prints a wait beside that of an idle server, and says if it is too long."""
    most = FACTOR * idle
    print(f"  {what}: {found * 1e3:.1f} ms, idle {idle * 1e3:.1f} ms, at most {most * 1e3:.0f} ms", flush=True)
    return [f"{SLOW_ANSWER}{what}: {found:.3f} s, at most {most:.3f} s"] if found > most else []


def dashboards(folder, seconds):
    """Polls while runs are uploaded and a job computes."""
    with running(folder) as server:
        lab, organiser = server.laboratory, server.service.organiser
        job = lab.ask(**LONG)
        board = f"{lab.path}/leaderboard"
        paths = [board, f"{board}?metric=nDCG@10", f"{lab.path}/runs", job.headers["location"]]
        clients = [server.service.client(ADMIN) for _ in range(POLLERS)]
        organiser.delete(job.headers["location"])
        idle = measured(clients, paths, 1.0, after(max(2, seconds / 10)))
        middle = []
        begun, is_over = time.monotonic(), after(seconds)

        def write():
            number, failed = 0, []
            while not is_over():
                number += 1
                sent = server.send(rotated(number % 5).replace("tag", f"t{number}"), f"load-{number}")
                if sent.status_code >= 400:
                    failed.append(f"an upload: {sent.status_code} {sent.text[:200]}")
                if number % 20 == 1:
                    lab.ask(**LONG, seed=number)
                if not middle and time.monotonic() - begun > seconds / 2:
                    middle.append(memory(server.process.pid) or 0)
                time.sleep(0.5)
            print(f"  {number} runs uploaded", flush=True)
            return failed

        with ThreadPoolExecutor(1) as writer:
            written = writer.submit(write)
            busy = measured(clients, paths, 1.0, is_over)
            wrong = [*server.wrong, *written.result(), *idle.failed[:5], *busy.failed[:5]]
        grown = (memory(server.process.pid) or 0) - middle[0] if middle and IS_COUNTED else 0
        print(f"  {len(busy.seconds)} polls; memory grew by {grown / 1e6:.0f} MB in the second half", flush=True)
        wrong += compared("p99 of the polls", busy.at(0.99), idle.at(0.99))
        wrong += [f"memory grew by {grown:,} bytes"] if grown > MOST_GROWTH else []
        lab.organiser.delete(lab.path)  # jobs end with it
    return wrong + server.wrong


def connections(folder, seconds):
    """Opens many connections that send little or nothing, and asks as others do."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < 2 * (IDLE + SLOW):
        raise CannotTry(f"a process may open only {most} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with running(folder) as server, ExitStack() as stack:
        lab = server.laboratory
        watcher = [server.service.organiser]
        idle = measured(watcher, [f"{lab.path}/runs"], 0.05, after(2))
        where = (watcher[0].base_url.host, watcher[0].base_url.port or 80)
        for _ in range(IDLE):
            stack.enter_context(socket.create_connection(where))
        slow = [stack.enter_context(socket.create_connection(where)) for _ in range(SLOW)]
        head = f"POST {lab.path}/runs?team=slow HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {ADMIN}\r\n"
        for each in slow:
            each.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode())
        wrong = []
        busy, is_over = Waits(), after(seconds)
        while not is_over():
            for each in slow[::10]:
                _trickle(each)
            busy.ask(watcher[0], f"{lab.path}/runs")
            time.sleep(0.05)
        wrong += busy.failed[:5] + compared("median of the list of runs", busy.at(0.5), idle.at(0.5))
        server.must_recover()
    return wrong + server.wrong


def _trickle(connection):
    with suppress(OSError):  # the server has refused or closed it, as it should
        connection.sendall(b"1")


Sent = tuple[str, str, Mapping[str, str], bytes]
"""A method, an address, headers and a body."""


@dataclass(frozen=True)
class Crowd:
    """So many requests at once, the longest wait of others, and the most CPU time of one, in seconds."""

    count: int
    longest_wait: float
    cpu: float | None
    make: Callable[[Server], list[Sent]]

    def __call__(self, folder, seconds):
        """Sends them all at once, in waves, while others ask."""
        with running(folder) as server:
            sent, process = self.make(server), server.process.pid
            send_in_waves(server.service.url, sent, len(sent), 0)  # what the first request of a kind keeps is no growth
            before, cpu = memory(process) or 0, cpu_seconds(process) or 0.0
            with ProcessPoolExecutor(1, get_context("spawn")) as others:
                crowd = others.submit(send_in_waves, server.service.url, sent, self.count, seconds)
                beats = measured([server.service.anonymous], ["/healthz"], 0.02, crowd.done)
                answers = crowd.result()
            each = ((cpu_seconds(process) or 0.0) - cpu) / answers.total()
            longest, most = max(beats.seconds), before + MOST_KEPT
            print(f"  {answers.total()} requests, {each:.4f} s of CPU each, answers {dict(answers)}", flush=True)
            print(f"  longest of {len(beats.seconds)} waits for /healthz: {longest * 1e3:.0f} ms", flush=True)
            wrong = [f"answered {status}" for status in answers if status >= 500] + beats.failed[:5]
            wrong += [f"{SLOW_ANSWER}/healthz took {longest:.2f} s"] if longest > self.longest_wait else []
            wrong += [f"{SLOW_ANSWER}{each:.3f} s of CPU each"] if self.cpu is not None and each > self.cpu else []
            if IS_COUNTED:
                with suppress(AssertionError):
                    until(lambda: (memory(process) or 0) <= most, 30)
                grown = (memory(process) or 0) - before
                print(f"  memory grew by {grown / 1e6:.0f} MB", flush=True)
                wrong += [f"memory grew by {grown:,} bytes"] if grown > MOST_KEPT else []
            server.must_recover()
        return wrong + server.wrong


def send_in_waves(url, sent, count, seconds):
    """Sends so many at once, in waves, and returns how often each status was answered."""
    statuses, is_over = Counter(), after(seconds)
    with httpx.Client(base_url=url, timeout=120, limits=httpx.Limits(max_connections=None)) as client:

        def send(number):
            method, path, headers, body = sent[number % len(sent)]
            return client.request(method, path, headers=headers, content=body).status_code

        with ThreadPoolExecutor(count) as pool:
            statuses.update(pool.map(send, range(count)))
            while not is_over():
                statuses.update(pool.map(send, range(count)))
    return statuses


def _forms(server):
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.service.url}
    bodies = (b"a=&" * 349_525, b"a=&" * 21_845, (b"a=" + b"%41" * 108 + b"&") * 199, b"token=wrong&" + b"a=b&" * 100)
    return [("POST", path, headers, body) for body in bodies for path in ("/signin", "/signout")]


def _posts(server):
    """Return bodies of few kilobytes that inflate to a million bad, blank or interleaved lines, of several teams."""
    one = b"".join(b"%d Q0 d 1 1 t\n" % (number % 5000) for number in range(100_000))
    bodies = [gzip.compress(body) for body in (b"a\n" * 1_000_000, b"\n" * 4_000_000, one, bytes(64 << 20))]
    tokens = [server.laboratory.client("participant", f"hostile-{n}").headers["authorization"] for n in range(6)]
    path = f"{server.laboratory.path}/runs?name=hostile"
    headers = [{"Content-Encoding": "gzip", "Authorization": token} for token in tokens]
    return [("POST", path, own, body) for own in headers for body in bodies]


def _bodies(server):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {ADMIN}"}
    members = ("{" + ",".join(f'"k{number}":1' for number in range(90_000)) + "}").encode()
    allowed = ("{" + ",".join(f'"k{number}{"x" * 90}":1' for number in range(9_999)) + "}").encode()
    objects = b"[" + b"{}," * 349_000 + b"{}]"
    addresses = (
        *(("POST", path) for path in ("/v1/design", "/v1/collections", f"{server.laboratory.path}/jobs")),
        *(("PATCH", server.laboratory.path), ("PUT", f"{server.laboratory.path}/topic-groups/g")),
    )
    return [(*address, headers, body) for body in (members, allowed, objects) for address in addresses]


def _comparisons(server):
    """Return comparisons over 45 runs and 50 topics: by anybody, and by four tokens."""
    campaign = Campaign(server.service, metrics=["AP", "nDCG@10", "Q"])
    topics = [str(number) for number in range(50)]
    judged = "".join(f"{topic} 0 d{number} {number % 3}\n" for topic in topics for number in range(40))
    assert campaign.put_qrels(judged).status_code == 201
    for run in range(45):
        rankings = {topic: [f"d{(place * (run + 1) + int(topic)) % 41}" for place in range(20)] for topic in topics}
        text = run_text({topic: list(dict.fromkeys(found)) for topic, found in rankings.items()}, f"run-{run}")
        assert campaign.submit(text).status_code == 201
    campaign.release(public=True)
    baselines = "&".join(f"baseline=run-{number}" for number in range(16))
    paths = (f"{campaign.path}/compare?{baselines}", f"/c/{campaign.name}/compare?{baselines}")
    few = f"{campaign.path}/compare?{'&'.join(baselines.split('&')[:12])}"  # as much as anybody may ask
    asked = [("GET", path, {}, b"") for path in (*paths, few, few)]
    for number in range(4):
        token = campaign.client("reader").headers["authorization"]
        asked.append(("GET", f"{paths[0]}&metric=nDCG@{number + 1}&metric=AP&metric=Q", {"Authorization": token}, b""))
    return asked


LOADS = {
    "dashboards": dashboards,
    "hostile-posts": Crowd(60, 1.0, None, _posts),
    "connections": connections,
    "forms": Crowd(60, 0.3, 0.02, _forms),
    "bodies": Crowd(20, 0.5, 0.3, _bodies),
    "comparisons": Crowd(40, 0.5, None, _comparisons),
}


def main():
    given = asked(__doc__, *LOADS, seconds=600.0)
    wrong = []
    for name in given.names or list(LOADS):
        print(f"{name}, {given.seconds:g} s", flush=True)
        with TemporaryDirectory() as folder:
            found = LOADS[name](Path(folder), given.seconds)
        print(f"{name}: {len(found)} wrong", *found[:10], sep="\n  ", flush=True)
        wrong += found
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
