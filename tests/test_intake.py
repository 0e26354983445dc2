"""What is stored of a compressed upload: the body itself if it will do, and otherwise a copy that we compress."""

import io
from collections import deque

import pytest

from gainboard.evaluation.runs.intake import WELL_PACKED, Body, Intake
from gainboard.store.blobs import is_whole
from gainboard.store.database import Database
from gainboard.trec import FileLimits
from gainboard.trec.bodies import compress

CONTENT = b"".join(b"%d Q0 d%d %d %d tag\n" % (rank % 50, rank * 7919, rank, -rank) for rank in range(20_000))
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\x00\x00\x001234"
BODIES = {
    "one frame": compress(CONTENT, 3),
    "two frames": compress(CONTENT[:200_000]) + compress(CONTENT[200_000:]),
    "behind a skippable frame": SKIPPABLE + compress(CONTENT),
    "before a skippable frame": compress(CONTENT) + SKIPPABLE,
    "hardly compressed": compress(CONTENT, -7_000),
    "plain": CONTENT,
}


@pytest.mark.parametrize("form", BODIES)
def test_one_frame_that_is_well_compressed_is_stored_as_it_was_sent(form, tmp_path):
    sent = BODIES[form]
    with Intake(Body(io.BytesIO(sent)), FileLimits()) as intake:
        deque(intake.chunks(), maxlen=0)
        with intake.prepared(Database(f"sqlite:///{tmp_path}/none.sqlite")) as content:
            stored = b"".join(content.parts())
    assert (stored == sent) is (form == "one frame")
    assert len(stored) <= WELL_PACKED * len(CONTENT)
    assert is_whole([stored], content.sha256, len(CONTENT))


def test_a_body_is_taken_in_anew_when_it_is_read_again(tmp_path):
    with Intake(Body(io.BytesIO(BODIES["two frames"])), FileLimits()) as intake:
        for _ in range(2):
            assert b"".join(intake.chunks()) == CONTENT
        with intake.prepared(Database(f"sqlite:///{tmp_path}/none.sqlite")) as content:
            assert is_whole(content.parts(), content.sha256, len(CONTENT))
