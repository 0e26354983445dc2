"""Counts what an idle fleet asks of its database.

    python -m tests.proofs.fleet --workers 20

starts a PostgreSQL server of its own and so many workers, and counts the statements in the server's log. It says how
many there are in a second, of each kind.
"""

import os
import re
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import create_engine, text

from gainboard.store.processes import list_processes
from tests import private_postgres
from tests.proofs import asked
from tests.waiting import until
from tests.world.benches import Bench
from tests.world.processes import fleet_worker

MOST_A_SECOND = 1.0
"""Statements that one idle worker may send in a second."""
_STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (\w+ ?\w*)")


def idle(workers, seconds):
    """The statements of so many idle workers in so many seconds, by their first words."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        os.chmod(folder, 0o777)
        server = stack.enter_context(private_postgres.running(Path(folder)))
        bench = Bench(f"{server.url}?connect_timeout=30")
        for _ in range(workers):
            stack.enter_context(fleet_worker(bench.url))
        until(lambda: _registered(bench) == workers, 300)
        _log_statements(server.url, "all")
        time.sleep(seconds)  # this is what is measured
        _log_statements(server.url, "none")
        log = (Path(folder) / "log").read_text(encoding="utf-8", errors="replace")
        bench.close()
    own = ("ALTER SYSTEM", "SELECT pg_reload_conf")
    return Counter(found[1] for found in _STATEMENT.finditer(log) if found[1] not in own)


def _registered(bench):
    with bench.workspace.database.reading() as tx:
        return sum(process.kind == "worker" for process in list_processes(tx, None))


def _log_statements(url, which):
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"ALTER SYSTEM SET log_statement = '{which}'"))
        connection.execute(text("SELECT pg_reload_conf()"))
    engine.dispose()


def main():
    parsed = asked(__doc__, workers=20, seconds=120.0)
    counted = idle(parsed.workers, parsed.seconds)
    for words, count in counted.most_common():
        print(f"{words:30} {count / parsed.seconds:8.2f} a second")
    rate = counted.total() / parsed.seconds
    print(f"{parsed.workers} idle workers: {rate:.1f} statements a second")
    return 0 if rate <= MOST_A_SECOND * parsed.workers else 1


if __name__ == "__main__":
    sys.exit(main())
