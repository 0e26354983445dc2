"""ir_metadata of runs: the header in a run's file, and a file beside the run, as tirex-tracker writes it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gainboard.errors import Forbidden, InvalidRequest, TooLarge
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.releases.releases import refuse_held_run
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.intake import Body
from gainboard.evaluation.runs.run_files import HEAD_BYTES, metadata_of
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections
from gainboard.store import runs as stored_runs
from gainboard.trec import decompress_body

if TYPE_CHECKING:
    from gainboard.trec.run_metadata import RunMetadata

MOST_METADATA = HEAD_BYTES
"""The most bytes of a file of ir_metadata: as many as a header may have."""


@dataclass(frozen=True)
class MetadataFile:
    """A file of ir_metadata beside a run, as it was sent."""

    content: bytes
    read: RunMetadata

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def find(
    workspace: Workspace, principal: Principal, name: str, run_name: str
) -> tuple[RunMetadata | None, MetadataFile | None]:
    """Return the header of ir_metadata of a run's file, and the file of it beside the run, if they are there.

    They are for those who may read the run's file.
    """
    seen = runs.find_run(workspace, principal, name, run_name, for_file=True)
    head = bytearray()
    for chunk in runs.read_file(workspace, seen.run):
        head.extend(chunk[: HEAD_BYTES - len(head)])
        # The rest is not read: a run may have gigabytes.
        if len(head) >= HEAD_BYTES:
            break
    with workspace.database.reading() as tx:
        content = stored_runs.find_metadata(tx, seen.run.id)
    beside = MetadataFile(content, _metadata_file(content, seen.run.tag)) if content is not None else None
    return metadata_of(bytes(head), seen.run.tag), beside


def _metadata_file(content: bytes, tag: str) -> RunMetadata:
    from gainboard.trec.run_metadata import read_metadata_file  # noqa: PLC0415 (YAML, which few runs need)

    return read_metadata_file(content, tag)


def too_large() -> TooLarge:
    """Return the error for a file of ir_metadata that is too large."""
    return TooLarge(
        f"The file of ir_metadata has more than {MOST_METADATA:,} bytes. Leave out series of measurements "
        "(`timeseries`) and the content of scripts, and send it again."
    )


def put(workspace: Workspace, principal: Principal, name: str, run_name: str, body: Body) -> MetadataFile:
    """Store a file of ir_metadata beside a run, in place of an earlier one.

    The run's team may do so until the release, and organisers at any time, until a release of the collection holds the
    run. Raise InvalidRequest for a file that cannot be read, and TooLarge.
    """
    body.file.seek(0)
    try:
        limits = replace(workspace.limits, decompressed_bytes=MOST_METADATA)
        content = b"".join(decompress_body(body.file, body.encoding, limits))
    except TooLarge as error:
        raise too_large() from error
    with workspace.database.writing() as tx:
        view, run = runs.find_own(tx, principal, name, run_name, "describe")
        if not runs.may_withdraw(view, workspace.now()):
            raise Forbidden(f"The judgments of {name!r} were released. Ask the organisers to describe {run_name!r}.")
        refuse_held_run(tx, view.collection, run)
        sent = MetadataFile(content, _metadata_file(content, run.tag))
        if sent.read.values is None:
            message = f"{sent.read.faults[0]}. Correct it, and send it again; the run stays as it is."
            raise InvalidRequest.at("body", "bad-metadata", message)
        stored_runs.put_metadata(tx, run.id, sent.sha256, content)
        collections.touch(tx, view.collection.id)
        details = {"of_team": run.team, "sha256": sent.sha256, "bytes": len(content)}
        audit.record(tx, principal, "run-described", run_name, view.collection, **details)
    return sent
