"""Check run and qrels files, with or without a server."""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from gainboard.cli.command import Argument, Example, Misuse, Option, command
from gainboard.cli.connecting import OneCollection
from gainboard.cli.files import RUN_FILES, FileReader, Reading, expand_folders, limits_here, total_size
from gainboard.cli.options import read_version, require_one_input
from gainboard.cli.parallel import Count, PlainCount, choose_processes, process_files
from gainboard.cli.printing import COLLECTION_HINTS, FILE_HINTS, fault_lines, list_faults, print_utf8
from gainboard.cli.scored_files import check_topics
from gainboard.errors import Fault, GainboardError, NameRequired
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import RunFile, coverage_needed, declared_topic_warnings, no_declared_topics
from gainboard.notation.texts import name_from_tag, warning_lines
from gainboard.trec import FileWarning
from gainboard.vocabulary import RunOrder


@dataclass(frozen=True)
class CheckedFile:
    """The findings about a file; `facts` are what the file holds, if it can be read."""

    file: str
    kind: str
    warnings: Sequence[FileWarning] = ()
    faults: Sequence[Fault] = ()
    faults_total: int = 0
    total_is_minimum: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    def refused(self, error: GainboardError) -> CheckedFile:
        """Return the same file, refused."""
        faults, total, is_minimum = list_faults(error)
        return replace(self, faults=faults, faults_total=total, total_is_minimum=is_minimum)

    def lines(self, hints: Mapping[str, str]) -> Iterator[str]:
        """Yield the findings with hints by the codes of faults, then a line about the whole file."""
        yield from fault_lines(self.file, self.faults, self.faults_total, self.total_is_minimum, hints)
        yield from warning_lines(self.file, self.warnings)
        facts = ", ".join(
            f"{name.replace('_', ' ')} {_format_fact(value)}" for name, value in self.facts.items() if value is not None
        )
        is_unscored = any(warning.code == "too-few-topics" for warning in self.warnings)
        state = "faulty" if self.faults_total else "fine, but gets no score" if is_unscored else "fine"
        yield f"{self.file}: {state}: {self.kind}" + (f", {facts}" if facts else "")

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "file": self.file,
            "kind": self.kind,
            **self.facts,
            "warnings": [warning.as_json() for warning in self.warnings],
            "errors": [fault.as_json() for fault in self.faults],
            "errors_total": self.faults_total,
            **({"errors_total_is_minimum": True} if self.total_is_minimum else {}),
        }


@dataclass(frozen=True)
class Declared:
    """The topics that a collection declares, none if it declares none, and the share that a run needs for a score."""

    collection: str
    topics: Sequence[str]
    coverage: float

    def warnings(self, file: RunFile) -> list[FileWarning]:
        """Return the service's warnings about the topics of a run. Raise FaultyFile if it has no declared topic."""
        if self.topics and set(self.topics).isdisjoint(file.topics):
            raise no_declared_topics(file.topics[0], self.collection, self.topics)
        return declared_topic_warnings(file.topics, self.topics, self.coverage)


@dataclass(frozen=True)
class RunChecking:
    """The task of checking a run, for `process_files`."""

    reading: FileReader
    qrels: str | None
    index: QrelsIndex | None
    declared: Declared | None

    def __call__(self, name: str, count: Count) -> CheckedFile:
        checked = CheckedFile(name, "run")
        try:
            file = self.reading.run(name, self.index, count)
            facts: dict[str, Any] = {"tag": file.tag or "none", "topics": len(file.topics), "retrieved": file.retrieved}
            if file.joined is not None:
                judgeable = int(file.joined.run.retrieved.sum())
                facts["unjudged_share"] = file.joined.unjudged / judgeable if judgeable else None
            checked = replace(checked, warnings=file.warnings, facts=facts)
            try:
                name_from_tag(file.tag)
            except NameRequired as error:  # which an upload would be refused for, unless a name is given
                checked = replace(checked, warnings=[*checked.warnings, FileWarning(error.slug, error.message)])
            if self.qrels is not None and self.index is not None:
                about = check_topics(file, self.index, self.qrels)
                checked = replace(checked, warnings=[*checked.warnings, *about])
            if self.declared is not None:
                checked = replace(checked, warnings=[*checked.warnings, *self.declared.warnings(file)])
        except GainboardError as error:
            return checked.refused(error)
        return checked


