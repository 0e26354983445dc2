"""What the tables of jobs hold on every database, whoever works them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest

from app.store import claims
from app.store.claims import ATTEMPTS, INTERRUPTIONS
from app.store.records import Claim, Job
from tests.jobs.bench import Bench


@pytest.fixture(autouse=True)
def _no_open_job(shared_bench: Bench) -> None:
    shared_bench.cancel_all()


def claimed(bench: Bench, owner: str = "a") -> Claim:
    """A chunk that there is to be claimed."""
    held = bench.claim(owner)
    assert held is not None
    return held


def complete(bench: Bench, held: Claim) -> bool:
    """Finishes a chunk, which came to its own number."""
    with bench.workspace.database.writing() as tx:
        return claims.complete(tx, held, str(held.position).encode())


def give_back(bench: Bench, held: Claim, error: str = "it died", is_final: bool = False) -> None:
    """Reports that the process died or raised."""
    with bench.workspace.database.writing() as tx:
        claims.give_back(tx, held, bench.workspace.now(), error, is_final)


def finish(bench: Bench, held: Claim) -> bool:
    """Finishes the job, with the result of another one's file."""
    with bench.workspace.database.writing() as tx:
        return claims.finish(tx, held, bench.a_blob, bench.workspace.now())


def take_over(bench: Bench) -> None:
    """Begins a new owner's time."""
    with bench.workspace.database.writing() as tx:
        claims.take_over(tx, bench.workspace.now())


def is_lost(bench: Bench, held: Claim) -> bool:
    """Whether its process should end."""
    with bench.workspace.database.reading() as tx:
        return claims.is_lost(tx, held)


def attempts(bench: Bench, job: Job) -> list[tuple[int, int]]:
    """Attempts and interruptions of the job's chunks."""
    return [(chunk.attempts, chunk.interruptions) for chunk in bench.chunks(job)]


def test_a_new_job_is_queued_with_its_chunks_and_an_equal_one_is_the_same(shared_bench: Bench) -> None:
    job = shared_bench.add([2, 3, 1])
    assert (job.state, job.parts, job.parts_done, job.is_over) == ("queued", 6, 0, False)
    assert [(c.position, c.first_part, c.parts) for c in shared_bench.chunks(job)] == [(0, 0, 2), (1, 2, 3), (2, 5, 1)]
    assert shared_bench.add([2, 3, 1], job.id) == job
    assert len(shared_bench.chunks(job)) == 3


def test_equal_jobs_that_are_added_at_once_are_one(shared_bench: Bench) -> None:
    barrier, identity = Barrier(4), shared_bench.new_id()

    def add(_: int) -> Job:
        barrier.wait()
        return shared_bench.add([1] * 50 + [1], identity)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(add, range(4)))
    assert len({job.number for job in found}) == 1
    assert len(shared_bench.chunks(found[0])) == 51


def test_times_come_back_in_utc(shared_bench: Bench) -> None:
    began = datetime.now(UTC)
    job = shared_bench.add([1])
    claimed(shared_bench)
    shared_bench.cancel(job)
    job = shared_bench.job(job)
    assert job.started_at is not None
    assert job.finished_at is not None
    assert began <= job.created_at <= job.started_at <= job.finished_at <= datetime.now(UTC)


def test_a_job_begins_with_its_first_claim(shared_bench: Bench) -> None:
    job = shared_bench.add([1, 1, 1])
    claimed(shared_bench)
    began = shared_bench.job(job)
    claimed(shared_bench)
    assert (began.state, shared_bench.job(job).started_at) == ("running", began.started_at)


def test_the_last_chunk_waits_for_all_others(shared_bench: Bench) -> None:
    shared_bench.add([1, 1, 1])
    first, second = claimed(shared_bench), claimed(shared_bench)
    assert shared_bench.claim() is None
    assert complete(shared_bench, second)
    assert shared_bench.claim() is None
    assert complete(shared_bench, first)
    last = claimed(shared_bench)
    assert [(held.position, held.is_last) for held in (first, second, last)] == [(0, False), (1, False), (2, True)]


def test_the_job_of_which_least_was_begun_is_first_in_line(shared_bench: Bench) -> None:
    long, short = shared_bench.add([1] * 5), shared_bench.add([1] * 2)
    order = [claimed(shared_bench).job_number for _ in range(4)]
    assert order == [long.number, short.number, long.number, long.number]


