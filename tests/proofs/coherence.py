"""Changes a collection through one of several servers, and checks at others that nobody gets an old answer.

    python -m tests.proofs.coherence --changes 2000 --checks 5 --database-url URL

starts four servers over one database. Each change is an upload, a withdrawal, other judgments, or other default gains.
After each, boards and scores are asked for at servers that are drawn, and compared with what they must be now.
"""

import random
import sys
from contextlib import ExitStack
from tempfile import TemporaryDirectory

import httpx

from tests.proofs import asked
from tests.waiting import until
from tests.world.processes import answers, server
from tests.world.servers import ADMIN

PATH = "/v1/collections/web"
MOST_RUNS = 5


class World:
    """What the collection must look like now: the runs, and which of its two documents the judgments prefer."""

    def __init__(self, clients, drawn):
        self.clients, self.drawn = clients, drawn
        self.runs = {}
        self.first_is_good, self.names = True, 0
        assert self._anybody().post("/v1/collections", json={"name": "web", "levels": 1}).status_code == 201
        self._judge()
        self._upload()

    def _anybody(self):
        return self.drawn.choice(self.clients)

    def change(self):
        chance = self.drawn.random()
        if chance < 0.3:
            self.first_is_good = not self.first_is_good
            self._judge()
        elif (chance < 0.65 and len(self.runs) < MOST_RUNS) or len(self.runs) == 1:
            self._upload()
        else:
            name = self.drawn.choice(list(self.runs))
            del self.runs[name]
            assert self._anybody().delete(f"{PATH}/runs/{name}").status_code == 204

    def _judge(self):
        good, bad = ("a", "b") if self.first_is_good else ("b", "a")
        answer = self._anybody().put(f"{PATH}/qrels", content=f"1 0 {good} 1\n1 0 {bad} 0\n2 0 {good} 1\n2 0 {bad} 0\n")
        assert answer.is_success, answer.text

    def _upload(self):
        self.names += 1
        name, begins_with_first = f"run-{self.names}", self.drawn.random() < 0.5
        order = ("a", "b") if begins_with_first else ("b", "a")
        lines = [f"{topic} Q0 {d} {rank} {-rank} {name}\n" for topic in (1, 2) for rank, d in enumerate(order, 1)]
        answer = self._anybody().post(f"{PATH}/runs", params={"team": "t"}, content="".join(lines))
        assert answer.status_code == 201, answer.text
        self.runs[name] = begins_with_first

    def stale(self):
        """What a server that is drawn answers, if that is not what it must be now."""
        resource = self.drawn.choice(["leaderboard", "scores"])
        answer = self._anybody().get(f"{PATH}/{resource}", params={"metric": "RR"}).json()
        rows = answer["rows"] if resource == "leaderboard" else answer["runs"]
        found = {row["name"]: row["mean"]["RR"] for row in rows}
        expected = {name: 1.0 if first == self.first_is_good else 0.5 for name, first in self.runs.items()}
        return None if found == expected else f"{resource}: {found} in place of {expected}"


def check(database_url, changes, checks, servers=4, seed=0):
    with ExitStack() as stack:
        running = [stack.enter_context(server(database_url, slots=0)) for _ in range(servers)]
        headers = {"Authorization": f"Bearer {ADMIN}"}
        clients = [
            stack.enter_context(httpx.Client(base_url=each.url, headers=headers, timeout=60)) for each in running
        ]
        until(lambda: all(answers(each.url) for each in running), 120)
        world = World(clients, random.Random(seed))
        stale = []
        for _ in range(changes):
            world.change()
            stale += [found for found in (world.stale() for _ in range(checks)) if found]
        return stale


def main():
    parsed = asked(__doc__, changes=2000, checks=5, database_url=None)
    with TemporaryDirectory() as folder:
        stale = check(parsed.database_url or f"sqlite:///{folder}/gainboard.db", parsed.changes, parsed.checks)
    print("\n".join(stale[:20]))
    print(f"{parsed.changes} changes, {parsed.changes * parsed.checks} checks, {len(stale)} out of date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
