"""Scores that were computed elsewhere, of files, folders, frames and dictionaries: one table, without a service."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import FAULTS_SHOWN, BadInput, Fault, FaultyFile
from gainboard.evaluation.runs.run_files import NO_LIMITS
from gainboard.evaluation.scoring.binding import UploadedMetric
from gainboard.evaluation.scoring.file_scores import FileScores
from gainboard.evaluation.scoring.scores import ScoreArrays, ScoreTable
from gainboard.metrics import mean_all
from gainboard.metrics.answers import score_nuggets, score_support
from gainboard.notation.sources import run_files
from gainboard.statistics.means import collapse, noise_of_replicates
from gainboard.trec import decompress_body
from gainboard.trec.findings import Faults, quoted
from gainboard.trec.nuggets import Verdicts, read_nuggets, read_verdicts
from gainboard.trec.score_formats import MOST_CELLS, NAMES
from gainboard.trec.score_matrices import ScoresFile, read_scores
from gainboard.vocabulary import OF_ANSWERS, Direction, Resample, Stray

Floats = NDArray[np.float64]
T = TypeVar("T")
MissingScores = float | Literal["leave-out", "refuse"]
"""The meaning of a missing score: a number, nothing (means are over the others), or a reason to refuse all."""
_SUFFIXES: Final = (".gz", ".zst", ".csv", ".tsv", ".jsonl", ".json", ".txt", ".eval")
_MOST_SHOWN: Final = 10
_DESCRIPTIONS: Final = ("model_meta.json", "run_settings.json")
"""Files of MTEB's folders that have no scores."""


def read_score_files(
    scores: Any,
    *,
    columns: Mapping[str, str] | None = None,
    measure: str | None = None,
    nuggets: Any = None,
    stray: Stray = "refuse",
    sample: bool = False,
) -> ScoresFile:
    """Return the scores of a file, a folder, a frame of pandas or polars, a dictionary, or a list of any of these.

    A frame has a row for each system, named by its index or its first column, or it has the columns of a CSV. Files
    that share a metric add systems or topics to it. In a folder such as MTEB's `results`, the folders of the folders of
    files are called like their systems. With a file of `nuggets`, these are files of verdicts on answers, and the
    scores are those that follow; in a `sample` of the topics, those without a verdict have no score, and not 0. Raise
    FaultyFile, also for two scores of one cell, and BadInput if there is nothing to read.
    """
    if nuggets is not None:
        return _score_answers(nuggets, scores, stray, sample)
    files = _read_all(
        scores, lambda chunks, name: read_scores(chunks, NO_LIMITS, name=name, columns=columns, measure=measure)
    )
    if not files:
        raise BadInput("There are no scores. Give a file, a folder, a frame or a dictionary.")
    return files[0][1] if len(files) == 1 else _join(files)


def _read_all(sources: Any, read: Callable[[Iterator[bytes], str], T]) -> list[tuple[str, T]]:
    """Return what a reader makes of each file, with its path or name. The faults of all files name their file."""
    files, faults, total = list[tuple[str, T]](), list[Fault](), 0
    for name, source in _name_sources(sources):
        try:
            with open(source, "rb") if isinstance(source, Path) else io.BytesIO(source) as file:
                content = read(decompress_body(file, None, NO_LIMITS), name)
                files.append((str(source) if isinstance(source, Path) else name, content))
        except FaultyFile as error:
            where = str(source) if isinstance(source, Path) else None
            faults += [replace(fault, file=where) for fault in error.faults]
            total += error.total
        except OSError as error:
            raise BadInput(f"Cannot read {source!s}: {error.strerror or error}.") from error
    if faults:
        raise FaultyFile(faults[:FAULTS_SHOWN], total)
    return files


def _score_answers(nuggets: Any, answers: Any, stray: Stray, sample: bool) -> ScoresFile:
    """Return the scores of answers by files of verdicts. A topic with nuggets that a run does not answer is 0."""
    sets = _read_all(nuggets, lambda chunks, _: read_nuggets(chunks, NO_LIMITS, stray=stray).nuggets)
    if len(sets) != 1:
        raise BadInput(f"There are {len(sets)} files of nuggets. Name one, with the nuggets of all topics.")
    ((_, topics),) = sets
    notes, replicates = list[str](), dict[str, tuple[str, str]]()
    merged = {family: Verdicts(nuggets=topics if family == "nuggets" else {}) for family in OF_ANSWERS}
    files = _read_all(answers, lambda chunks, _: read_verdicts(chunks, NO_LIMITS, topics, stray=stray, sample=True))
    for name, file in files:
        replicates |= file.replicates
        for family, verdicts in merged.items():
            runs = dict(verdicts.runs)
            for run, of_run in getattr(file, family).runs.items():
                if twice := runs.setdefault(run, {}).keys() & of_run.keys():
                    raise BadInput(f"Topic {min(twice)!r} of run {run!r} is in {name} and in another file. Keep one.")
                runs[run] = {**runs[run], **of_run}
            merged[family] = replace(verdicts, runs=runs, sampled=[*runs] if sample else ())
        if file.strays:
            notes.append(f"{file.strays:,} labels of {name} are none of the known ones, and count as nothing")
    for run, of_run in merged["nuggets"].runs.items():
        if (lacks := len(topics) - len(of_run)) and not sample and run not in replicates:
            notes.append(f"{lacks:,} of {len(topics):,} topics have no answer of {run}, which scores 0 there")
    if not sample:
        every = {run: {**dict.fromkeys(topics, ""), **of_run} for run, of_run in merged["nuggets"].runs.items()}
        merged["nuggets"] = replace(merged["nuggets"], runs=every)
    scored = []
    for family, verdicts in merged.items():
        systems = {run: replicates[run][0] for run in verdicts.runs if run in replicates}
        of_topics, by_metric = score_verdicts(family, replace(verdicts, systems=systems))
        scores = {f"{family}:{metric}": table for metric, table in by_metric.items() if verdicts.runs}
        scored.append((family, ScoresFile([*verdicts.runs], of_topics, scores, notes, replicates)))
    return _join(scored)


