"""The worker, which runs a chunk of a job. Every engine calls this one function, in whatever process.

The order of writes makes a kill harmless at any moment:

1. A claim names chunk and process in one transaction (`store.claims.claim`). Before it, the chunk is free.
2. What a chunk has found is stored by the transaction that ends its claim, if the claim still holds. A kill before it
   leaves a claim whose process is dead: a living one frees it, and the chunk is computed again, to the same bytes.
3. The last chunk writes files piece by piece under its claim. Nobody sees them: the transaction that stores the result
   and ends the job also makes its files visible. Files of a claim that was lost are cleared.
4. A change of the collection is made by that same transaction, so either both are there or neither.

The lease says who lives (`store.processes`):

5. A process holds things under its id in the register only: chunks, upload slots, idempotency keys and imports.
6. A lease is renewed and judged by the clock of the database. No clocks of two hosts are compared.
7. One transaction forgets the dead and frees all that they held. A forgotten id never comes back, because a renewal
   finds no row: its process begins anew under another id.
8. So what comes late from a process that was taken for dead is refused: `claims.holds`, `complete`, `finish` and
   `give_back` name the claim, and the last transaction of an import finds no collection (`imports.hold`).
9. A process that was late itself judges nobody at that renewal, because an outage of the database ends all leases.
10. A chunk counts an attempt if its process died or raised an error while the engine lived, and else an interruption.

Fairness is in the choice of the chunk alone (`store.claims.claim`), which is the same in each process: the principal
of whom the fewest chunks run in all processes is next, and among equals whoever got none here for the longest time.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gainboard.analyses.job_kinds import Analysis, Arrays, Change, find_kind
from gainboard.analyses.verify import Verification, VerifyResult
from gainboard.errors import InvalidRequest, RowDamaged, Unavailable
from gainboard.evaluation.access.principals import principal_of
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.derived_files import enqueue_layouts, make_derived_files
from gainboard.jobs.files import ClaimLost, FileWriter
from gainboard.jobs.results import (
    exhibits_of,
    list_pairs,
    names_of,
    result_body,
    write_pairs,
    write_summary,
    write_tables,
)
from gainboard.jobs.verification import build_result, open_stored, open_verification
from gainboard.store import blobs, claims, imports, jobs, tokens
from gainboard.store.arrays import pack_all, unpack_all
from gainboard.store.job_records import DERIVED_KINDS, Claim, StoredJob
from gainboard.trec.bodies import compress

PROGRESS_SECONDS = 0.5
"""Seconds between two notes of progress: each note is a write transaction."""


class Worker:
    """A worker of chunks, one after the other. Its scores for one chunk serve the next chunk of the same job."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._open: tuple[str, Analysis[Any, Any]] | None = None

    def work(self, claim: Claim) -> None:
        """Run the chunk and store its findings, or the job's result if the chunk is the last one.

        If the claim is lost before the end, nothing is stored.
        """
        with self._workspace.database.reading() as tx:
            job = jobs.job_of(tx, claim)
        # A kind that this version does not know may be a later one's: it fails by itself.
        if any(damage.column != "kind" for damage in job.damage):
            raise RowDamaged(job.error or "")
        # the claim is lost, so nobody needs the findings
        with suppress(ClaimLost):
            if job.kind in DERIVED_KINDS:
                make_derived_files(self._workspace, claim, job)
            elif claim.is_last:
                analysis = self._analysis(job)
                with self._workspace.database.reading() as tx:
                    packed = claims.results_of_chunks(tx, job.number)
                findings = [arrays for chunk in packed for arrays in unpack_all(chunk)]
                while not _end(self._workspace, claim, job, analysis, findings):
                    pass  # the collection has changed since the change was prepared
            else:
                analysis, note = self._analysis(job), _Progress(self._workspace, claim)
                done: list[Arrays] = []
                for part in range(claim.first_part, claim.first_part + claim.parts):
                    done.append(analysis.work(part))
                    note(len(done))
                chunk = pack_all(done)
                with self._workspace.database.writing() as tx:
                    claims.complete(tx, claim, chunk)

    def _analysis(self, job: StoredJob) -> Analysis[Any, Any]:
        if self._open is not None and self._open[0] == job.id:
            return self._open[1]
        self._open = None  # its matrices may be large: they go before the next ones come
        kind = find_kind(job.kind)
        if (began := job.engine_version) != kind.engine_version:
            # The new chunks would differ from those that are done, and the result would belong to neither version.
            raise InvalidRequest(
                f"Another version of Gainboard began this job (engine version {began}, here {kind.engine_version}). "
                "Send the same request again."
            )
        analysis = open_stored(self._workspace, job)
        if isinstance(analysis, Verification):
            analysis = open_verification(self._workspace, analysis)
        self._open = (job.id, analysis)
        return analysis


def _end(
    workspace: Workspace, claim: Claim, job: StoredJob, analysis: Analysis[Any, Any], findings: Sequence[Arrays]
) -> bool:
    """Put the result together and end the job.

    Return False, with nothing stored, if a change must be prepared again.
    """
    result = build_result(job, analysis, findings)
    tested = list_pairs(result)
    # The bytes are made once: their hash identifies the result, and a verification compares them with those made again.
    body = result_body(result)
    sha256, compressed = hashlib.sha256(body).hexdigest(), compress(body)
    exhibits = exhibits_of(result, tested)
    writer = FileWriter(workspace, claim)
    write_tables(writer, exhibits.tables)
    write_pairs(writer, tested)
    write_summary(writer, result)
    stored = blobs.prepared(workspace.database, sha256, len(body), compressed)
    with stored as content, workspace.database.writing() as tx:
        # Who asked for the job, as a present principal. All code that locks both locks collections before their jobs.
        asker = principal_of(tokens.of_id(tx, job.token_id) if job.token_id else None, workspace.now())
        if isinstance(analysis, Change):
            analysis.lock(tx, asker)
        if not claims.holds(tx, claim):
            return True
        if isinstance(analysis, Change) and not analysis.apply(tx, asker):
            return False
        blobs.put(tx, content)
        writer.keep(tx)
        claims.finish(tx, claim, sha256, workspace.now(), names_of(exhibits, tested))
        enqueue_layouts(tx, workspace.now(), job.number)
        if isinstance(result, VerifyResult):
            imports.set_verified(
                tx, [comparison.id for comparison in result.compared if comparison.outcome == "identical"]
            )
        return True


class _Progress:
    def __init__(self, workspace: Workspace, claim: Claim) -> None:
        self._workspace, self._claim = workspace, claim
        self._noted = time.monotonic()

    def __call__(self, parts_done: int) -> None:
        if time.monotonic() - self._noted < PROGRESS_SECONDS:
            return
        self._noted = time.monotonic()
        # a failed note of progress must not stop the computation
        with suppress(Unavailable), self._workspace.database.writing() as tx:
            claims.progress(tx, self._claim, parts_done)