@command(
    __doc__,
    Example("gainboard check run.txt"),
    Example("gainboard check runs/* --qrels qrels.txt", "and how many of their documents are judged"),
    Example("gainboard check --qrels qrels.txt --levels B,A,S", "only qrels, whose levels have names"),
    Example("gainboard check run.txt -c web", "with the settings and the declared topics of a collection"),
    Example("gainboard check --order-by rank --depth 100 - < run.txt", "with settings that you name"),
)
def check(
    at: OneCollection,
    runs: Annotated[
        Sequence[str],
        Argument("run files, plain, .gz or .zst, or folders; - is standard input", metavar="RUN_FILE"),
        RUN_FILES,
    ] = (),
    *,
    qrels: Annotated[
        str | None,
        Option("judgments, which are checked as well: a file, or with -c the number of a version", metavar="QRELS"),
    ] = None,
    json: Annotated[bool, "print everything as JSON"] = False,
    reading: Reading,
) -> int:
    """Check run and qrels files as the service does at an upload. Print every fault with its line, its code and what to
    write instead, every warning, and what each file holds. With --qrels, also compare runs with the judgments.

    With -c or GAINBOARD_COLLECTION, ask the server for the collection. Then compare runs with its declared topics, and
    read files with its levels, depth and order instead of those of the options. Otherwise, no server is needed.

    The exit code is 0 if the service would accept all files, else 1.
    """
    if not runs and qrels is None:
        raise Misuse(
            "There is nothing to check. Name run files, or qrels with --qrels: gainboard check run.txt --qrels "
            "qrels.txt"
        )
    files = expand_folders(runs, qrels)
    require_one_input([*files, *(file for file in (qrels, reading.iprob) if file)])
    reader, declared = FileReader.of(reading, limits_here()), None
    with ExitStack() as stack:
        qrels_file = qrels
        if at.named or os.environ.get("GAINBOARD_COLLECTION"):
            gainboard = stack.enter_context(at.connect())
            collection = gainboard.collection(at.collection)
            if collection.topics is None:
                note = f"{collection.name} declares no topics, so those of the runs were not compared"
                print(f"note: {note}", file=sys.stderr)
            coverage = coverage_needed(collection.policy, collection.policy.phase == "released")
            declared = Declared(collection.name, collection.topics or [], coverage)
            reader = replace(
                reader,
                levels=collection.levels,
                depth=collection.depth,
                order=RunOrder(collection.order_by, collection.ignore_identical_ids),
                intents=collection.intents,
            )
            if version := read_version(qrels):
                folder = stack.enter_context(TemporaryDirectory(prefix="gainboard-"))
                qrels = f"version {version} of {collection.name}"
                qrels_file = str(gainboard.save_qrels_file(collection.name, version, Path(folder) / "qrels"))
        index, checked = None, []
        if qrels is not None and qrels_file is not None:
            index, about = _check_qrels(reader, qrels_file, qrels)
            checked.append(about)
    task, size = RunChecking(reader, qrels, index, declared), total_size(files)
    processes = choose_processes(files, size)
    checked += process_files(task, files, label="checking", size=size, processes=processes)
    if json:
        print_utf8()
        print(json_format.dumps([file.as_json() for file in checked], indent=2, ensure_ascii=False))
    else:
        hints = COLLECTION_HINTS if declared else FILE_HINTS
        print("\n".join(line for file in checked for line in file.lines(hints)))
    return 1 if any(file.faults_total for file in checked) else 0


def _check_qrels(reader: FileReader, path: str, name: str) -> tuple[QrelsIndex | None, CheckedFile]:
    checked = CheckedFile(name, "qrels")
    try:
        file = reader.qrels(path, PlainCount())
    except GainboardError as error:
        return None, checked.refused(error)
    levels = file.judgments.count_levels()
    facts = {
        "columns": file.columns,
        "topics": len(file.judgments),
        "judged": levels.total(),
        "per_level": {str(level): levels[level] for level in sorted(levels)},
    }
    return reader.index(file), replace(checked, warnings=file.warnings, facts=facts)


def _format_fact(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}:{_format_fact(number)}" for key, number in value.items())
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
