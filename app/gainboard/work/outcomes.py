"""The ends of claims, as the owner of the slots stores them: in every engine, by the same rules."""

from __future__ import annotations

import logging

from gainboard.evaluation.workspace import Workspace
from gainboard.store import claims, files, jobs
from gainboard.store.job_records import Claim
from gainboard.work.process import Reply
from gainboard.work.slot import Slot

log = logging.getLogger("gainboard")


def settle(workspace: Workspace, claim: Claim, reply: Reply) -> bool:
    """Store what a process replied. Return False if the database did not answer the process."""
    if reply.outcome == "done":
        return True
    log.error("chunk %d of job %d failed: %s", claim.position, claim.job_number, reply.trace or reply.message)
    is_answered = reply.outcome != "unavailable"
    with workspace.database.writing() as tx:
        if is_answered:
            is_final = reply.outcome == "refused"
            claims.give_back(tx, claim, workspace.now(), reply.message, is_final)
        else:
            claims.put_back(tx, claim, workspace.now())
    return is_answered


def drop_if_lost(workspace: Workspace, slot: Slot) -> bool:
    """Stop the slot's process if its work is not wanted any more. Return whether it was stopped."""
    if (claim := slot.claim) is None:
        return False
    with workspace.database.reading() as tx:
        is_lost = claims.is_lost(tx, claim)
    if is_lost:
        slot.drop()
        _forget_files(workspace, claim)
    return is_lost


def _forget_files(workspace: Workspace, lost: Claim) -> None:
    with workspace.database.writing() as tx:
        # The job of these files is over; files of other jobs may be written at this moment.
        if jobs.job_of(tx, lost).is_over:
            files.clear_unfinished(tx, lost.job_number)
