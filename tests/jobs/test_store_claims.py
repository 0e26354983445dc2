"""Chunks are given to one at a time, and what a lost claim would write is dropped."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gainboard.store import claims
from gainboard.store.claims import ATTEMPTS, INTERRUPTIONS
from tests.jobs.chunks import attempts, claimed, complete, finish, give_back, is_lost, take_over


def test_the_last_chunk_waits_for_all_others(table):
    table.add([1, 1, 1])
    first, second = claimed(table), claimed(table)
    assert table.claim() is None
    assert complete(table, second)
    assert table.claim() is None
    assert complete(table, first)
    last = claimed(table)
    assert [(held.position, held.is_last) for held in (first, second, last)] == [(0, False), (1, False), (2, True)]


def test_the_job_of_which_least_was_begun_is_first_in_line(table):
    long, short = table.add([1] * 5), table.add([1] * 2)
    order = [claimed(table).job_number for _ in range(4)]
    assert order == [long.number, short.number, long.number, long.number]


def test_a_chunk_is_given_to_one_of_those_who_claim_at_once(table):
    job = table.add([1] * 40 + [1])
    barrier = Barrier(4, timeout=60)

    def claim_many(owner):
        barrier.wait()
        return [held for _ in range(20) if (held := table.claim(str(owner))) is not None]

    with ThreadPoolExecutor(4) as pool:
        found = [held for owned in pool.map(claim_many, range(4)) for held in owned]
    assert len({held.position for held in found}) == len(found) >= 20
    kept = {chunk.claim for chunk in table.chunks(job)} - {None}
    assert kept == {held.name for held in found}


def test_what_is_put_back_was_no_attempt(table):
    job = table.add([2, 1])
    for _ in range(2 * ATTEMPTS):
        held = claimed(table)
        with table.workspace.database.writing() as tx:
            claims.progress(tx, held, 1)
            claims.put_back(tx, held, table.workspace.now())
    assert attempts(table, job) == [(0, 2 * ATTEMPTS), (0, 0)]
    assert table.job(job).parts_done == 0


@pytest.mark.parametrize("is_death", [False, True])
def test_a_chunk_that_the_database_failed_or_over_which_owners_died_twenty_times_fails(table, is_death):
    job = table.add([1, 1])
    for failure in range(INTERRUPTIONS):
        assert table.job(job).state != "failed", failure
        held = claimed(table)
        with table.workspace.database.writing() as tx:
            now = table.workspace.now()
            claims.free_dead(tx, now) if is_death else claims.put_back(tx, held, now)
    assert table.job(job).state == "failed"
    assert ("died 20 times" if is_death else "The database failed") in table.job(job).error


def test_an_owner_puts_back_its_own_chunks_but_for_those_it_keeps(table):
    job = table.add([1] * 4)
    kept, dropped, others = claimed(table), claimed(table), claimed(table, "a_")
    with table.workspace.database.writing() as tx:
        claims.put_back_all(tx, "a", [kept.name])
    assert [chunk.claim for chunk in table.chunks(job)] == [kept.name, None, others.name, None]
    assert is_lost(table, dropped)
    assert attempts(table, job)[:3] == [(1, 0), (0, 0), (1, 0)]


def test_what_the_dead_had_begun_is_begun_anew_and_a_process_of_the_register_keeps_its_own(table):
    job = table.add([1] * 3)
    lease = table.workspace.lease
    lease.begin("worker", "0.2.0", 1)
    dead, own = claimed(table, "dead"), claimed(table, lease.id)
    take_over(table)
    assert (is_lost(table, dead), is_lost(table, own)) == (True, False)
    assert attempts(table, job)[:2] == [(0, 1), (1, 0)]
    lease.end()
    assert is_lost(table, own)
    assert attempts(table, job)[:2] == [(0, 1), (0, 0)]


def test_deaths_of_owners_are_no_attempts(table):
    job = table.add([1, 1])
    for _ in range(ATTEMPTS - 1):
        give_back(table, claimed(table))
    for _ in range(5):
        claimed(table)
        take_over(table)
    assert attempts(table, job)[0] == (ATTEMPTS - 1, 5)
    give_back(table, claimed(table))
    assert (table.job(job).state, table.job(job).error) == ("failed", f"it died ({ATTEMPTS} attempts)")
    assert table.claim() is None


def test_a_lost_claim_writes_nothing(table):
    job = table.add([2, 1])
    lost = claimed(table)
    take_over(table)
    held = claimed(table, "b")
    before = table.chunks(job)
    with table.workspace.database.writing() as tx:
        claims.progress(tx, lost, 1)
        claims.put_back(tx, lost, table.workspace.now())
        assert not claims.holds(tx, lost)
    give_back(table, lost)
    assert not complete(table, lost)
    assert table.chunks(job) == before
    assert complete(table, held)
    assert not complete(table, lost)


def test_a_lost_claim_on_the_last_chunk_gives_the_job_no_result(table):
    job = table.add([1])
    lost = claimed(table)
    take_over(table)
    assert not finish(table, lost)
    assert finish(table, claimed(table))
    assert not finish(table, lost)
    assert table.job(job).state == "succeeded"
