"""The process of one slot: it runs the chunks that its owner names, until the owner is gone.

    python -m gainboard.jobs.process

It reads lines of JSON from standard input: first the addresses of the database and of files outside of it (not as
arguments, which every user of the machine could read), and the folder of compiled code, then claims. It answers each
claim with one line, a `Reply`. The end of standard input means that the owner has ended, for any reason. Then this
process ends at once, even in the middle of a computation.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Literal

from gainboard.acceleration import serving
from gainboard.analyses.job_kinds import every_kind
from gainboard.errors import BadInput, NoSpace, Refused, Unavailable, Unexpected
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.worker import Worker
from gainboard.store.database import Database
from gainboard.store.job_records import Claim

NICENESS = 5
"""Jobs have a lower priority than requests."""

Outcome = Literal["done", "refused", "unavailable", "raised"]


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a claim. `refused` would happen again; `unavailable` was the database's fault."""

    claim: str
    outcome: Outcome
    message: str = ""
    trace: str = ""


def main() -> None:
    """Run chunks until standard input ends."""
    gc.disable()
    serving.share_heaps()
    # Whatever a library prints must not get among the replies.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lines: SimpleQueue[str] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin, lines), daemon=True).start()
    if hasattr(os, "nice"):  # not on Windows
        os.nice(NICENESS)
    stored = json.loads(lines.get())
    worker = Worker(Workspace(Database(stored["url"], objects=stored["objects"])))
    if stored["compiled"] is not None:
        serving.note(Path(stored["compiled"]) if stored["compiled"] else None)
    every_kind()
    gc.freeze()  # a full collection would look at all modules for a tenth of a second
    gc.enable()
    while True:
        reply = _answer(worker, Claim(**json.loads(lines.get())))
        fields = {"claim": reply.claim, "outcome": reply.outcome, "message": reply.message, "trace": reply.trace}
        replies.write(json.dumps(fields) + "\n")
        replies.flush()


def _read(source: IO[str], lines: SimpleQueue[str]) -> None:
    for line in source:
        lines.put(line)
    os._exit(0)


def _answer(worker: Worker, claim: Claim) -> Reply:
    try:
        worker.work(claim)
    except (BadInput, Refused, Unexpected) as error:  # of these, another attempt would give the same
        return Reply(claim.name, "refused", error.message)
    except Unavailable as error:
        return Reply(claim.name, "unavailable", error.message)
    except Exception as error:  # noqa: BLE001 (whatever it is, the owner is told)
        if isinstance(error, OSError) and NoSpace.of(error) is not None:
            return Reply(claim.name, "unavailable", f"There is no space left on a disk ({error}).")
        return Reply(claim.name, "raised", f"{type(error).__name__}: {error}", traceback.format_exc())
    return Reply(claim.name, "done")


if __name__ == "__main__":
    main()
