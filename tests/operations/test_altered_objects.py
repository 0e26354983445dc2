"""Whoever alters a file outside of the database has it refused: what is read has the size and hash that were stored."""

import hashlib
import logging
import os
from collections import deque
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from sqlalchemy import select, update

from gainboard.settings import Settings
from gainboard.store import blobs as contents
from gainboard.store.blobs import Damaged, check_content, is_whole
from gainboard.store.database import Database
from gainboard.store.tables import blobs, jobs
from gainboard.trec.bodies import ZstdCompressor, compress, decompress
from tests.waiting import over
from tests.world.campaigns import OTHER_QRELS, QRELS, RUN, WORSE, Campaign, refused
from tests.world.servers import Service, new_settings, serving

TEXT = {"Accept": "text/plain"}
KINDS = ("run", "qrels", "result")
EMPTY_BLOCK = b"\0\0\0"
"""A block of zstd without content that another block follows."""


def lengthened(packed):
    return compress(decompress(packed) + b"1 Q0 more 99 0.001 tag\n")


def exchanged(packed):
    whole = decompress(packed)
    return compress(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])


def inflated(packed):
    return compress(decompress(packed) + bytes(16 << 20))


def endless(packed):
    """The content, before which a frame has so many empty blocks that it takes long to read."""
    head, body = packed[:4], ZstdCompressor()
    return head + b"\0\x58" + EMPTY_BLOCK * (1 << 20) + body.compress(b"") + packed


ALTERATIONS = [
    exchanged,
    lengthened,
    inflated,
    endless,
    lambda packed: packed[:-9],
    lambda packed: packed[:-20] + bytes([packed[-20] ^ 255]) + packed[-19:],
    lambda packed: packed + packed,
    lambda packed: packed + b"more",
    lambda packed: b"",
    lambda packed: compress(WORSE.encode()),
]


class Place(NamedTuple):
    service: Service
    settings: Settings
    database: Database
    folder: Path

    def object_of(self, sha256):
        with self.database.reading() as tx:
            name = tx.execute(select(blobs.c.object_name).where(blobs.c.sha256 == sha256)).scalar_one()
        return self.folder / str(name)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "files"
    settings = new_settings(tmp_path, objects=folder.as_uri())
    with serving(settings) as service, closing(Database(settings.url, objects=folder.as_uri())) as database:
        yield Place(service, settings, database, folder)


class Stored(NamedTuple):
    """Something that a server keeps in a file: its content, the file, and where it is read."""

    content: bytes
    file: Path
    url: str

    def read(self, service):
        return service.organiser.get(self.url, headers=TEXT if self.url.startswith("/v1/coll") else None)


def stored(place, kind, *, large=False):
    """Something of this kind: a few lines, or several pieces of the stream that sends it."""
    campaign = Campaign(place.service)
    # Random names do not become much smaller.
    names = [os.urandom(32).hex() for _ in range(30_000 if large else 2)]
    qrels = QRELS + "".join(f"1 0 {name} 1\n" for name in (names if kind == "qrels" else names[:2]))
    campaign.put_qrels(qrels).raise_for_status()
    ranked = enumerate(names if kind == "run" else names[:2], start=1)
    run = "".join(f"1 Q0 {name} {rank} {-rank} tag\n" for rank, name in ranked)
    campaign.submit(run).raise_for_status()
    if kind == "result":
        return stored_result(place, campaign, large=large)
    content = (run if kind == "run" else qrels).encode()
    path = f"{campaign.path}/runs/tag" if kind == "run" else f"{campaign.path}/qrels/1"
    return Stored(content, place.object_of(hashlib.sha256(content).hexdigest()), path)


def stored_result(place, campaign, *, large):
    """The result of a job; if it is to be large, another one in its place."""
    asked = campaign.organiser.post(f"{campaign.path}/jobs", json={"kind": "gain-vectors", "params": {}})
    url = over(campaign.organiser, f"/v1/jobs/{asked.json()['id']}")["result_url"]
    content = campaign.organiser.get(url).content
    if large:
        content = b'{"names":"' + os.urandom(1 << 20).hex().encode() + b'"}'
        sha256 = hashlib.sha256(content).hexdigest()
        with (
            contents.prepared(place.database, sha256, len(content), compress(content)) as new,
            place.database.writing() as tx,
        ):
            contents.put(tx, new)
            tx.execute(update(jobs).values(result_sha256=sha256))
    return Stored(content, place.object_of(hashlib.sha256(content).hexdigest()), url)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_altered_or_a_pipe_is_refused_or_ends_before_its_last_byte(place, kind, caplog):
    for large in (False, True):
        each = stored(place, kind, large=large)
        for name in altered_in_turn(each, place.service):
            caplog.clear()
            with caplog.at_level(logging.ERROR, "gainboard"):
                if large:
                    assert len(received(place.service, each)) < len(each.content), name
                else:
                    answer = each.read(place.service)
                    assert refused(answer) == (500, "internal-error"), name
                    assert "ETag" not in answer.headers, name
            assert each.file.name in caplog.text, name
    each.file.unlink()
    os.mkfifo(each.file)
    assert refused(each.read(place.service)) == (503, "objects-unreachable")


