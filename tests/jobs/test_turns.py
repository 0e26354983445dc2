"""Chunks are given to principals in turn, however many jobs or tokens one of them has."""

from collections import Counter
from uuid import uuid4

import pytest

from gainboard.evaluation.access import tokens
from gainboard.evaluation.access.tokens import Wish
from gainboard.store import jobs
from gainboard.store.claims import Turns
from tests.jobs.chunks import complete, finish
from tests.world.benches import COLLECTION, create_collection

MANY = 150


@pytest.fixture
def asker(table):
    """The id of a new token: of this role and team, of the collection of the jobs or of another one."""
    other = f"other-{uuid4().hex[:8]}"
    create_collection(table.workspace, table.organiser, other)

    def issue(role, team=None, *, visits=False):
        wish = Wish(role, team)
        return tokens.create(table.workspace, table.organiser, other if visits else COLLECTION, wish).record.id

    return issue


def served(table, turns, count):
    """The jobs of the next chunks, of which each is complete before the next one is claimed, as with one slot."""
    order = []
    for _ in range(count):
        held = table.claim(turns=turns)
        assert held is not None
        order.append(held.job_number)
        finish(table, held) if held.is_last else complete(table, held)
    with table.workspace.database.reading() as tx:
        known = jobs.of_numbers(tx, order)
    return [known[number] for number in order]


def askers(order):
    return [job.token_id for job in order]


def test_a_small_job_does_not_wait_for_many_jobs_of_a_visitor(table, asker):
    visitor, organiser = asker("reader", visits=True), asker("organiser")
    for _ in range(MANY):
        table.add([1, 1, 1], token_id=visitor)
    turns = Turns()
    served(table, turns, 5)
    small = table.add([1, 1], token_id=organiser)
    assert [job.number for job in served(table, turns, 4)].count(small.number) == 2
    assert table.job(small).state == "succeeded"


def test_a_long_job_is_not_starved_by_a_stream_of_short_ones(table, asker):
    long, short = asker("participant", "lemur"), asker("participant", "tarsier")
    table.add([1] * 20, token_id=long)
    for _ in range(20):
        table.add([1], token_id=short)
    assert askers(served(table, Turns(), 10)) in ([long, short] * 5, [short, long] * 5)


def test_the_next_chunk_is_of_the_principal_of_whom_least_is_running(table, asker):
    one, other = asker("participant", "lemur"), asker("participant", "tarsier")
    turns = Turns()
    first = table.add([1] * 8, token_id=one)
    assert all(table.claim(turns=turns) for _ in range(3))
    second = table.add([1] * 8, token_id=other)
    claimed = [held.job_number for _ in range(4) if (held := table.claim(turns=turns))]
    assert claimed[:3] == [second.number] * 3
    assert set(claimed[3:]) <= {first.number, second.number}


@pytest.mark.parametrize(
    ("role", "team", "visits", "with_instance"),
    [
        *(("participant", "lemur", False, False), ("organiser", None, False, True)),
        *(("reader", None, True, False), ("organiser", None, True, False)),
    ],
)
def test_many_tokens_of_a_team_of_organisers_or_of_another_collection_have_one_turn(
    table, asker, role, team, visits, with_instance
):
    many, alone = [asker(role, team, visits=visits) for _ in range(6)], asker("reader")
    many += [table.organiser.require_token().id] if with_instance else []
    for token in (*many, alone):
        table.add([1] * 10, token_id=token)
    shares = Counter(token == alone for token in askers(served(table, Turns(), 12)))
    assert shares == {True: 6, False: 6}


def test_readers_of_the_collection_and_chores_have_a_turn_each(table, asker):
    own = [*(asker("reader") for _ in range(3)), None]
    for token in own:
        table.add([1] * 10, token_id=token)
    assert Counter(askers(served(table, Turns(), 12))) == dict.fromkeys(own, 3)
