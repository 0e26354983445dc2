"""A slot's process: given work, killed, replaced."""

import os
import signal
from threading import Event

import pytest

from gainboard.jobs.worker_process import WorkerProcess
from tests.jobs.chunks import claimed
from tests.waiting import until
from tests.world.benches import computing, is_there, is_zombie


@pytest.fixture
def slot(table):
    made = WorkerProcess(table.workspace.database, Event().set)
    yield made
    made.drop()


def work(slot, held):
    slot.give(held)
    return reply(slot)


def reply(slot):
    found = until(slot.reply)
    assert found is not None
    return found


def test_a_slot_tells_what_became_of_each_claim(table, slot):
    table.ask(trials=50)
    assert [work(slot, claimed(table)).outcome for _ in range(2)] == ["done", "done"]
    table.add([1, 1], kind="no-such-kind")
    assert work(slot, claimed(table)).message == "KeyError: 'no-such-kind'"
    assert len(computing()) == 1


def test_work_that_is_given_right_after_a_kill_is_done_by_another_process(table, slot):
    table.ask(trials=49, chunk_seconds=1e-9)
    for _ in range(3):
        slot.give(claimed(table))
        (pid,) = until(computing)
        slot.drop()
        assert not is_there(pid)
        assert not is_zombie(pid)
        assert slot.reply() is None
    assert work(slot, claimed(table)).outcome == "done"


def test_a_process_that_ended_while_it_had_nothing_to_do_is_replaced(table, slot):
    table.ask(trials=51)
    work(slot, claimed(table))
    (pid,) = computing()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_there(pid) and not is_zombie(pid))
    assert work(slot, claimed(table)).outcome == "done"


def test_signals_for_the_owner_do_not_end_a_process(table, slot):
    table.ask(trials=52)
    slot.give(claimed(table))
    (pid,) = until(computing)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(pid, number)
    assert reply(slot).outcome == "done"
    assert computing() == [pid]


def test_modules_in_the_folder_of_the_start_are_not_the_processs(table, slot, tmp_path, monkeypatch):
    (tmp_path / "queue.py").write_text("raise SystemExit('not the standard library')")
    (tmp_path / "gainboard.py").write_text("raise SystemExit('not Gainboard')")
    table.ask(trials=53)
    monkeypatch.chdir(tmp_path)
    assert work(slot, claimed(table)).outcome == "done"
