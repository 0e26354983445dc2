"""Waiting for jobs, whoever works them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from gainboard.jobs import job_events
from gainboard.jobs.job_events import Watch
from tests.jobs.chunks import claimed, complete
from tests.waiting import until
from tests.world.processes import working


def test_all_who_wait_are_told_what_another_server_did(table):
    jobs = [table.add([1, 1]) for _ in range(2)]

    async def wait():
        watch = Watch(table.workspace)
        waiting = [asyncio.create_task(watch.until_over(job, 20)) for job in (*jobs, *jobs)]
        await asyncio.sleep(0)
        for job in jobs:
            await asyncio.to_thread(table.cancel, job)
        return await asyncio.gather(*waiting)

    assert [job.state for job in asyncio.run(wait())] == ["cancelled"] * 4


def test_each_change_is_told_once_from_what_is_known_to_the_end(table):
    job = table.add([3, 1])

    steps = [lambda: complete(table, claimed(table)), lambda: table.cancel(job), lambda: None]

    async def follow():
        seen = []
        async for each in Watch(table.workspace).changes(job):
            seen.append((each.state, each.parts_done))
            await asyncio.to_thread(steps[len(seen) - 1])
        return seen

    assert asyncio.run(follow()) == [("queued", 0), ("running", 3), ("cancelled", 3)]


def test_whoever_stops_waiting_disturbs_no_other_and_leaves_no_task(table):
    job = table.add([1, 1])

    async def wait():
        watch = Watch(table.workspace)
        leaves, stays = (asyncio.create_task(watch.until_over(job, 20)) for _ in range(2))
        await asyncio.sleep(0)
        leaves.cancel()
        await asyncio.to_thread(table.cancel, job)
        over = await stays
        async with asyncio.timeout(20):
            while asyncio.all_tasks() != {asyncio.current_task()}:
                await asyncio.sleep(0.01)
        return over

    assert asyncio.run(wait()).state == "cancelled"


@pytest.mark.parametrize("is_told", [False, True])
def test_a_watch_serves_one_event_loop_after_another_and_news_is_read_at_once(table, monkeypatch, is_told):
    if is_told:
        monkeypatch.setattr(job_events, "LOOK_SECONDS", 3600)
    job, watch = table.add([1, 1]), Watch(table.workspace)
    watch.wake()  # nobody waits
    assert asyncio.run(watch.until_over(job, 0.01)) == job  # as it is when the time is up
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(asyncio.run, watch.until_over(job, 60))
        until(lambda: watch.waiting)
        table.cancel(job)
        if is_told:
            watch.wake()
    assert waiting.result().state == "cancelled"


def test_an_engine_tells_at_once_what_it_did(bench, monkeypatch):
    monkeypatch.setattr(job_events, "LOOK_SECONDS", 3600)
    job, watch = bench.ask(trials=10), Watch(bench.workspace)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(asyncio.run, watch.until_over(job, 250))
        until(lambda: watch.waiting)
        with working(bench, changed=watch.wake):
            assert waiting.result(250).state == "succeeded"


def test_a_look_that_fails_is_followed_by_another(table, caplog):
    job = table.add([1, 1])

    async def wait():
        waiting = asyncio.create_task(Watch(table.workspace).until_over(job, 20))
        await asyncio.to_thread(_rename, table, "jobs", "hidden")
        async with asyncio.timeout(20):
            while not any("did not answer" in message or "unexpected" in message for message in caplog.messages):
                await asyncio.sleep(0.01)
        await asyncio.to_thread(_rename, table, "hidden", "jobs")
        await asyncio.to_thread(table.cancel, job)
        return await waiting

    assert asyncio.run(wait()).state == "cancelled"


def _rename(bench, old, new):
    with bench.workspace.database.writing() as tx:
        tx.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))
