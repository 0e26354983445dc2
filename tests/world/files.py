"""The folders of releases, in archives and unpacked."""

import io
import tarfile

from gainboard.trec.bodies import extract


def contents_of(packed):
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive.getmembers()}


def unpacked(packed, folder):
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        extract(archive, folder)
    return folder
