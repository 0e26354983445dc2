"""Files of results: compressed, cut into parts, whole or absent."""

import gzip
import random

import pytest

from gainboard.jobs.files import ClaimLost, FileWriter, find_file, packed_file, read_file
from gainboard.store import claims, files


@pytest.fixture
def held(bench):
    job = bench.add([1])
    claim = bench.claim()
    assert claim is not None
    return job, claim


@pytest.mark.parametrize("megabytes", [0, 20])
def test_a_file_is_read_as_it_was_written(bench, held, megabytes):
    job, claim = held
    content = random.Random(1).randbytes(megabytes << 20)
    with bench.workspace.database.writing() as tx:
        for position in range(3):  # a dead worker has left it
            files.add_part(tx, job.number, "tables/b.csv", position, b"left")
    writer = FileWriter(bench.workspace, claim)
    writer.write("tables/a.csv", (content[start : start + 99_999] for start in range(0, len(content), 99_999)))
    writer.write("tables/b.csv", [b"small"])
    assert find_file(bench.workspace, job, "tables/a.csv") is None
    with bench.workspace.database.writing() as tx:
        writer.keep(tx)
    file = find_file(bench.workspace, job, "tables/a.csv")
    assert b"".join(read_file(bench.workspace, file)) == content
    packed = b"".join(packed_file(bench.workspace, file))
    assert (len(packed), gzip.decompress(packed) == content) == (file.size, True)
    assert b"".join(read_file(bench.workspace, find_file(bench.workspace, job, "tables/b.csv"))) == b"small"


def test_a_worker_that_is_no_longer_wanted_writes_nothing(bench, held):
    job, claim = held
    with bench.workspace.database.writing() as tx:
        claims.put_back(tx, claim, bench.workspace.now())
    writer = FileWriter(bench.workspace, claim)
    with pytest.raises(ClaimLost):
        writer.write("tables/a.csv", [random.Random(1).randbytes(20 << 20)])
    assert find_file(bench.workspace, job, "tables/a.csv") is None