def score_verdicts(family: str, verdicts: Verdicts) -> tuple[list[str], dict[str, Floats]]:
    """Return the topics on which any run was judged, and the scores of each metric of a family by what a judge says:
    float64 [runs, topics], NaN where nothing was judged.
    """
    answers = [verdicts.of_run(run) for run in verdicts.runs]
    judged = {topic for of_run in answers for topic in of_run}
    topics = [topic for topic in verdicts.topics if topic in judged]
    if family == "support":
        return topics, score_support(topics, answers)
    return topics, score_nuggets({topic: "".join(verdicts.in_use[topic].values()) for topic in topics}, answers)


def _name_sources(scores: Any) -> Iterator[tuple[str, Path | bytes]]:
    """Yield each file, or the bytes that a frame or a dictionary is as one, with what it is called."""
    if isinstance(scores, str | os.PathLike):
        top = Path(scores)
        files = [file for file in run_files(top) if file.name not in _DESCRIPTIONS]
        revisions: dict[str, set[str]] = {}
        for file in files:
            revisions.setdefault(file.parent.parent.name, set()).add(file.parent.name)
        for file in files:
            name, model = file.name, file.parent.parent
            while name.lower().endswith(_SUFFIXES):
                name = name.rpartition(".")[0]
            # `results/MODEL/REVISION/TASK.json`, with `__` for the slash of a name
            if file.suffix == ".json" and top.is_dir() and len(file.relative_to(top.parent).parts) > 2:
                several = len(revisions[model.name]) > 1
                name = model.name.replace("__", "/") + (f"@{file.parent.name}" if several else "")
            yield name, file
    elif isinstance(scores, bytes):
        yield "score", scores
    elif hasattr(scores, "columns"):
        # A frame becomes CSV by what it can do, and not by its class: pandas and polars need not be installed. Without
        # columns of topics and values, its rows are systems unless it says otherwise.
        names, known = [str(name).lower() for name in scores.columns], (*NAMES["system"], *NAMES["topic"])
        is_long = all(any(usual in names for usual in NAMES[role]) for role in ("topic", "value"))
        is_named = is_long or (bool(names) and names[0] in known)
        if not hasattr(scores, "to_csv"):  # polars
            frame = scores if is_named or not names else scores.rename({scores.columns[0]: "system"})
            text = str(frame.fill_nan(None).write_csv())
        elif is_long or (is_named and type(scores.index).__name__ == "RangeIndex"):
            text = str(scores.to_csv(index=False))
        else:
            has_names = type(scores.index).__name__ != "RangeIndex"
            is_text = not has_names and getattr(scores.iloc[:, 0].dtype, "kind", "O") not in "iufb"
            frame = scores.set_index(scores.columns[0]) if is_text else scores
            corner = str(frame.index.name or "")
            text = str(frame.to_csv(index_label=corner if corner.lower() in known else "system"))
        yield "score", text.encode()
    elif isinstance(scores, Mapping):
        try:
            yield "score", json.dumps(scores).encode()
        except (TypeError, ValueError) as error:
            raise BadInput(f"The dictionary is not one of scores by system and topic: {error}.") from error
    elif isinstance(scores, Iterable):
        for member in scores:
            yield from _name_sources(member)
    else:
        raise BadInput(f"{type(scores).__name__} is not a file, a frame or a dictionary of scores.")


