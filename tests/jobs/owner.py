"""A process that takes the ownership of a database's jobs, and keeps it until its standard input ends.

python -m tests.jobs.owner URL
"""

import sys

from gainboard.store.database import Database
from gainboard.store.ownership import Ownership


def main():
    """Says whether it got it, once."""
    ownership = Ownership(Database(sys.argv[1]))
    print("owns" if ownership.acquire() else "waits", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
