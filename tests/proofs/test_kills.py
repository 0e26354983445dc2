"""The short form of the proof of kills; processes that stand still, and hosts whose clocks differ."""

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from gainboard.errors import Unavailable
from gainboard.store.database import Database
from gainboard.store.processes import LEASE_SECONDS, list_processes
from tests.proofs.kills import AT_ONCE, FREE_WITHIN, Proof
from tests.waiting import until
from tests.world.benches import Bench, undisturbed
from tests.world.campaigns import Campaign
from tests.world.processes import answers, server
from tests.world.servers import Service

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
STANDS_STILL = 30
"""Seconds for which a process stands still, which is twice a lease."""
KILLS = {
    "sqlite": [("server", "before", 6), ("child", "after", 2)],
    "postgresql": [("server", "after", 8), ("worker", "before", 3), ("child", "before", 1)],
}
"""Some of the writes, of each party."""


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def test_what_a_killed_party_held_is_free_soon_and_all_ends_well(kind, request):
    proof = Proof(len(KILLS[kind]), request.getfixturevalue("postgres_url") if kind == "postgresql" else None)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        was_killed = list(pool.map(lambda kill: proof.kill_once((kind, *kill[:2]), kill[2]), KILLS[kind]))
    assert proof.wrong == []
    assert all(was_killed)


@contextmanager
def served(url, prefix=()):
    with server(url, prefix=prefix) as process:
        until(lambda: answers(process.url))
        with closing(Service(process.url)) as service:
            yield process, service


def registered(bench):
    """The id of each living process, by number of the process on its host."""
    with bench.workspace.database.reading() as tx:
        return {process.pid: process.id for process in list_processes(tx, bench.workspace.database.path)}


def used(service, token):
    return service.client(token).get("/v1/me/limits").json()["team"]["runs"]["concurrent"]["used"]


@contextmanager
def upload(service, other):
    """Begin an upload to a server, and yield how many the other server counts."""
    campaign = Campaign(service, policy={"quotas": {"concurrent": 1}})
    token, address = campaign.token("participant", "own"), urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = f"POST {campaign.path}/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        connection.sendall(f"{head}Content-Length: 999\r\n\r\n1 Q0 the beginning".encode())
        until(lambda: used(other, token) == 1)
        ended = threading.Event()

        def go_on():
            # A body of which nothing arrives for half a minute would be ended by a server that is alive.
            with suppress(OSError):
                while not ended.wait(5):
                    connection.sendall(b"-")

        sender = threading.Thread(target=go_on)
        sender.start()
        try:
            yield lambda: used(other, token)
        finally:
            ended.set()
            sender.join()


def stop(pids, url):
    """Stop processes at a moment at which they do not write to SQLite: nobody else could write until they go on."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        with closing(Database(url, busy_seconds=0.5)) as database, database.writing() as tx:
            tx.execute(text("SELECT 1"))
    except Unavailable:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        return False
    return True


def test_a_server_that_stood_still_is_taken_for_dead_and_begins_anew(migrated_url):
    with closing(Bench(migrated_url)) as bench, served(bench.url) as (first, stopped), served(bench.url) as (_, other):
        before = registered(bench)
        with upload(stopped, other) as count:
            job = bench.ask()
            bench.begun(job)
            frozen = [first.process.pid, *first.computing()]
            until(lambda: stop(frozen, bench.url))
            began = time.monotonic()
            until(lambda: count() == 0, FREE_WITHIN)
            assert bench.result(job) == undisturbed(0)
            until(lambda: time.monotonic() - began > STANDS_STILL)
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
            until(
                lambda: registered(bench).get(first.process.pid, before[first.process.pid]) != before[first.process.pid]
            )
            assert count() == 0
        assert bench.result(job) == undisturbed(0)
        assert bench.chunks(job) == []
        assert bench.result(bench.ask(seed=1)) == undisturbed(1)
        assert answers(stopped.url)


@pytest.mark.skipif(FAKETIME is None, reason="no libfaketime: install `faketime`")
def test_servers_whose_clocks_differ_by_a_minute_live_side_by_side(empty_postgres):
    # Programs count waits by another clock, which never jumps.
    shifted = ["env", f"LD_PRELOAD={FAKETIME}", "FAKETIME=+1m", "DONT_FAKE_MONOTONIC=1"]
    with (
        closing(Bench(empty_postgres)) as bench,
        served(bench.url, shifted) as (ahead, first),
        served(bench.url) as (_, second),
        upload(first, second) as count,
    ):
        before, begun = registered(bench), leases(bench)
        assert len(before) == 2
        until(lambda: min(leases(bench)) > max(begun) and spread(begun, leases(bench)) > LEASE_SECONDS)
        assert bench.result(bench.ask()) == undisturbed(0)
        assert registered(bench) == before
        assert count() == 1
        ahead.kill()
        until(lambda: count() == 0, FREE_WITHIN)


def leases(bench):
    with bench.workspace.database.reading() as tx:
        return [process.leased_until for process in list_processes(tx, None)]


def spread(earlier, later):
    return (min(later) - max(earlier)).total_seconds()
