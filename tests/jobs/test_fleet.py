"""Workers of a fleet: several, dead, stopped, of another release, without tickets, and beside an embedded engine."""

import json
import os
import re
import signal
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from sqlalchemy import text

from gainboard.settings import Settings
from gainboard.store.processes import LEASE_SECONDS, list_processes
from tests import private_postgres
from tests.cli.shells import Shell
from tests.outside import ROOT
from tests.waiting import until
from tests.world.benches import Bench, undisturbed
from tests.world.processes import all_end, fleet_worker, working
from tests.world.servers import ADMIN, free_port, new_database, new_settings, serving

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
LONG = {"metrics": [f"P@{cutoff}" for cutoff in range(1, 41)], "chunk_seconds": 0.05}


@pytest.fixture
def bench(postgres_url):
    with new_database(postgres_url, is_migrated=True) as url, closing(Bench(url)) as made:
        yield made


@pytest.fixture
def workers(bench):
    with ExitStack() as started:
        yield started


def started(workers, bench, slots=1):
    worker = workers.enter_context(fleet_worker(bench.url, slots))
    until(lambda: worker.process.poll() is not None or worker.process.pid in {each.pid for each in known(bench)})
    assert worker.process.poll() is None, worker.said
    return worker


def known(bench):
    with bench.workspace.database.reading() as tx:
        return [process for process in list_processes(tx, None) if process.kind == "worker"]


def test_the_chunks_of_a_worker_that_is_killed_are_started_again_by_another(bench, workers):
    first = started(workers, bench)
    job = bench.ask()
    bench.begun(job)
    left = first.computing()
    first.kill()
    all_end(left)
    second = started(workers, bench)
    assert bench.result(job) == undisturbed(0)
    assert [each.pid for each in known(bench)] == [second.process.pid]


def test_a_worker_that_was_taken_for_dead_is_refused_and_begins_anew(bench, workers):
    pair = [started(workers, bench) for _ in range(2)]
    job = bench.ask()
    bench.begun(job)
    claims = {chunk.claim.partition("/")[0] for chunk in bench.chunks(job) if chunk.claim}
    pids = {each.pid for each in known(bench) if each.id in claims}
    stopped = next(worker for worker in pair if worker.process.pid in pids)
    frozen = [stopped.process.pid, *stopped.computing()]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    assert bench.result(job) == undisturbed(0)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    until(lambda: stopped.process.pid in {each.pid for each in known(bench)})
    assert bench.result(job) == undisturbed(0)
    assert bench.chunks(job) == []
    pair[pair[0] is stopped].kill()
    assert bench.result(bench.ask(seed=1)) == undisturbed(1)
    assert stopped.process.poll() is None


def test_a_worker_that_is_terminated_finishes_its_chunk_and_no_attempt_counts(bench, workers):
    worker = started(workers, bench)
    job = bench.ask(**LONG)
    bench.begun(job)
    left = worker.computing()
    assert worker.terminate() == 0
    all_end(left)
    undone = [chunk for chunk in bench.chunks(job) if not chunk.done]
    assert {(chunk.claim, chunk.attempts, chunk.interruptions) for chunk in undone} == {(None, 0, 0)}
    assert known(bench) == []
    started(workers, bench, slots=2)
    bench.result(job)


def test_a_second_signal_ends_a_worker_at_once(bench, workers):
    worker = started(workers, bench)
    job = bench.ask(metrics=LONG["metrics"], chunk_seconds=60)
    until(lambda: bench.is_worked(job))
    left = until(worker.computing)
    worker.process.terminate()
    until(lambda: any("a second signal ends it" in line for line in worker.said))
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(60) == 0
    all_end(left)
    assert {(chunk.claim, chunk.attempts) for chunk in bench.chunks(job) if not chunk.done} == {(None, 0)}


@pytest.mark.proof
def test_the_database_may_restart_while_workers_work(tmp_path_factory):
    if not private_postgres.is_installed():
        pytest.skip("no PostgreSQL is installed")
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        with private_postgres.running(Path(folder)) as server, ExitStack() as workers:
            bench = Bench(f"{server.url}?connect_timeout=5")
            for _ in range(2):
                started(workers, bench)
            job = bench.ask()
            bench.begun(job)
            server.stop()
            server.start()
            assert bench.result(job) == undisturbed(0)
            assert bench.result(bench.ask(seed=1)) == undisturbed(1)
            bench.close()


