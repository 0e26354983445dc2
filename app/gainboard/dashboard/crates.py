"""Metadata of a release's folder as an RO-Crate (https://w3id.org/ro/crate/1.2)."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
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
    "yml": "application/yaml",
}


DESCRIBED: Final[Sequence[tuple[str, str]]] = (
    (r"data/release\.json", "All that was frozen."),
    (r"data/.*schema\.json", "The JSON Schema of the file of JSON beside it."),
    (r"data/qrels/(.*)-(\d+)\.txt", "Relevance judgments: version {2} of the set {1}, as it was uploaded."),
    (r"data/runs/(.*)\.txt", "The run {1}, as it was submitted."),
    (r"data/runs/(.*)\.ir_metadata\.yml", "What is said of the run {1}, as ir_metadata."),
    (r"data/score-matrices/(.*)-(\d+)\.csv", "Scores from elsewhere: version {2} of {1}, by run and topic."),
    (r"data/scores\.csv", "Scores of all runs by topic, under each official metric."),
    (r"data/boards\.csv", "The runs by their mean, under each official metric."),
    (r"data/board-(\d+)\.tex", "Board {1} as a table in LaTeX."),
    (r"data/history\.ndjson", "The history of what the release holds, with hashes of entries of the audit log."),
    (r"data/audit\.ndjson", "The audit log about the collection; each entry has the hash of the one before."),
    (r"data/results/(.{12}).*/result\.json", "The result {1}, with all its numbers."),
    (r"data/results/(.{12}).*/depends_on\.json", "All that the result {1} depends on, with hashes of files."),
    (r"data/results/(.{12}).*/exhibits\.json", "The names and captions of the tables and figures of the result {1}."),
    (r"data/results/(.{12}).*\.svg", "A figure of the result {1}."),
    (r"data/results/(.{12}).*", "A table or list of the result {1}."),
    (r"check\.py", "A program that checks the folder by Python's standard library alone: `python3 check.py`."),
    (r"index\.html", "The page of the release: boards, judgments, runs, and links to everything else."),
    (r"topics\.html", "The scores by topic, as a page."),
    (r"compare\.html", "A page that compares any two runs."),
    (r"results/(.{12}).*", "The result {1} as a page, with its tables and figures."),
    (r".*", "A part of the pages."),
)
"""The descriptions of files, by patterns of their paths. The first that matches counts."""
KEYWORDS: Final = ("information retrieval", "evaluation", "test collection", "relevance judgments", "runs")


class WrittenFile(NamedTuple):
    """A file of the folder: its path, its size in bytes, and its SHA-256."""

    path: str
    size: int
    sha256: str


def crate(document: Mapping[str, Any], files: Iterable[WrittenFile]) -> bytes:
    """Return the metadata of a folder with these files. It says nothing that the document of the release does not."""
    release, named = document["release"], list(files)
    said = release["license"]
    license = {
        "@id": said if said and said.startswith(("https://", "http://")) else NO_LICENSE,
        "@type": "CreativeWork",
        "name": said or "No licence was named",
        "description": said or "Ask the organisers of the collection.",
    }
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
        "license": {"@id": license["@id"]},
        "creditText": release["citation"],
        "keywords": list(KEYWORDS),
        "version": str(release["number"]),
        "hasPart": [{"@id": file.path} for file in named],
        "mainEntity": {"@id": "data/release.json"},
        "mentions": {"@id": "#freezing"},
    }
    if authors:
        references = [{"@id": author["@id"]} for author in authors]
        root["author"] = references if len(references) > 1 else references[0]
    # An entity of the software must have an address, and this one has none, so a sentence names the software.
    freezing = {
        "@id": "#freezing",
        "@type": "CreateAction",
        "name": f"The collection was frozen as {release['name']}",
        "description": f"All scores and boards were computed by {document['made_by']['environment']}.",
        "result": {"@id": "./"},
        "endTime": release["created_at"],
    }
    others = [license, *authors, freezing]
    if release["doi"]:
        address = f"https://doi.org/{release['doi']}"
        root["identifier"], root["url"] = {"@id": address}, address
        of_kind = {"propertyID": "https://registry.identifiers.org/registry/doi", "value": f"doi:{release['doi']}"}
        others.append({"@id": address, "@type": "PropertyValue", "name": "DOI", "url": address, **of_kind})
    descriptor = {"@id": METADATA, "@type": "CreativeWork", "conformsTo": {"@id": PROFILE}, "about": {"@id": "./"}}
    descriptor |= {"name": "The metadata of the folder"}
    descriptor |= {"description": "What the folder is, and what each of its files."}
    graph = [descriptor, root, *others, *map(_file, named)]
    return to_json({"@context": f"{PROFILE}/context", "@graph": graph}, indent=1) + b"\n"


def _file(file: WrittenFile) -> dict[str, str]:
    ending = file.path.rpartition(".")[2]
    matches = ((re.fullmatch(pattern, file.path), text) for pattern, text in DESCRIBED)
    return {
        "@id": file.path,
        "@type": "File",
        "name": file.path.rpartition("/")[2],
        "description": next(text.format(file.path, *match.groups()) for match, text in matches if match),
        "contentSize": str(file.size),
        "encodingFormat": TYPES.get(ending) or mimetypes.types_map.get(f".{ending}", "text/plain"),
        "sha256": file.sha256,
    }
