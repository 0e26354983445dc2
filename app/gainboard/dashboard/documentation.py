"""`/help`: the documentation, as `python -m scripts.docs` has built it into this package; and the part of each page."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from gainboard.api.answers import address, has_already, takes_gzip
from gainboard.dashboard.rendering import PageLook, PageRoute, headers_of_page, page, pages
from gainboard.dashboard.sessions import VisitorDep
from gainboard.errors import NotFound

FOLDER = Path(__file__).parent / "help"
FIRST = "index.html"


class HelpRoute(PageRoute):
    """A route of pages whose scripts read queries of their own, such as that of a search."""

    def _refuse_unknown(self, request: Request) -> None:
        pass


router = pages(HelpRoute)


@dataclass(frozen=True)
class HelpFile:
    """A file of the documentation: its bytes, plain and compressed, and their hash."""

    media_type: str
    plain: bytes
    packed: bytes
    etag: str


@cache
def _paths(folder: Path) -> Mapping[str, Path]:
    """Return the files that exist, by their address below `/help/`. Only these are ever opened."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


@cache
def _read(path: Path) -> HelpFile:
    """Return a file, which stays in memory from its first request on: all of them together have a few megabytes."""
    plain = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return HelpFile(media_type, plain, gzip.compress(plain, mtime=0), hashlib.sha256(plain).hexdigest()[:16])


@router.get("/help")
def show_help(request: Request) -> Response:
    """Send a browser to the first page, whose links are relative to its folder."""
    return RedirectResponse(address(request, f"/help/{FIRST}"), 308)


@router.get("/help/{file:path}")
def show_help_file(file: str, request: Request, visitor: VisitorDep) -> Response:
    """Show a page of the documentation, or a file that it needs. Tell how to build the pages where there are none."""
    paths = _paths(FOLDER)
    if not paths and file.endswith(".html"):
        return page(request, visitor, "help.html", PageLook("Help"))
    if (path := paths.get(file or FIRST)) is None:
        raise NotFound(f"There is no page {file!r} of the documentation. /help has all.")
    found = _read(path)
    is_packed = takes_gzip(request.headers)
    headers = {
        **headers_of_page(style=""),
        "ETag": f'"{found.etag}{"-gzip" if is_packed else ""}"',
    }
    if has_already(request.headers, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    packed = {"Content-Encoding": "gzip"} if is_packed else {}
    return Response(found.packed if is_packed else found.plain, 200, headers | packed, found.media_type)