def _join(files: Sequence[tuple[str, ScoresFile]]) -> ScoresFile:
    """Return the scores of several files as one: systems in the order of the files, topics in byte order."""
    systems = list(dict.fromkeys(system for _, file in files for system in file.systems))
    topics = sorted({topic for _, file in files for topic in file.topics}, key=str.encode)
    metrics = dict.fromkeys(metric for _, file in files for metric in file.scores)
    if (cells := len(systems) * len(topics) * len(metrics)) > MOST_CELLS:
        raise BadInput(f"The files have {cells:,} cells (systems x topics x metrics), but at most {MOST_CELLS:,} fit.")
    row_of, column_of = ({name: place for place, name in enumerate(names)} for names in (systems, topics))
    scores = {metric: np.full((len(systems), len(topics)), np.nan) for metric in metrics}
    faults = Faults(NO_LIMITS.faults)
    for number, (name, file) in enumerate(files):
        at = np.ix_([row_of[system] for system in file.systems], [column_of[topic] for topic in file.topics])
        for metric, table in file.scores.items():
            for row, column in np.argwhere(~(np.isnan(scores[metric][at]) | np.isnan(table))).tolist():
                system, topic = file.systems[row], file.topics[column]
                other = next(
                    other
                    for other, earlier in files[:number]
                    if metric in earlier.scores and system in earlier.systems and topic in earlier.topics
                )
                where = f"system {quoted(system)}, topic {quoted(topic)}, metric {quoted(metric)}"
                problem = f"{where}: {other} and {name} both have a score. Keep one of the two"
                faults.add("duplicate-score", problem, topic=topic.encode())
            scores[metric][at] = np.where(np.isnan(table), scores[metric][at], table)
    if faults:
        raise faults.error()
    notes = list(dict.fromkeys(note for _, file in files for note in file.notes))
    replicates = {row: which for _, file in files for row, which in file.replicates.items()}
    return ScoresFile(systems, topics, scores, notes, replicates)


def as_file_scores(
    file: ScoresFile,
    metrics: Sequence[str] = (),
    *,
    systems: Sequence[str] = (),
    direction: Direction = "up",
    missing: MissingScores = "leave-out",
    resample: Resample = "topics",
) -> FileScores:
    """Return the scores of some metrics and systems of a file, or of all, as those of scored runs are.

    With the direction `down`, lower scores are better. Raise BadInput for a metric or a system that the file does not
    have, and for a missing score that is refused.
    """
    of_row = [file.replicates.get(row, (row, ""))[0] for row in file.systems]
    names, shown = list(dict.fromkeys(metrics or file.scores)), list(dict.fromkeys(systems or of_row))
    if unknown := [name for name in names if name not in file.scores]:
        raise BadInput(f"There are no scores of the metric {unknown[0]!r}. Available: {', '.join(file.scores)}.")
    if unknown := [system for system in shown if system not in set(of_row)]:
        there = list(dict.fromkeys(of_row))
        some = ", ".join([*there[:_MOST_SHOWN], *(["..."] if len(there) > _MOST_SHOWN else [])])
        raise BadInput(f"There are no scores of the system {unknown[0]!r}. Available: {some}")
    place = {system: number for number, system in enumerate(shown)}
    rows = sorted((row for row, system in enumerate(of_row) if system in place), key=lambda row: place[of_row[row]])
    of_rows = np.ascontiguousarray(np.stack([file.scores[name][rows] for name in names]))
    groups = np.array([place[of_row[row]] for row in rows], np.intp) if file.replicates else None
    by_topic = collapse(of_rows, groups)
    gaps, notes = np.isnan(by_topic), list(file.notes)
    if groups is not None:
        fewer = int(np.count_nonzero(np.isnan(of_rows) & ~gaps[:, groups]))
        counts = ", ".join(f"{system} {np.count_nonzero(groups == number)}" for system, number in place.items())
        more = f"; {fewer:,} scores that others of their system have are missing" if fewer else ""
        notes.append(f"the score of a system on a topic is the mean of its replicates ({counts}{more})")
    # A topic without any score under a metric is not one of the metric's, and a system without any has no mean.
    holes = gaps & ~gaps.all(axis=1, keepdims=True) & ~gaps.all(axis=2, keepdims=True)
    if count := int(np.count_nonzero(holes)):
        lacking = np.flatnonzero(holes.any(axis=(0, 2))).tolist()
        who = (f"{len(lacking):,} systems such as " if len(lacking) > 1 else "") + shown[lacking[0]]
        said = f"{count:,} of {np.count_nonzero(~gaps) + count:,} scores are missing, of {who}"
        if missing == "refuse":
            raise BadInput(f"{said}. Add them, or say what a missing score is: missing=0 or missing=leave-out.")
        if missing == "leave-out":
            notes.append(f"{said}: a mean is over the scores that are there, and a pair leaves out the other topics")
        else:
            by_topic[holes], gaps = missing, gaps & ~holes
            notes.append(f"{said}: each is {missing:g}")
    bound = [UploadedMetric(name, name, direction) for name in names]
    undefined, missing_topics = np.asarray(gaps.all(axis=1)), np.count_nonzero(gaps[0], axis=1)
    noise = noise_of_replicates(of_rows, groups) if groups is not None and resample == "topics+replicates" else None
    arrays = ScoreArrays(by_topic, mean_all(bound, by_topic), undefined, missing_topics, noise=noise)
    table = ScoreTable(bound, {name: name for name in names}, shown, file.topics, arrays)
    return FileScores(table, [f"{note[0].upper()}{note[1:]}." for note in notes])
