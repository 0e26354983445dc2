"""Qrels and runs as people have them: files, folders and patterns, data frames, dictionaries, ids of ir_datasets."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from gainboard.errors import BadInput

Source: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO"
"""A file: its path, its bytes, its text (with line breaks, which a path never has), or an open binary file."""
Table: TypeAlias = "Source | Mapping[str, Mapping[str, float]] | Any"
"""A file, a dictionary of dictionaries by topic and document, or a data frame."""
DATASET = "irds:"
"""The beginning of a name in place of a qrels file: the id of a dataset of ir_datasets follows."""
TOPICS, DOCUMENTS = ("query_id", "qid", "q_id", "topic"), ("doc_id", "docno", "docid", "document")
SCORES, LEVELS = ("score",), ("relevance", "label", "rel", "score", "level")
"""The names of columns in frames of ir_measures, PyTerrier, ranx, and of our own."""
_METADATA = re.compile(r"(?:(.*)\.)?ir[-_]?metadata\.ya?ml(?:\.gz|\.zst)?\Z", re.IGNORECASE)
_NO_SLUG = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class NamedRun:
    """A run with a name and a team that the service takes."""

    name: str
    team: str
    table: Table


def named_runs(given: Sequence[Any]) -> list[NamedRun]:
    """Return runs with distinct names: those of files and of members of mappings, else `run-1` and so on.

    Files of several folders are of the teams that these are called; any other run is of a team of its own.
    """
    found = list(_each(given))
    folders = {run.parent for _, run in found if isinstance(run, Path)}
    runs: dict[str, NamedRun] = {}
    for number, (given_name, table) in enumerate(found, 1):
        folder = table.parent.name if isinstance(table, Path) and len(folders) > 1 else ""
        name = slug = _slug(given_name or f"run-{number}")
        if slug in runs:
            name = _slug(f"{folder}-{slug}" if folder else f"{slug}-{number}")
        while name in runs:
            name = f"{slug[:100]}-{number}-{len(runs)}"
        runs[name] = NamedRun(name, _slug(folder or name), table)
    return list(runs.values())


def _each(given: Sequence[Any]) -> Iterator[tuple[str, Table]]:
    for run in given:
        if isinstance(run, Mapping) and not _is_run(run):
            yield from ((str(name), each) for name, each in run.items())
        elif isinstance(run, os.PathLike) or (isinstance(run, str) and "\n" not in run):
            yield from ((run_name(path), path) for path in _files(Path(run)) if described_run(path) is None)
        else:
            yield "", run


def _is_run(given: Mapping[Any, Any]) -> bool:
    """Return whether this is one run, topic by topic, and no mapping of several by name."""
    first = next(iter(given.values()), None)
    return isinstance(first, Mapping) and not isinstance(next(iter(first.values()), None), Mapping)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith("."))
    return [path] if path.exists() else [Path(each) for each in sorted(glob.glob(str(path)))] or [path]


def run_name(path: Path) -> str:
    """Return the name of a run's file without folders and suffixes."""
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    return name.removesuffix(".txt").removesuffix(".run")


def described_run(path: Path) -> str | None:
    """Return the name of the run that a file of ir_metadata is beside: `bm25` for `bm25.ir_metadata.yml`.

    It is empty if the file tells none, as `ir_metadata.yml`, and None for a file that is not named like one.
    """
    found = _METADATA.match(path.name)
    return None if found is None else found[1] or ""


def _slug(text: str) -> str:
    return _NO_SLUG.sub("-", text).strip("-._")[:100] or "run"


def as_qrels(table: Table) -> Source:
    """Return judgments as a file. A frame needs columns of topics, documents and levels.

    Text such as `irds:msmarco-passage/trec-dl-2019/judged` stands for the judgments of that dataset of ir_datasets.
    Raise BadInput if there are none.
    """
    if isinstance(table, str) and table.startswith(DATASET) and "\n" not in table:
        return qrels_of_dataset(table.removeprefix(DATASET))
    return _text(table, LEVELS, "{topic} 0 {document} {value:.0f}\n")


def qrels_of_dataset(name: str) -> bytes:
    """Return the judgments of a dataset of ir_datasets as a file, by intent if the dataset's are.

    The package downloads what it does not have. Raise BadInput without the package, the dataset, or judgments.
    """
    try:
        datasets = import_module("ir_datasets")  # only some people have it
    except ModuleNotFoundError as error:
        raise BadInput(f"{DATASET}{name} needs ir_datasets. Install it: pip install ir_datasets") from error
    try:
        dataset = datasets.load(name)
    except KeyError as error:
        raise BadInput(f"ir_datasets has no dataset {name!r}. See https://ir-datasets.com for their ids.") from error
    if not dataset.has_qrels():
        raise BadInput(f"The dataset {name!r} of ir_datasets has no judgments. Name a part of it that has.")
    try:
        return "".join(
            f"{each.query_id} {getattr(each, 'subtopic_id', 0)} {each.doc_id} {each.relevance:.0f}\n"
            for each in dataset.qrels_iter()
        ).encode()
    except (OSError, RuntimeError) as error:
        raise BadInput(f"ir_datasets cannot get the judgments of {name!r}: {error}") from error


def as_run(table: Table, tag: str) -> Source:
    """Return a run as an upload. A frame needs columns of topics, documents and scores."""
    return _text(table, SCORES, "{topic} Q0 {document} 0 {value!r} " + tag + "\n")


def _text(table: Table, values: Sequence[str], line: str) -> Source:
    if isinstance(table, str | bytes | os.PathLike) or hasattr(table, "read"):
        return cast(Source, table)
    rows = list(_rows(table, values))
    for row in rows:
        for name in row[:2]:
            if not name or name.split() != [name]:
                raise BadInput(f"{name!r} cannot be an id: ids have no white space, and are not empty.")
    if not rows:
        raise BadInput("The table has no rows.")
    return "".join(line.format(topic=topic, document=document, value=value) for topic, document, value in rows).encode()


def _rows(table: Any, values: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    if hasattr(table, "to_dict") and not hasattr(table, "columns"):  # of ranx
        table = table.to_dict()
    if isinstance(table, Mapping):
        for topic, documents in table.items():
            yield from ((str(topic), str(document), float(value)) for document, value in documents.items())
        return
    columns = list(getattr(table, "columns", ()))
    if not columns:
        kind = type(table).__name__
        raise BadInput(f"A {kind} is neither a file, nor a dictionary by topic and document, nor a data frame.")
    chosen = [_column(columns, names) for names in (TOPICS, DOCUMENTS, values)]
    for topic, document, value in zip(*(table[name] for name in chosen), strict=True):
        yield str(topic), str(document), float(value)


def _column(columns: Sequence[str], names: Sequence[str]) -> str:
    found = next((name for name in names if name in columns), None)
    if found is None:
        raise BadInput(
            f"The table has the columns {', '.join(map(str, columns))}, but one of {', '.join(names)} is needed."
        )
    return found
