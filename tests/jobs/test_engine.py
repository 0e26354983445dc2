"""Both engines: the embedded one in a thread of this process, and a worker of a fleet; with what they start."""

from contextlib import closing
from itertools import groupby

import pytest

from gainboard.analyses.job_kinds import find_kind
from tests.waiting import until
from tests.world.benches import Bench, is_there, is_zombie, undisturbed
from tests.world.processes import fleet_worker, kill, working
from tests.world.servers import BOTH, migrated_database


@pytest.fixture(scope="module", params=[*BOTH, pytest.param("fleet", marks=pytest.mark.postgresql)])
def busy(request, tmp_path_factory):
    """A database for the tests of this file, whose jobs are worked in one slot: by an engine here, or by a worker."""
    kind = "sqlite" if request.param == "sqlite" else "postgresql"
    with migrated_database(kind, request, tmp_path_factory.mktemp("data")) as url, closing(Bench(url)) as bench:
        if request.param == "fleet":
            with fleet_worker(bench.url) as worker:
                bench.owner = worker.process.pid
                yield bench
        else:
            with working(bench):
                yield bench


def test_a_job_is_worked_with_progress_to_its_result(busy):
    job = busy.ask(chunk_seconds=1e-9)  # a chunk for each part, so that there is much to see
    seen = [job]
    while not seen[-1].is_over:
        until(lambda: busy.job(job) != seen[-1])
        seen.append(busy.job(job))
    assert busy.result(job) == undisturbed(0)
    assert [state for state, _ in groupby(each.state for each in seen)] == ["queued", "running", "succeeded"]
    done = [each.parts_done for each in seen]
    assert done == sorted(done)
    assert len(set(done)) > 2


def test_a_cancelled_job_frees_its_process(busy):
    job = busy.ask(metrics=[f"P@{cutoff}" for cutoff in range(1, 41)], chunk_seconds=60)
    (pid,) = until(lambda: busy.computing() if busy.is_worked(job) else [])
    busy.cancel(job)
    until(lambda: not is_there(pid) and not is_zombie(pid), 30)
    assert busy.job(job).state == "cancelled"


def test_a_cancelled_job_succeeds_when_it_is_asked_for_again(busy):
    job = busy.ask(seed=1)
    busy.begun(job)
    busy.cancel(job)
    again = busy.ask(seed=1)
    assert (again.id, again.state) == (job.id, "queued")
    assert again.parts_done > 0
    assert busy.result(job) == undisturbed(1)
    busy.forget(job)


def test_a_chunk_whose_process_dies_is_worked_by_another_three_times_and_may_be_asked_for_again(busy):
    job = busy.ask(seed=1, chunk_seconds=8)
    killed = set()

    def killed_to_the_end():
        if busy.is_worked(job):
            pids = busy.computing()
            killed.update(pids)
            list(map(kill, pids))
        return busy.job(job).is_over

    until(killed_to_the_end)
    over = busy.job(job)
    assert (over.state, over.error) == (
        "failed",
        "The process that computed this part ended unexpectedly (signal 9). (3 attempts)",
    )
    assert busy.ask(seed=1, chunk_seconds=8).state == "queued"
    assert busy.result(job) == undisturbed(1)
    assert len(killed) >= 3
    assert not any(is_zombie(pid) for pid in killed)


def test_a_job_that_raises_fails_with_the_error_after_three_attempts(busy):
    job = busy.add([1, 1], run_ids=[987654321])
    assert busy.over(job).error == "KeyError: 987654321 (3 attempts)"


def test_a_job_that_is_refused_or_that_another_version_began_fails_at_once_and_says_what_to_do(busy):
    another = find_kind("swap-rate").engine_version + 1
    for given, said in (
        ({"params": busy.like.params | {"metrics": ["AP(mean=geometric)"]}}, "has a geometric mean"),
        ({"engine_version": another}, "Another version of Gainboard began this job"),
    ):
        over = busy.over(busy.add([1, 1], **given))
        assert (over.state, said in over.error, "attempts" in over.error) == ("failed", True, False)