def test_a_chunk_is_given_to_one_of_those_who_claim_at_once(shared_bench: Bench) -> None:
    job = shared_bench.add([1] * 40 + [1])
    barrier = Barrier(4)

    def claim_many(owner: int) -> list[Claim]:
        barrier.wait()
        return [held for _ in range(20) if (held := shared_bench.claim(str(owner))) is not None]

    with ThreadPoolExecutor(4) as pool:
        found = [held for owned in pool.map(claim_many, range(4)) for held in owned]
    assert len({held.position for held in found}) == len(found) >= 20
    kept = {chunk.claim for chunk in shared_bench.chunks(job)} - {None}
    assert kept == {held.name for held in found}


def test_progress_is_seen_and_is_that_of_the_chunks(shared_bench: Bench) -> None:
    job = shared_bench.add([4, 2, 1])
    first, second = claimed(shared_bench), claimed(shared_bench)
    with shared_bench.workspace.database.writing() as tx:
        claims.progress(tx, first, 3)
    assert shared_bench.job(job).parts_done == 3
    complete(shared_bench, second)
    assert shared_bench.job(job).parts_done == 5


def test_what_chunks_came_to_is_read_in_their_order_and_goes_with_the_result(shared_bench: Bench) -> None:
    job = shared_bench.add([1, 1, 1])
    first, second = claimed(shared_bench), claimed(shared_bench)
    for held in (second, first):
        complete(shared_bench, held)
    with shared_bench.workspace.database.reading() as tx:
        assert claims.found(tx, job.number) == [b"0", b"1"]
    assert finish(shared_bench, claimed(shared_bench))
    job = shared_bench.job(job)
    assert (job.state, job.parts_done, job.result_sha256) == ("succeeded", 3, shared_bench.a_blob)
    assert shared_bench.chunks(job) == []


def test_a_finished_chunk_or_job_is_not_lost_to_whoever_finished_it(shared_bench: Bench) -> None:
    shared_bench.add([1, 1])
    held = claimed(shared_bench)
    complete(shared_bench, held)
    assert not is_lost(shared_bench, held)
    last = claimed(shared_bench)
    finish(shared_bench, last)
    assert not is_lost(shared_bench, last)


def test_a_process_that_died_three_times_fails_the_job(shared_bench: Bench) -> None:
    job = shared_bench.add([1, 1])
    for attempt in range(1, ATTEMPTS + 1):
        assert shared_bench.job(job).state != "failed"
        give_back(shared_bench, claimed(shared_bench))
        assert attempts(shared_bench, job)[0] == (attempt, 0)
    job = shared_bench.job(job)
    assert (job.state, job.error) == ("failed", "it died (3 attempts)")
    assert shared_bench.claim() is None


def test_what_will_be_refused_again_fails_at_once_and_ends_the_jobs_other_claims(shared_bench: Bench) -> None:
    job = shared_bench.add([1, 1, 1])
    held, other = claimed(shared_bench), claimed(shared_bench)
    give_back(shared_bench, held, "no such metric", is_final=True)
    assert (shared_bench.job(job).state, shared_bench.job(job).error) == ("failed", "no such metric")
    assert is_lost(shared_bench, other)
    assert not complete(shared_bench, other)


def test_what_is_put_back_was_no_attempt(shared_bench: Bench) -> None:
    job = shared_bench.add([2, 1])
    for _ in range(2 * ATTEMPTS):
        held = claimed(shared_bench)
        with shared_bench.workspace.database.writing() as tx:
            claims.progress(tx, held, 1)
            claims.put_back(tx, held)
    assert attempts(shared_bench, job) == [(0, 0), (0, 0)]
    assert shared_bench.job(job).parts_done == 0


def test_an_owner_puts_back_its_own_chunks_but_for_those_it_keeps(shared_bench: Bench) -> None:
    job = shared_bench.add([1] * 4)
    kept, dropped, others = claimed(shared_bench), claimed(shared_bench), claimed(shared_bench, "a_")
    with shared_bench.workspace.database.writing() as tx:
        claims.put_back_all(tx, "a", [kept.name])
    assert [chunk.claim for chunk in shared_bench.chunks(job)] == [kept.name, None, others.name, None]
    assert is_lost(shared_bench, dropped)
    assert attempts(shared_bench, job)[:3] == [(1, 0), (0, 0), (1, 0)]


def test_a_new_owner_begins_anew_what_others_had_begun_and_keeps_its_own(shared_bench: Bench) -> None:
    job = shared_bench.add([1] * 3)
    dead, own = claimed(shared_bench, "dead"), claimed(shared_bench, "new")
    with shared_bench.workspace.database.writing() as tx:
        claims.take_over(tx, shared_bench.workspace.now(), [own.name])
    assert (is_lost(shared_bench, dead), is_lost(shared_bench, own)) == (True, False)
    assert attempts(shared_bench, job)[:2] == [(0, 1), (1, 0)]


