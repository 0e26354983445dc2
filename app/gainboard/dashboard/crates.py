"""Metadata of a release's folder as an RO-Crate (https://w3id.org/ro/crate/1.2)."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

METADATA: Final = "ro-crate-metadata.json"
PROFILE: Final = "https://w3id.org/ro/crate/1.2"
NO_LICENSE: Final = "#license"
TYPES: Final[Mapping[str, str]] = {
    "tex": "application/x-tex",
    "ndjson": "application/x-ndjson",
    "js": "text/javascript",
    "csv": "text/csv",
}


class WrittenFile(NamedTuple):
    """A file of the folder: its path, its size in bytes, and its SHA-256."""

    path: str
    size: int
    sha256: str


def crate(release: Mapping[str, Any], files: Iterable[WrittenFile]) -> bytes:
    """Return the metadata of a folder with these files."""
    named = list(files)
    license = release["license"] or NO_LICENSE
    authors = [
        {"@id": f"#creator-{number}", "@type": "Person", "name": name}
        for number, name in enumerate(release["creators"], start=1)
    ]
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": release["title"],
        "description": f"Release {release['name']} of a test collection for information retrieval: judgments, runs, "
        "scores, boards and results.",
        "datePublished": str(release["created_at"])[:10],
        "license": {"@id": license if _is_address(license) else NO_LICENSE},
        "creditText": release["citation"],
        "version": str(release["number"]),
        "hasPart": [{"@id": each.path} for each in named],
    }
    if authors:
        root["author"] = [{"@id": each["@id"]} for each in authors]
    if release["doi"]:
        root["identifier"] = f"https://doi.org/{release['doi']}"
    graph = [
        {"@id": METADATA, "@type": "CreativeWork", "conformsTo": {"@id": PROFILE}, "about": {"@id": "./"}},
        root,
        _license(license),
        *authors,
        *map(_file, named),
    ]
    return to_json({"@context": f"{PROFILE}/context", "@graph": graph}, indent=1) + b"\n"


def _is_address(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def _license(license: str) -> dict[str, str]:
    if license == NO_LICENSE:
        return {
            "@id": NO_LICENSE,
            "@type": "CreativeWork",
            "name": "No licence was named",
            "description": "Ask the organisers of the collection.",
        }
    own = license if _is_address(license) else NO_LICENSE
    return {"@id": own, "@type": "CreativeWork", "name": license, "description": license}


def _file(each: WrittenFile) -> dict[str, str]:
    ending = each.path.rpartition(".")[2]
    media_type = TYPES.get(ending) or mimetypes.types_map.get(f".{ending}", "text/plain")
    return {
        "@id": each.path,
        "@type": "File",
        "name": each.path.rpartition("/")[2],
        "contentSize": str(each.size),
        "encodingFormat": media_type,
        "sha256": each.sha256,
    }
