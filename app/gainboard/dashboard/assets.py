"""Static files: read once, compressed once, at addresses that hold their hash, so that browsers keep them for good."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

from gainboard.api.answers import takes_gzip
from gainboard.api.routes import CheckedRoute
from gainboard.errors import NotFound

FOLDER = Path(__file__).parent / "static"
SERVED = (".css", ".js", ".svg")
"""Licences and the manifest of what others wrote are in the folder, too, but nobody needs them in a browser."""
FOREVER = "public, max-age=31536000, immutable"


class AssetRoute(CheckedRoute):
    """A route of static files."""

    reads_tokens, is_static = False, True


router = APIRouter(include_in_schema=False, route_class=AssetRoute)


@dataclass(frozen=True)
class Asset:
    """A static file: its bytes, plain and compressed, and their hash."""

    name: str
    media_type: str
    plain: bytes
    packed: bytes
    etag: str


@cache
def _assets() -> Mapping[str, Asset]:
    """Return all static files by name. Their number is fixed when the package is built, so they stay in memory."""
    assets = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in SERVED:
            plain, name = path.read_bytes(), path.relative_to(FOLDER).as_posix()
            media_type = f"{mimetypes.types_map[path.suffix]}; charset=utf-8"
            # Without a time, so that two servers give the same bytes under the same ETag.
            packed = gzip.compress(plain, mtime=0)
            assets[name] = Asset(name, media_type, plain, packed, hashlib.sha256(plain).hexdigest()[:16])
    return assets


@cache
def version() -> str:
    """Return the hash of all static files together.

    Scripts import each other by relative addresses, so one version is part of every address.
    """
    return hashlib.sha256("".join(asset.etag for asset in _assets().values()).encode()).hexdigest()[:16]


def address_of(name: str) -> str:
    """Return the address of a static file. Raise KeyError if it does not exist."""
    return f"/static/{version()}/{_assets()[name].name}"


def read(name: str) -> bytes:
    """Return a static file. Raise KeyError if it does not exist."""
    return _assets()[name].plain


@router.get("/static/{version}/{name:path}")
async def read_asset(version: str, name: str, request: Request) -> Response:
    """Return a static file. An address of another version gets the file of today, which browsers do not keep."""
    if (asset := _assets().get(name)) is None:
        raise NotFound(f"There is no static file {name!r}.")
    is_packed = takes_gzip(request.headers)
    headers = {
        # The parameter hides the function of the same name.
        "Cache-Control": FOREVER if version == globals()["version"]() else "no-cache",
        # A strong ETag stands for bytes, and those of the two forms differ.
        "ETag": f'"{asset.etag}{"-gzip" if is_packed else ""}"',
        "Vary": "Accept-Encoding",
        **({"Content-Encoding": "gzip"} if is_packed else {}),
    }
    return Response(asset.packed if is_packed else asset.plain, headers=headers, media_type=asset.media_type)
