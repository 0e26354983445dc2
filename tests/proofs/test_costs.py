"""The short form of the table of costs: small bodies, of which only the answers are compared."""

from benchmarks.hostile_bodies import HOSTILE, participant_of, send, set_up

SCALE = 50


def test_every_hostile_body_is_answered_as_the_table_says(sqlite_service):
    path = set_up(sqlite_service.organiser)
    own = sqlite_service.client(participant_of(sqlite_service.organiser, path))
    clients = {True: own, False: sqlite_service.organiser}
    answers = {hostile.name: send(hostile, clients[hostile.is_run], path, SCALE) for hostile in HOSTILE}
    assert answers == {hostile.name: (hostile.status, hostile.kind) for hostile in HOSTILE}
