"""Archives of a stranger, unpacked."""

import io
import tarfile

import pytest

from gainboard.trec.bodies import extract


def archive_with(name, kind=tarfile.REGTYPE, link=""):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for each in (tarfile.TarInfo("runs"), tarfile.TarInfo("runs/good"), tarfile.TarInfo(name)):
            each.type = {"runs": tarfile.DIRTYPE, "runs/good": tarfile.REGTYPE}.get(each.name, kind)
            each.linkname, each.size = link, 0
            archive.addfile(each)
    made.seek(0)
    return tarfile.open(fileobj=made)


def test_plain_files_come_below_the_folder_alone(tmp_path):
    with archive_with("runs/deep/./er/../file") as archive:
        extract(archive, tmp_path / "to")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()) == [
        "to/runs/deep/file",
        "to/runs/good",
    ]


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("../out", tarfile.REGTYPE, ""),
        ("runs/../../out", tarfile.REGTYPE, ""),
        ("/elsewhere/out", tarfile.REGTYPE, ""),
        ("runs/link", tarfile.SYMTYPE, "/etc/passwd"),
        ("runs/link", tarfile.LNKTYPE, "runs/good"),
        ("runs/pipe", tarfile.FIFOTYPE, ""),
    ],
)
def test_what_leads_out_and_what_is_no_file_is_refused(tmp_path, name, kind, link):
    with archive_with(name, kind, link) as archive, pytest.raises(tarfile.TarError, match="no plain file"):
        extract(archive, tmp_path / "to")
    assert [path.name for path in tmp_path.rglob("*") if path.name in ("out", "link", "pipe")] == []
