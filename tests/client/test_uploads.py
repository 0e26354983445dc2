"""Files as they reach the service: whatever they were given as, compressed where that pays."""

import gzip
import io
import os
from contextlib import nullcontext
from threading import Thread

import pytest

from gainboard.client.requests import COMPRESSED_FROM
from gainboard.errors import BadInput
from gainboard.trec.bodies import compress
from tests.world.campaigns import RUN, run_text
from tests.world.servers import ADMIN

pytestmark = pytest.mark.usefixtures("hasty")
LARGE = run_text({str(topic): [f"document-{number}" for number in range(600)] for topic in range(20)})


@pytest.fixture
def sending(connect, broken, organiser, name):
    organiser.create_collection(name, 2)
    return connect(broken[0], ADMIN)


def with_position(path):
    """An open file of which somebody has read a line that is not of the run."""
    path.write_bytes(b"a line before\n" + RUN.encode())
    file = path.open("rb")
    file.readline()
    return file


def through_a_pipe(path):
    reading, writing = os.pipe()

    def write():
        with os.fdopen(writing, "wb") as end:
            end.write(RUN.encode())

    Thread(target=write, daemon=True).start()
    return os.fdopen(reading, "rb")


def through_a_named_pipe(content):
    """A path behind which everything can be read once only, as a shell makes of `<(command)`."""

    def make(path):
        os.mkfifo(path)
        Thread(target=path.write_bytes, args=[content], daemon=True).start()
        return path

    return make


def on_disk(content):
    def put(path):
        path.write_bytes(content)
        return path

    return put


FORMS = {
    "path": on_disk(RUN.encode()),
    "name": lambda path: str(on_disk(RUN.encode())(path)),
    "bytes": lambda path: RUN.encode(),
    "text": lambda path: RUN,
    "open file": with_position,
    "pipe": through_a_pipe,
    "named pipe": through_a_named_pipe(RUN.encode()),
    "named pipe of gzip": through_a_named_pipe(gzip.compress(RUN.encode())),
    "gzip": on_disk(gzip.compress(RUN.encode())),
    "zstd": lambda path: compress(RUN.encode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_run_arrives_whatever_it_was_given_as_and_after_a_lost_answer(sending, broken, name, tmp_path, form):
    broken[1].faults = ["lost-answer"]
    source = FORMS[form](tmp_path / "run.txt")
    with source if isinstance(source, io.IOBase) else nullcontext():
        sending.submit(name, source, team="lemur")
    assert sending.run_file(name, "tag") == RUN.encode()
    bodies = [body for method, _, body in broken[1].seen if method == "POST"]
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("form", ["path", "bytes", "file"])
def test_a_large_file_is_compressed_on_its_way(sending, broken, name, tmp_path, form):
    path = on_disk(LARGE.encode())(tmp_path / "run.txt")
    with path.open("rb") as file:
        broken[1].faults = ["lost-answer"]
        sources = {"path": path, "bytes": LARGE.encode(), "file": file}
        sending.submit(name, sources[form], team="lemur")
    assert sending.run_file(name, "tag") == LARGE.encode()
    (_, headers, body), (_, _, again), *_ = broken[1].seen
    assert headers["content-encoding"] == "zstd"
    assert body == again
    assert len(LARGE) > COMPRESSED_FROM > len(body)


@pytest.mark.parametrize("compressed", [gzip.compress(LARGE.encode(), 0), compress(LARGE.encode())])
def test_what_is_compressed_already_is_sent_as_it_is(sending, broken, name, compressed):
    sending.submit(name, compressed, team="lemur")
    _, headers, body = broken[1].seen[0]
    assert "content-encoding" not in headers
    assert body == compressed


def test_a_file_that_is_not_there_or_read_as_text_is_refused(sending, name, tmp_path):
    with pytest.raises(FileNotFoundError):
        sending.submit(name, tmp_path / "run.txt", team="lemur")
    with pytest.raises(BadInput, match="Open it as binary"):
        sending.submit(name, io.StringIO(RUN), team="lemur")
