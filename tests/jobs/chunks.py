"""What whoever works a chunk writes about it, each in a transaction of its own."""

from gainboard.store import claims


def claimed(bench, owner="a"):
    held = bench.claim(owner)
    assert held is not None
    return held


def complete(bench, held):
    with bench.workspace.database.writing() as tx:
        return claims.complete(tx, held, str(held.position).encode())


def give_back(bench, held, error="it died", is_final=False):
    with bench.workspace.database.writing() as tx:
        claims.give_back(tx, held, bench.workspace.now(), error, is_final)


def finish(bench, held):
    with bench.workspace.database.writing() as tx:
        return claims.finish(tx, held, bench.a_blob, bench.workspace.now(), {})


def take_over(bench):
    """As the sweep does after the death of whoever has claimed chunks: here nobody is in the register."""
    with bench.workspace.database.writing() as tx:
        claims.free_dead(tx, bench.workspace.now())


def is_lost(bench, held):
    with bench.workspace.database.reading() as tx:
        return claims.is_lost(tx, held)


def attempts(bench, job):
    return [(chunk.attempts, chunk.interruptions) for chunk in bench.chunks(job)]