def test_a_chunk_over_which_twenty_owners_died_fails(shared_bench: Bench) -> None:
    job = shared_bench.add([1, 1])
    for death in range(INTERRUPTIONS):
        assert shared_bench.job(job).state != "failed", death
        claimed(shared_bench)
        take_over(shared_bench)
    assert shared_bench.job(job).state == "failed"
    assert "died 20 times" in str(shared_bench.job(job).error)


def test_deaths_of_owners_are_no_attempts(shared_bench: Bench) -> None:
    job = shared_bench.add([1, 1])
    for _ in range(ATTEMPTS - 1):
        give_back(shared_bench, claimed(shared_bench))
    for _ in range(5):
        claimed(shared_bench)
        take_over(shared_bench)
    assert attempts(shared_bench, job)[0] == (ATTEMPTS - 1, 5)
    give_back(shared_bench, claimed(shared_bench))
    assert shared_bench.job(job).state == "failed"


def test_a_lost_claim_writes_nothing(shared_bench: Bench) -> None:
    job = shared_bench.add([2, 1])
    lost = claimed(shared_bench)
    take_over(shared_bench)
    held = claimed(shared_bench, "b")
    before = shared_bench.chunks(job)
    with shared_bench.workspace.database.writing() as tx:
        claims.progress(tx, lost, 1)
        claims.put_back(tx, lost)
        assert not claims.holds(tx, lost)
    give_back(shared_bench, lost)
    assert not complete(shared_bench, lost)
    assert shared_bench.chunks(job) == before
    assert complete(shared_bench, held)
    assert not complete(shared_bench, lost)


def test_a_lost_claim_on_the_last_chunk_gives_the_job_no_result(shared_bench: Bench) -> None:
    job = shared_bench.add([1])
    lost = claimed(shared_bench)
    take_over(shared_bench)
    assert not finish(shared_bench, lost)
    assert finish(shared_bench, claimed(shared_bench))
    assert not finish(shared_bench, lost)
    assert shared_bench.job(job).state == "succeeded"


def test_a_cancelled_job_is_worked_no_more_and_takes_no_result(shared_bench: Bench) -> None:
    job = shared_bench.add([1])
    held = claimed(shared_bench)
    shared_bench.cancel(job)
    assert is_lost(shared_bench, held)
    assert not finish(shared_bench, held)
    job = shared_bench.job(job)
    assert (job.state, job.result_sha256, job.error) == ("cancelled", None, None)
    assert shared_bench.claim() is None


def test_a_cancellation_waits_for_a_result_that_is_being_stored_and_changes_nothing_then(shared_bench: Bench) -> None:
    job = shared_bench.add([1])
    held = claimed(shared_bench)
    with ThreadPoolExecutor(1) as pool:
        with shared_bench.workspace.database.writing() as tx:
            assert claims.holds(tx, held)
            cancelling = pool.submit(shared_bench.cancel, job)
            with pytest.raises(TimeoutError):
                cancelling.result(0.1)
            assert claims.finish(tx, held, shared_bench.a_blob, shared_bench.workspace.now())
        cancelling.result()
    assert shared_bench.job(job).state == "succeeded"


def test_what_is_over_stays_so_when_it_is_cancelled(shared_bench: Bench) -> None:
    job = shared_bench.add([1])
    finish(shared_bench, claimed(shared_bench))
    before = shared_bench.job(job)
    shared_bench.cancel(job)
    assert shared_bench.job(job) == before
    assert shared_bench.add([1], job.id) == before


def test_a_job_that_failed_or_was_cancelled_is_queued_again_with_what_it_had_found(shared_bench: Bench) -> None:
    job = shared_bench.add([1, 1, 1])
    complete(shared_bench, claimed(shared_bench))
    lost = claimed(shared_bench)
    for _ in range(ATTEMPTS):
        give_back(shared_bench, lost)
        lost = shared_bench.claim() or lost
    assert shared_bench.job(job).state == "failed"
    again = shared_bench.add([1, 1, 1], job.id)
    assert (again.state, again.error, again.started_at, again.finished_at) == ("queued", None, None, None)
    assert (again.number, again.parts_done, attempts(shared_bench, job)[1]) == (job.number, 1, (0, 0))
    assert claimed(shared_bench).position == 1


def test_a_claim_from_before_a_cancellation_does_not_hold_after_the_job_was_asked_for_again(
    shared_bench: Bench,
) -> None:
    job = shared_bench.add([1, 1])
    held = claimed(shared_bench)
    shared_bench.cancel(job)
    shared_bench.add([1, 1], job.id)
    assert is_lost(shared_bench, held)
    assert not complete(shared_bench, held)
    assert claimed(shared_bench).position == 0