def altered_in_turn(each, service):
    """Make every alteration, and undo it: nothing of the altered file is kept."""
    original = each.file.read_bytes()
    for number, alter in enumerate(ALTERATIONS):
        each.file.write_bytes(alter(original))
        yield f"{number}: {alter.__name__}"
        each.file.write_bytes(original)
        assert each.read(service).content == each.content, number


def received(service, each):
    """What comes before the transfer ends with an error, which it does."""
    pieces = bytearray()
    headers = {"Accept-Encoding": "identity"} | (TEXT if each.url.startswith("/v1/coll") else {})
    with service.organiser.stream("GET", each.url, headers=headers) as answer:
        if answer.status_code == 500:
            return b""
        with pytest.raises(httpx.RemoteProtocolError):
            deque(map(pieces.extend, answer.iter_bytes()), 0)
    return bytes(pieces)


def test_nothing_is_computed_from_an_altered_run(place):
    campaign, each = judged_by(place, QRELS + "3 0 x 1\n4 0 x 1\n5 0 x 1\n")
    original = each.file.read_bytes()
    each.file.write_bytes(exchanged(original))
    for answer in (campaign.get("/scores", metric="AP", ties="expected"), campaign.put_qrels(OTHER_QRELS)):
        assert refused(answer) == (500, "internal-error"), answer.request.url
    loto = {"kind": "leave-one-team-out", "params": {"metrics": ["AP"], "pool_depth": 2}}
    for asked in (loto, {"kind": "pool", "params": {}}):
        job = campaign.organiser.post(f"{campaign.path}/jobs", json=asked)
        assert job.status_code in (200, 202), job.text  # 200 where it has failed already
        ended = over(campaign.organiser, f"/v1/jobs/{job.json()['id']}")
        assert (ended["state"], "is damaged" in ended["error"]) == ("failed", True)
    assert len(campaign.get("/qrels").json()["items"]) == 1
    each.file.write_bytes(original)
    assert campaign.put_qrels(OTHER_QRELS).status_code == 201


def judged_by(place, judgments=QRELS):
    campaign = Campaign(place.service)
    campaign.put_qrels(judgments).raise_for_status()
    campaign.submit(pooled=True).raise_for_status()
    campaign.submit(WORSE, team="other", pooled=True).raise_for_status()
    file = place.object_of(hashlib.sha256(RUN.encode()).hexdigest())
    return campaign, Stored(RUN.encode(), file, f"{campaign.path}/runs/tag")


def test_no_run_is_judged_by_altered_qrels(place):
    campaign, _ = judged_by(place)
    file = place.object_of(hashlib.sha256(QRELS.encode()).hexdigest())
    original = file.read_bytes()
    file.write_bytes(compress(QRELS.replace("good 2", "good 1").encode()))
    with serving(place.settings) as anew:  # the first server has read the file before
        campaign.organiser = anew.organiser
        text = RUN.replace("tag", "third")
        assert refused(campaign.submit(text)) == (500, "internal-error")
        assert len(campaign.get("/runs").json()["items"]) == 2
        file.write_bytes(original)
        assert campaign.submit(text).status_code == 201


def test_what_a_bomb_inflates_to_is_bounded_by_the_known_size():
    content = b"1 Q0 d 1 1 tag\n" * 100_000
    sha256, size = hashlib.sha256(content).hexdigest(), len(content)
    given = []
    with pytest.raises(Damaged, match="more than"):
        given.extend(map(len, check_content([compress(content + bytes(64 << 20))], sha256, size)))
    assert sum(given) <= size
    never = iter([b"\x28\xb5\x2f\xfd\0\x58", *repeat(EMPTY_BLOCK * 10_000, 1_000_000)])
    with pytest.raises(Damaged, match="too long"):
        list(check_content(never, sha256, size))
    assert next(never), "the rest is not read"
    assert is_whole([compress(content)], sha256, size)
