"""The folder of a release in an archive whose author is a stranger: whole, bounded, and with a document that is one."""

from __future__ import annotations

import hashlib
import tarfile
from collections import Counter
from typing import IO, Final

from pydantic import ValidationError

from gainboard.errors import InvalidRequest
from gainboard.evaluation.release_document import Archived
from gainboard.trec.archives import PIECE, require_plain_tar

SUMS: Final = "SHA256SUMS"
DOCUMENT: Final = "data/release.json"
MOST_SUMS: Final = 64 << 20
MOST_DOCUMENT: Final = 256 << 20
"""The most bytes of what is read into memory at once."""


class Folder:
    """The folder of a release, in a tar archive whose author is a stranger. Raise InvalidRequest unless it is whole.

    It has plain files alone: no links, no sparse files, no name twice. So none is larger than the archive, which is
    bounded. What is read at once has bounds of its own.
    """

    def __init__(self, packed: IO[bytes]) -> None:
        try:
            require_plain_tar(packed)
            self._archive = tarfile.open(fileobj=packed, mode="r:")  # noqa: SIM115 (its file is the caller's)
            members = self._archive.getmembers()
        except (tarfile.TarError, OSError, ValueError) as error:
            raise unusable(f"it is no tar archive: {error}") from error
        files = [each for each in members if not each.isdir()]
        if strange := [each for each in files if not each.isreg() or each.issparse()]:
            raise unusable(f"{strange[0].name} is a link, a sparse file or a device. Pack plain files alone")
        self._members = {each.name: each for each in files}
        if len(self._members) < len(files):
            twice = next(name for name, times in Counter(each.name for each in files).items() if times > 1)
            raise unusable(f"it has {twice} twice")
        self._check()
        try:
            self.document = Archived.model_validate_json(self.read(DOCUMENT, MOST_DOCUMENT))
        except ValidationError as error:
            raise unusable(f"{DOCUMENT} is not as a release has it: {first_faults(error)}") from error

    def __contains__(self, path: str) -> bool:
        return path in self._members

    def open(self, path: str) -> IO[bytes]:
        """Return a file, from its start."""
        member = self._members.get(path)
        found = self._archive.extractfile(member) if member is not None else None
        if found is None:
            raise unusable(f"it has no file {path}")
        return found

    def read(self, path: str, most: int) -> bytes:
        """Return the content of a file of at most so many bytes."""
        with self.open(path) as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise unusable(f"{path} has more than {most:,} bytes")
        return content

    def _check(self) -> None:
        sums = self.read(SUMS, MOST_SUMS)
        if sums.count(b"\n") > len(self._members):  # lines take more memory than their text
            raise unusable(f"{SUMS} has more lines than there are files. Copy the folder again")
        lines = sums.decode("utf-8", "replace").splitlines()
        named = {path: sha256 for sha256, _, path in (line.partition("  ") for line in lines)}
        if strange := sorted(named.keys() ^ (self._members.keys() - {SUMS})):
            how = "which is not there" if strange[0] in named else "which it does not name"
            raise unusable(f"{SUMS} and the files differ in {strange[0]}, {how}. Copy the folder again")
        for path, sha256 in named.items():
            digest = hashlib.sha256()
            with self.open(path) as file:
                while piece := file.read(PIECE):
                    digest.update(piece)
            if digest.hexdigest() != sha256:
                raise unusable(f"{path} was changed: its SHA-256 is not that of {SUMS}. Copy the folder again")


def first_faults(error: ValidationError) -> str:
    """Return where the first faults of a document are, and what is wrong there."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}" for each in faults[:3]]
    return "; ".join(told) + (f" (and {len(faults) - 3} more)" if len(faults) > 3 else "")


def unusable(why: str) -> InvalidRequest:
    """Return the error that says why a folder cannot be imported."""
    message = f"This folder is not as `gainboard export` has written it: {why}. Nothing was imported."
    return InvalidRequest.at("body", "bad-folder", message)


def require_same(path: str, there: str, frozen: str) -> None:
    """Raise InvalidRequest unless a file has the SHA-256 that the document says."""
    if there != frozen:
        raise unusable(f"{path} has the SHA-256 {there}, but {DOCUMENT} says {frozen}")
