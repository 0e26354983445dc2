"""Owners of jobs that end, in whatever way, in the middle of one; and what the next owner makes of it."""

import os
import signal

import pytest

from gainboard.evaluation import collections
from tests.waiting import until
from tests.world.benches import COLLECTION, disconnect, is_there, undisturbed
from tests.world.processes import all_end, server, working


def test_a_job_of_a_collection_that_is_deleted_meanwhile_is_cancelled(bench):
    with working(bench):
        job = bench.ask()
        bench.begun(job)
        collections.delete(bench.workspace, bench.organiser, COLLECTION)
        assert bench.over(job).state == "cancelled"


def test_an_engine_without_slots_leaves_the_jobs_to_others(bench):
    with working(bench, slots=0) as off:
        job = bench.ask(trials=100)
        off.wake()
        assert off.works == "off"
        with working(bench):
            bench.result(job)


def test_the_database_may_restart_while_a_job_is_worked(bench):
    if bench.workspace.database.path is not None:
        pytest.skip("SQLite has no server")
    with working(bench):
        job = bench.ask()
        bench.begun(job)
        disconnect(bench.url)
        assert bench.result(job) == undisturbed(0)


@pytest.mark.proof
def test_a_server_that_is_killed_leaves_no_process_and_the_next_owner_comes_to_the_same_bytes(bench):
    job = bench.ask()
    with server(bench.url) as killed:
        bench.begun(job)
        pids = killed.computing()
        killed.kill()
        all_end(pids)
    assert len(pids) == 1
    assert not bench.job(job).is_over
    with working(bench, slots=2):
        assert bench.result(job) == undisturbed(0)


@pytest.mark.proof
def test_a_service_that_is_terminated_with_all_its_processes_ends_at_once_and_no_attempt_counts(bench):
    job = bench.ask()
    with server(bench.url) as stopped:
        bench.begun(job)
        pids = stopped.computing()
        for pid in [*pids, stopped.process.pid]:
            os.kill(pid, signal.SIGTERM)
        stopped.process.wait(30)
        assert [pid for pid in pids if is_there(pid)] == []
    undone = [chunk for chunk in bench.chunks(job) if not chunk.done]
    assert {(chunk.claim, chunk.attempts, chunk.interruptions) for chunk in undone} <= {(None, 0, 0)}
    with working(bench):
        assert bench.result(job) == undisturbed(0)


@pytest.mark.proof
def test_of_two_servers_one_works_the_jobs_of_both_on_sqlite_until_it_is_killed(bench):
    with server(bench.url) as first, server(bench.url) as second:
        job = bench.ask()
        bench.begun(job)
        owner, other = sorted((first, second), key=lambda each: -len(each.computing()))
        if bench.workspace.database.path is not None:
            assert [len(owner.computing()), len(other.computing())] == [1, 0]
        owner.kill()
        until(other.computing)
        assert bench.result(job) == undisturbed(0)
