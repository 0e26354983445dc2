"""Qrels and runs as people have them: files, folders and patterns, data frames, dictionaries, ids of ir_datasets.

Columns of answers and of scored files become frames of pandas or polars, if these are installed (`Framed`).
"""

from __future__ import annotations

import glob
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, cast

from gainboard.errors import BadInput, MissingPackage
from gainboard.notation.texts import without_signs

Source: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO"
"""A file: its path, its bytes, its text (with line breaks, which a path never has), or an open binary file."""
Table: TypeAlias = "Source | Mapping[str, Mapping[str, float]] | Any"
"""A file, a dictionary of dictionaries by topic and document, a data frame, or Qrels or ScoredDocs of ir_measures."""
DATASET = "irds:"
"""The beginning of a name in place of a qrels file: the id of a dataset of ir_datasets follows."""
TOPICS, DOCUMENTS = ("query_id", "qid", "q_id", "topic"), ("doc_id", "docno", "docid", "document")
SCORES, LEVELS = ("score",), ("relevance", "label", "rel", "score", "level")
"""The names of columns in frames of ir_measures, PyTerrier, ranx, and of our own."""
INTENTS = ("subtopic_id", "iteration")
"""The names of intents in judgments of ir_datasets and ir_measures."""
MOST_LEVELS: Final = 127
"""The most relevance levels above 0, and below."""
_ABSENT: Final = object()
_SHOWN: Final = 60
_ID: Final = re.compile(r"[^\x00-\x20\x7f\ud800-\udfff]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ORDINARY: Final = re.compile("(?!PAR1)[A-Za-z0-9]")
"""The beginning of a topic that no reader takes for a comment, a byte order mark or a file of another kind."""
_WHOLE: Final = re.compile("[+-]?[0-9]{1,18}")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_METADATA = re.compile(r"(?:(.*)\.)?ir[-_]?metadata\.ya?ml(?:\.gz|\.zst)?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class NamedRun:
    """A run with a name and a team that the service takes."""

    name: str
    team: str
    table: Table
    system: str | None = None
    replicate: str | None = None

    def split(self, sign: str | None) -> tuple[str, str | None]:
        """Return system and replicate, by the name of the file: a name that the service takes has no @."""
        return split_replicate(run_name(self.table) if isinstance(self.table, Path) else self.name, sign)


def name_runs(sources: Iterable[Any]) -> list[NamedRun]:
    """Return runs with distinct names: those of files and of members of mappings, else `run-1` and so on.

    Files of several folders are of the teams that these are called; any other run is of a team of its own. Lists may be
    nested. Raise BadInput for a name that is none.
    """
    named_tables = list(_name_tables(sources))
    folders = {run.parent for _, run in named_tables if isinstance(run, Path)}
    runs: dict[str, NamedRun] = {}
    for number, (given_name, table) in enumerate(named_tables, 1):
        folder = table.parent.name if isinstance(table, Path) and len(folders) > 1 else ""
        name = slug = _slug(given_name or f"run-{number}")
        if slug in runs:
            name = _slug(f"{folder}-{slug}" if folder else f"{slug}-{number}")
        # Names are cut to a length, so that a longer one may end up the same.
        while name in runs:
            name = f"{slug[:100]}-{number}-{len(runs)}"
        runs[name] = NamedRun(name, _slug(folder or name), table)
    return list(runs.values())


def _name_tables(sources: Iterable[Any]) -> Iterator[tuple[str, Table]]:
    for run in sources:
        if isinstance(run, Mapping) and not _is_run(run):
            for name, table in run.items():
                text = _as_text(name)
                if text is None or _SURROGATE.search(text):
                    raise BadInput(f"{_show(name)} cannot be the name of a run. Give text, such as 'bm25'.")
                yield text, table
        elif isinstance(run, os.PathLike) or (isinstance(run, str) and "\n" not in run):
            yield from ((run_name(path), path) for path in run_files(Path(run)))
        elif _is_list(run):
            items = list(run)
            # Judgments or scored documents, such as ir_measures has, are one table. Else these are several tables.
            are_records = bool(items) and any(hasattr(items[0], name) for name in DOCUMENTS)
            are_records = are_records and not hasattr(items[0], "columns")
            yield from [("", items)] if are_records else _name_tables(items)
        else:
            yield "", run


def _is_run(mapping: Mapping[Any, Any]) -> bool:
    """Return whether this is one run, topic by topic, and no mapping of several by name."""
    values = [next(iter(value.values()), None) for value in mapping.values() if isinstance(value, Mapping)]
    # A list in place of a document's score is a ranking, of a run that has a name.
    return bool(values) and not any(isinstance(value, Mapping) or _is_list(value) for value in values)


def _is_list(value: Any) -> bool:
    """Return whether this is a list or a generator, and no file, frame or dictionary."""
    # By what they can do and not by class: pandas, ranx and ir_measures need not be installed.
    is_other = isinstance(value, str | bytes | bytearray | memoryview | os.PathLike | Mapping)
    is_table = any(hasattr(value, name) for name in ("read", "columns", "to_dict"))
    return isinstance(value, Iterable) and not is_other and not is_table and getattr(value, "shape", None) != ()


def run_files(path: Path) -> list[Path]:
    """Return the files of a folder, or those that fit a pattern, without those of ir_metadata; else the path itself."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    else:
        files = [path] if path.exists() else [Path(file) for file in sorted(glob.glob(str(path)))] or [path]
    return [file for file in files if find_described_run(file) is None]


def run_name(path: Path) -> str:
    """Return the name of a run's file without folders and suffixes."""
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    return name.removesuffix(".txt").removesuffix(".run")


def split_replicate(name: str, sign: str | None) -> tuple[str, str | None]:
    """Return the system and the replicate of a run that is named `SYSTEM@REPLICATE`; `sign` is what stands for `@`."""
    system, _, replicate = name.rpartition(sign) if sign else ("", "", "")
    return (system, replicate) if system and replicate else (name, None)


def find_described_run(path: Path) -> str | None:
    """Return the name of the run that a file of ir_metadata is beside: `bm25` for `bm25.ir_metadata.yml`.

    It is empty if the file tells none, as `ir_metadata.yml`, and None for a file that is not named like one.
    """
    match = _METADATA.match(path.name)
    return None if match is None else match[1] or ""


def _slug(text: str) -> str:
    return without_signs(text)[:100] or "run"


def as_utf8(argument: str) -> str:
    """Return an argument as UTF-8 has it, where the locale's encoding could not read it. Files keep their own names."""
    try:
        return argument.encode(errors="surrogateescape").decode()
    except UnicodeError:
        return argument


def as_qrels(table: Table) -> Source:
    """Return judgments as a file. A frame needs columns of topics, documents and levels.

    Text such as `irds:msmarco-passage/trec-dl-2019/judged` stands for the judgments of that dataset of ir_datasets.
    Raise BadInput if there are none, and for an id or a level that a file could not have.
    """
    if isinstance(table, str) and table.startswith(DATASET) and "\n" not in table:
        return qrels_of_dataset(as_utf8(table.removeprefix(DATASET)))
    return _as_source(table, _Notation("The qrels", LEVELS, _level, "{topic} {intent} {document} {value}\n"))


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
    notation = _Notation(f"{DATASET}{name}", LEVELS, _level, "{topic} {intent} {document} {value}\n")
    try:
        return _text(dataset.qrels_iter(), notation)
    except (OSError, RuntimeError) as error:
        raise BadInput(f"ir_datasets cannot get the judgments of {name!r}: {error}") from error


def as_run(table: Table, name: str) -> Source:
    """Return a run as an upload. A frame needs columns of topics, documents and scores.

    Raise BadInput for an id or a score that a file could not have.
    """
    line = "{topic} Q0 {document} 0 {value} " + _slug(name) + "\n"
    return _as_source(table, _Notation(f"The run {name!r}", SCORES, _score, line))


def _level(value: Any) -> str:
    """Return the level as a file has it. Raise ValueError with what it should be."""
    plain = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else _scalar(value)
    number = _float(plain)
    # In this order and not as `>`: NaN is in no range, and `int` fails for it.
    if not abs(number) <= MOST_LEVELS or plain != int(number):
        raise ValueError(
            f"level {_show(value)} is not an integer from -{MOST_LEVELS} to {MOST_LEVELS}. Number the levels 0, 1, 2, "
            "and name their gains, the highest level's first, such as gains='1:0.1'"
        )
    return str(int(number))


def _score(value: Any) -> str:
    """Return the score as a file has it. Raise ValueError with what it should be."""
    number = _float(float(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) else value)
    if not math.isfinite(number):
        raise ValueError(f"score {_show(value)} is not a finite number. Give one, such as 12.5")
    return repr(number)


@dataclass(frozen=True)
class _Notation:
    """The names of a table and of its columns of values, and how a value and a line are written."""

    table: str
    columns: Sequence[str]
    value: Callable[[Any], str]
    line: str


def _as_source(table: Table, notation: _Notation) -> Source:
    if isinstance(table, str) and "\n" in table:
        try:
            return table.encode()
        except UnicodeEncodeError as error:
            character = table[error.start]
            raise BadInput(f"{notation.table}: {character!r} cannot be in a file. Read its text as UTF-8.") from error
    if isinstance(table, bytearray | memoryview):
        return bytes(table)
    is_file = isinstance(table, str | bytes | os.PathLike) or hasattr(table, "read")
    return cast(Source, table) if is_file else _text(table, notation)


def _text(table: Any, notation: _Notation) -> bytes:
    lines: list[str] = []
    for number, (topic, intent, document, value) in enumerate(_rows(table, notation), 1):
        topic = _id(topic, "topic", notation, number, ("document", document))
        document = _id(document, "document", notation, number, ("topic", topic))
        try:
            written = notation.value(value)
        except ValueError as error:
            raise BadInput(f"{notation.table}, topic {topic!r}, document {document!r}: {error}.") from error
        # A file's line is a comment if it begins with a mark. No line of a table is one, and a blank hides the mark.
        blank = "" if _ORDINARY.match(topic) else " "
        lines.append(blank + notation.line.format(topic=topic, intent=intent, document=document, value=written))
    if not lines:
        raise BadInput(f"{notation.table}: there are no rows. Give at least one document of one topic.")
    return "".join(lines).encode()


def _rows(table: Any, notation: _Notation) -> Iterator[tuple[Any, str, Any, Any]]:
    """Yield topic, intent, document and value of each row, as they are."""
    if hasattr(table, "to_dict") and not hasattr(table, "columns"):  # of ranx
        table = table.to_dict()
    if isinstance(table, Mapping):
        for topic, documents in table.items():
            if not hasattr(documents, "items"):  # a series of pandas has them, too
                raise BadInput(
                    f"{notation.table}, topic {_show(topic)}: {_show(documents)} is not a dictionary by document. "
                    f"Give each document its {notation.columns[0]}, such as {{'doc-17': 2}}."
                )
            yield from ((topic, "0", document, value) for document, value in documents.items())
    elif hasattr(table, "columns"):
        chosen = [_column(list(table.columns), names, notation) for names in (TOPICS, DOCUMENTS, notation.columns)]
        for topic, document, value in zip(*(table[name] for name in chosen), strict=True):
            yield topic, "0", document, value
    elif _is_list(table):
        for number, record in enumerate(table, 1):
            members = [_member(record, names) for names in (TOPICS, DOCUMENTS, notation.columns)]
            if _ABSENT in members:
                raise BadInput(
                    f"{notation.table}, item {number}: {_show(record)} has no {TOPICS[0]}, {DOCUMENTS[0]} and "
                    f"{notation.columns[0]}, as Qrel and ScoredDoc of ir_measures have. Give these, or a dictionary by "
                    "topic and document."
                )
            intent = _as_text(_member(record, INTENTS)) or ""
            yield members[0], intent if _ID.fullmatch(intent) else "0", *members[1:]
    else:
        raise BadInput(
            f"{notation.table}: {_show(table)} is neither a file, nor a dictionary by topic and document, nor a data "
            "frame."
        )


def _column(columns: Sequence[Any], names: Sequence[str], notation: _Notation) -> str:
    column = next((name for name in names if name in columns), None)
    # pandas allows two columns of one name, and would give both of them.
    if column is None or columns.count(column) > 1:
        raise BadInput(
            f"{notation.table}: the table has the columns {', '.join(map(str, columns)) or '(none)'}, but one of "
            f"{', '.join(names)} is needed, once."
        )
    return column


def _member(record: Any, names: Sequence[str]) -> Any:
    return next((getattr(record, name) for name in names if hasattr(record, name)), _ABSENT)


def _id(value: Any, kind: str, notation: _Notation, row: int, beside: tuple[str, Any]) -> str:
    """Return an id as text. Raise BadInput for a missing one, and for one that no file could have.

    `row` and `beside`, the kind and the id of the other column, are for the message.
    """
    text = _as_text(value)
    if text is not None and _ID.fullmatch(text):
        return text
    why = (
        f"the id of a {kind}. Give text, such as '{kind}-17'."
        if text is None
        else f"an id: ids of {kind}s have no white space, control characters or lone surrogates, and are not empty."
    )
    where = f"{notation.table}, row {row}, {beside[0]} {_show(beside[1])}"
    raise BadInput(f"{where}: {_show(value)} cannot be {why}")


def _as_text(value: Any) -> str | None:
    """Return an id or a name as text; None for what is missing (None, NaN, NaT) and for what is no text or number."""
    if type(value) is str:  # so are most ids
        return value
    plain = _scalar(value)
    if isinstance(plain, str):
        return str(plain)
    try:
        return str(plain) if math.isfinite(_float(plain)) else None
    except ValueError:  # an integer of thousands of digits
        return None


def _float(value: Any) -> float:
    """Return a number as float; NaN for anything else, bool among it, and for what is too large."""
    if type(value) is float:  # so are most scores
        return value
    value = _scalar(value)
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.nan


def _scalar(value: Any) -> Any:
    """Return the value of a scalar of NumPy, or of an array without dimensions; anything else as it is."""
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def _show(value: Any) -> str:
    """Return a value for a message, cut to 60 characters."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


Column: TypeAlias = "list[str] | list[int] | list[float | None]"


class Framed(ABC):
    """An object with columns. An undefined number is NaN in pandas and null in polars."""

    @abstractmethod
    def columns(self) -> dict[str, Column]:
        """Return the columns by name; undefined numbers are None or NaN."""

    def to_pandas(self) -> Any:
        """Return the columns as a `pandas.DataFrame`. Raise MissingPackage without pandas."""
        return pandas_of(self.columns())

    def to_polars(self) -> Any:
        """Return the columns as a `polars.DataFrame`. Raise MissingPackage without polars."""
        return polars_of(self.columns())


def pandas_of(columns: Mapping[str, Column]) -> Any:
    """Return a `pandas.DataFrame`. Raise MissingPackage without pandas."""
    return optional_package("pandas").DataFrame({name: _array_or_list(column) for name, column in columns.items()})


def polars_of(columns: Mapping[str, Column]) -> Any:
    """Return a `polars.DataFrame`. Raise MissingPackage without polars."""
    polars = optional_package("polars")
    # polars cannot tell the type of a column that is empty or has nothing but None.
    types = {str: polars.String, int: polars.Int64, float: polars.Float64}
    series = [polars.Series(name, column, types[_type_of_column(column)]) for name, column in columns.items()]
    return polars.DataFrame(series).fill_nan(None)


def optional_package(name: str) -> Any:
    """Import a package that few people have. Raise MissingPackage without it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(f"{name} is not installed here. Run: pip install {name}") from error


def _type_of_column(column: Column) -> type[str] | type[int] | type[float]:
    kinds = {type(value) for value in column} - {type(None)}
    if str in kinds:
        return str
    return int if kinds == {int} and None not in column else float


def _array_or_list(column: Column) -> Any:
    if _type_of_column(column) is not float:
        return column
    import numpy as np  # noqa: PLC0415

    return np.array([math.nan if value is None else value for value in column], np.float64)
