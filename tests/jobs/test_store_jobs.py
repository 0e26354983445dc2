"""What the table of jobs holds on every database, whoever works them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gainboard.store import claims
from gainboard.store.claims import ATTEMPTS
from tests.jobs.chunks import attempts, claimed, complete, finish, give_back, is_lost


def test_a_new_job_is_queued_with_its_chunks_and_an_equal_one_is_the_same(table):
    job = table.add([2, 3, 1])
    assert (job.state, job.parts, job.parts_done, job.is_over) == ("queued", 6, 0, False)
    assert [(c.position, c.first_part, c.parts) for c in table.chunks(job)] == [(0, 0, 2), (1, 2, 3), (2, 5, 1)]
    assert table.add([2, 3, 1], job.id) == job
    assert len(table.chunks(job)) == 3


def test_equal_jobs_that_are_added_at_once_are_one(table):
    barrier, identity = Barrier(4, timeout=60), table.new_id()

    def add(_):
        barrier.wait()
        return table.add([1] * 50 + [1], identity)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(add, range(4)))
    assert len({job.number for job in found}) == 1
    assert len(table.chunks(found[0])) == 51


def test_what_chunks_came_to_is_read_in_their_order_and_goes_with_the_result(table):
    job = table.add([1, 1, 1])
    first, second = claimed(table), claimed(table)
    for held in (second, first):
        complete(table, held)
    with table.workspace.database.reading() as tx:
        assert claims.results_of_chunks(tx, job.number) == [b"0", b"1"]
    assert finish(table, claimed(table))
    job = table.job(job)
    assert (job.state, job.parts_done, job.result_sha256) == ("succeeded", 3, table.a_blob)
    assert table.chunks(job) == []
    table.cancel(job)
    assert table.job(job) == job == table.add([1, 1, 1], job.id)


def test_a_cancelled_job_is_worked_no_more_and_takes_no_result(table):
    job = table.add([1])
    held = claimed(table)
    table.cancel(job)
    assert is_lost(table, held)
    assert not finish(table, held)
    job = table.job(job)
    assert (job.state, job.result_sha256, job.error) == ("cancelled", None, None)
    assert table.claim() is None


def test_a_cancellation_waits_for_a_result_that_is_being_stored_and_changes_nothing_then(table):
    job = table.add([1])
    held = claimed(table)
    with ThreadPoolExecutor(1) as pool:
        with table.workspace.database.writing() as tx:
            assert claims.holds(tx, held)
            cancelling = pool.submit(table.cancel, job)
            with pytest.raises(TimeoutError):
                cancelling.result(0.1)
            assert claims.finish(tx, held, table.a_blob, table.workspace.now(), {})
        cancelling.result()
    assert table.job(job).state == "succeeded"


def test_a_job_that_failed_or_was_cancelled_is_queued_again_with_what_it_had_found(table):
    job = table.add([1, 1, 1])
    complete(table, claimed(table))
    lost = claimed(table)
    for _ in range(ATTEMPTS):
        give_back(table, lost)
        lost = table.claim() or lost
    assert table.job(job).state == "failed"
    again = table.add([1, 1, 1], job.id)
    assert (again.state, again.error, again.started_at, again.finished_at) == ("queued", None, None, None)
    assert (again.number, again.parts_done, attempts(table, job)[1]) == (job.number, 1, (0, 0))
    assert claimed(table).position == 1


def test_a_claim_from_before_a_cancellation_does_not_hold_after_the_job_was_asked_for_again(table):
    job = table.add([1, 1])
    held = claimed(table)
    table.cancel(job)
    table.add([1, 1], job.id)
    assert is_lost(table, held)
    assert not complete(table, held)
    assert claimed(table).position == 0
