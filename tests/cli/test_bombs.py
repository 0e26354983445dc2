"""Files of a few kilobytes that would unpack to gigabytes: refused as they are read, with little memory."""

import bz2
import gzip
import lzma
import resource
import tarfile
import zipfile

import pytest

from gainboard.trec.bodies import compress
from tests.cli.shells import Shell, each_apart
from tests.world.campaigns import QRELS, RUN

pytestmark = pytest.mark.outer
MEMBERS = 1024
ZEROS = bytes(1 << 20)
LEAST_MEMORY = 600 << 20
RATIO = (
    "It unpacks to more than 200 times its size, so the rest was not unpacked. If it is your file, raise the limit: "
)
PACKING = {".gz": gzip.compress, ".zst": compress, ".bz2": bz2.compress, ".xz": lzma.compress}
KINDS = {"header.tar.gz": b"x", "name.tar.gz": b"L"}
COMPRESSED = ("bomb.gz", "bomb.zst")
ARCHIVES = ("bomb.zip", *KINDS, *(f"bomb.tar{suffix}" for suffix in PACKING))


def make_bomb(folder, name):
    """Write 1 GiB of zeros: a compressed file, a tar archive with one entry of them, or a smaller zip archive."""
    path = folder / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr("run.txt", ZEROS * 64)
        return
    entry = tarfile.TarInfo("run.txt")
    entry.size, entry.type = MEMBERS << 20, KINDS.get(name, tarfile.REGTYPE)
    packed = PACKING[path.suffix]
    # Each member by itself, which is quicker than the whole.
    path.write_bytes((packed(entry.tobuf()) if ".tar" in name else b"") + MEMBERS * packed(ZEROS))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "temporary").mkdir()
    return tmp_path


def take_little():
    resource.setrlimit(resource.RLIMIT_DATA, (LEAST_MEMORY, LEAST_MEMORY))


COMMANDS = [f"score qrels.txt {name}" for name in COMPRESSED] + [f"score {name} run.txt" for name in COMPRESSED]
COMMANDS += [f"check {name}" for name in COMPRESSED]


def test_a_bomb_is_refused_with_little_memory_and_before_it_fills_the_disk(folder):
    for name in (*COMPRESSED, *ARCHIVES):
        make_bomb(folder, name)
    lines = [f"gainboard {command}" for command in COMMANDS]
    lines += [f"gainboard leaderboard --qrels qrels.txt --runs {name} -m AP" for name in ARCHIVES]
    temporary = folder / "temporary"
    found = each_apart([line.split() for line in lines], folder, prepare=take_little, TMPDIR=str(temporary))
    for line, done in zip(lines, found, strict=True):
        said = (done.out + done.err).decode()
        (name,) = [word for word in line.split() if word.startswith(("bomb", *KINDS))]
        if name in COMPRESSED:
            assert done.code in (1, 2), said
            assert "too-large" in said or "GAINBOARD_MAX_RATIO" in said, said
            assert name in said
        else:
            told = f"gainboard: Cannot unpack {name}. {RATIO}GAINBOARD_MAX_RATIO=800 gainboard ...\n"
            assert (done.code, said) == (1, told)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("command", ["score qrels.txt run.txt.gz", "leaderboard --qrels qrels.txt --runs runs.zip"])
def test_a_setting_lets_large_files_of_ones_own_in(folder, command):
    lines = "".join(f"1 Q0 d{number} {number} {1 / number} t\n" for number in range(1, 40_000))
    (folder / "run.txt.gz").write_bytes(gzip.compress(lines.encode()))
    with zipfile.ZipFile(folder / "runs.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("large.txt", lines)
    refused = Shell(folder, GAINBOARD_MAX_DECOMPRESSED_BYTES="1000000").run(f"gainboard {command} -m AP")
    assert refused.code == 1
    assert "It unpacks to more than 1,000,000 bytes" in refused.err
    assert "GAINBOARD_MAX_DECOMPRESSED_BYTES=4000000 gainboard" in refused.err
    assert Shell(folder, GAINBOARD_MAX_DECOMPRESSED_BYTES="4000000").run(f"gainboard {command} -m AP").code == 0
    wrong = Shell(folder, GAINBOARD_MAX_DECOMPRESSED_BYTES="x").run(f"gainboard {command} -m AP")
    assert (wrong.code, "GAINBOARD_MAX_DECOMPRESSED_BYTES is invalid" in wrong.err) == (1, True), wrong.err