def test_tickets_that_are_lost_are_put_out_again(bench, workers):
    started(workers, bench)
    with bench.workspace.database.writing() as tx:
        tx.execute(text("ALTER TABLE procrastinate_jobs DISABLE TRIGGER ALL"))
    job = bench.ask()
    with bench.workspace.database.writing() as tx:
        tx.execute(text("DELETE FROM procrastinate_jobs"))
        tx.execute(text("ALTER TABLE procrastinate_jobs ENABLE TRIGGER ALL"))
    assert bench.result(job) == undisturbed(0)


def test_a_worker_of_another_release_is_refused(bench, workers):
    worker = started(workers, bench)
    with bench.workspace.database.writing() as tx:
        tx.execute(text("UPDATE processes SET release = '0.0.1'"))
    refused = workers.enter_context(fleet_worker(bench.url))
    assert refused.process.wait(30) == 1
    refused.kill()
    assert "has Gainboard 0.0.1" in refused.said[-1]
    assert worker.process.poll() is None


def test_a_server_with_slots_and_a_worker_share_the_jobs(bench, workers):
    worker = started(workers, bench)
    with working(bench) as embedded:
        until(lambda: embedded.works == "here")
        job = bench.ask(**LONG)
        sharing = set()

        def both_work():
            sharing.update(chunk.claim.partition("/")[0] for chunk in bench.chunks(job) if chunk.claim)
            return len(sharing) == 2

        until(both_work)
        bench.cancel(job)
        assert bench.result(bench.ask()) == undisturbed(0)
    assert bench.result(bench.ask(seed=1)) == undisturbed(1)
    assert worker.process.poll() is None


def test_a_server_of_another_release_leaves_the_jobs_to_the_worker_that_came_first(bench, workers):
    started(workers, bench)
    with bench.workspace.database.writing() as tx:
        tx.execute(text("UPDATE processes SET release = '0.0.1'"))
    with working(bench) as embedded:
        assert bench.result(bench.ask()) == undisturbed(0)
        assert embedded.works == "elsewhere"


def test_who_works_what_is_shown(bench, workers):
    worker = started(workers, bench, slots=2)
    job = bench.ask(**LONG | {"chunk_seconds": 60})
    until(lambda: bench.is_worked(job))
    done = Shell(ROOT, GAINBOARD_DATABASE_URL=bench.url).run("gainboard workers --format json")
    (shown,) = json.loads(done.out)
    assert (shown["pid"], shown["slots"], shown["jobs"]) == (worker.process.pid, 2, "swap-rate")
    with serving(Settings.read({}, database_url=bench.url, admin_token=ADMIN, job_slots=0)) as service:
        ready = service.anonymous.get("/readyz").json()
    assert (ready["jobs"], ready["workers"], ready["worker_slots"]) == ("off", 1, 2)
    assert ready["worker_slots_busy"] in (1, 2)
    bench.cancel(job)


def test_a_worker_measures_its_chunks(bench, workers):
    port = str(free_port())
    workers.enter_context(fleet_worker(bench.url, options=["--metrics-port", port]))
    job = bench.ask()
    bench.result(job)
    done = re.compile(r'gainboard_chunk_seconds_count\{outcome="done"\} [1-9]')
    until(lambda: done.search(httpx.get(f"http://127.0.0.1:{port}", timeout=60).text))
    measured = httpx.get(f"http://127.0.0.1:{port}", timeout=60).text
    assert 'gainboard_chunk_seconds_count{outcome="raised"} 0.0' in measured
    assert "gainboard_claims_freed_total 0.0" in measured


@pytest.mark.skipif(FAKETIME is None, reason="no libfaketime: install `faketime`")
def test_a_host_whose_clock_is_wrong_lives_and_works(bench, workers):
    workers.enter_context(fleet_worker(bench.url))
    shifted = ["env", f"LD_PRELOAD={FAKETIME}", "FAKETIME=-10m"]
    workers.enter_context(fleet_worker(bench.url, prefix=shifted))
    until(lambda: len(known(bench)) == 2)
    pids = {each.pid for each in known(bench)}
    for seed in range(3):
        assert bench.result(bench.ask(seed=seed)) == undisturbed(seed)
    assert {each.pid for each in known(bench)} == pids
    assert max(each.silent for each in known(bench)) < LEASE_SECONDS


def test_sqlite_is_refused(tmp_path):
    new_settings(tmp_path)
    done = Shell(tmp_path, GAINBOARD_DATABASE_URL=f"sqlite:///{tmp_path / 'gainboard.db'}").run("gainboard worker")
    assert (done.code, "need a PostgreSQL database" in done.err) == (1, True), done.err
