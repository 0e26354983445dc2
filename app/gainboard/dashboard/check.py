#!/usr/bin/env python3
# Copyright (c) 2026 Gainboard contributors. SPDX-License-Identifier: MIT (https://spdx.org/licenses/MIT.html)
"""Check this folder without the program that wrote it: `python3 check.py`, or `python3 check.py FOLDER`.

Any Python from 3.8 on runs this file alone, which shares no code with Gainboard. It
1. compares the SHA-256 of each file with SHA256SUMS, and of judgments, runs and results with data/release.json;
2. computes the scores of the boards again from judgments and runs, by plain loops over the definitions;
3. compares scores, means and ranks with data/release.json, data/scores.csv and data/boards.csv.
Of letters, intervals, pages and results of jobs, only the hashes are checked. Whoever wrote the folder could write its
hashes, too: compare the SHA-256 that is printed with the one by which the release is cited.
The exit code is 0 if all that was compared agrees, 1 if something differs, and 2 if the folder cannot be read.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
import sys
from array import array
from itertools import zip_longest
from pathlib import Path
from typing import Any, Callable, Iterator

SUMS, DOCUMENT = "SHA256SUMS", "data/release.json"
CLOSE = 1e-12  # relative, and absolute below 1: additions in another order differ by less
MOST_SHOWN = 20
METRICS = ("AP", "Q", "Rmeasure", "nDCG", "MSnDCG", "ERR", "RBP", "P", "RR")
PARAMETERS = {"base", "beta", "condensed", "gains", "mean", "p", "recall_base", "rel", "stop_scale"}
COLUMNS = {  # of judgments: the places of topic, document and level
    "trec": (0, 2, 3),
    "topic-document-level": (0, 1, 2),
    "topic-level-document": (0, 2, 1),
    "topic-document": (0, 1, None),
}


class NotRecomputed(Exception):
    """A metric, or a form of judgments, that this file does not know."""


class Metric:
    """A label such as `nDCG(base=2,gains=3:2:1)@10`, taken apart. Without a cut-off, it is about the whole ranking."""

    def __init__(self, label: str, highest_level: int) -> None:
        parts = re.fullmatch(r"(\w+)(?:\(([^@]*)\))?(?:@(\d+))?", label)
        if parts is None or parts[1] not in METRICS:
            raise NotRecomputed("it is none of " + ", ".join(METRICS))
        self.name, self.cutoff = parts[1], int(parts[3]) if parts[3] else None
        self.options = dict(option.split("=", 1) for option in (parts[2] or "").split(",") if option)
        if unknown := self.options.keys() - PARAMETERS:
            raise NotRecomputed("its parameters are unknown: " + ", ".join(sorted(unknown)))
        self.highest_level, self.rel = highest_level, int(self.options.get("rel", 1))
        self.top_gain = self.gain(int(self.options.get("stop_scale", highest_level)))

    def gain(self, level: int) -> float:
        """Return the gain of a level above 0, without adjustment. A ratio has the highest level first."""
        setting = self.options.get("gains", "flat")
        if setting in ("linear", "exp", "flat"):
            return {"linear": float(level), "exp": 2.0**level - 1, "flat": 1.0}[setting]
        return float(setting.replace("adjust(", "").rstrip(")").split(":")[-level])


class Topic:
    """A topic under a metric: R, the gains of its levels, and the ideal ranking. A method for each metric follows.

    `found` has the rank and the gain of each relevant document that was retrieved within the cut-off.
    """

    def __init__(self, metric: Metric, judged: list[int]) -> None:
        relevant = [level for level in judged if level >= metric.rel]
        self.metric, self.cutoff, self.R = metric, metric.cutoff, len(relevant)
        gains = {level: metric.gain(level) for level in range(metric.rel, metric.highest_level + 1)}
        self.gains = dict(gains)
        if "adjust" in metric.options.get("gains", ""):
            for level in gains:
                share = relevant.count(level) / max(self.R, 1)
                self.gains[level] -= share * (gains[level] - gains.get(level - 1, 0.0)) if share < 1 else 0.0
        self.ideal = sorted((self.gains[level] for level in relevant), reverse=True)
        self.divisor = min(self.cutoff, self.R) if "recall_base" in metric.options and self.cutoff else self.R
        self.beta, self.base, self.p = (
            float(metric.options.get(name, default)) for name, default in (("beta", 1), ("base", 2), ("p", 0.95))
        )

    def score(self, ranking: list[int | None]) -> float | None:
        """Return the score of a ranking, which has the level of each document; None is an unjudged document."""
        if not sum(self.ideal):
            return None
        if self.metric.options.get("condensed") == "true":
            ranking = [level for level in ranking if level is not None]
        ranks = enumerate(ranking[: self.cutoff], 1)
        found = [(rank, self.gains[it]) for rank, it in ranks if it is not None and it >= self.metric.rel]
        score: float = getattr(self, self.metric.name)(found)
        return score

    def AP(self, found: list[tuple[int, float]]) -> float:
        return sum(count / rank for count, (rank, _) in enumerate(found, 1)) / self.divisor

    def Q(self, found: list[tuple[int, float]]) -> float:
        total = gained = 0.0
        for count, (rank, gain) in enumerate(found, 1):
            gained += gain
            total += (self.beta * gained + count) / (self.beta * sum(self.ideal[:rank]) + rank)
        return total / self.divisor

    def Rmeasure(self, found: list[tuple[int, float]]) -> float:
        first = [gain for rank, gain in found if rank <= self.R]
        return (self.beta * sum(first) + len(first)) / (self.beta * sum(self.ideal) + self.R)

    def nDCG(self, found: list[tuple[int, float]], discount: Callable[[int], float] | None = None) -> float:
        by = discount or (lambda rank: 1.0 if rank <= self.base else math.log(rank, self.base))
        ideal = enumerate(self.ideal[: self.cutoff], 1)
        return sum(gain / by(rank) for rank, gain in found) / sum(gain / by(rank) for rank, gain in ideal)

    def MSnDCG(self, found: list[tuple[int, float]]) -> float:
        return self.nDCG(found, lambda rank: math.log2(rank + 1))

    def ERR(self, found: list[tuple[int, float]]) -> float:
        total, reads_on = 0.0, 1.0
        for rank, gain in found:
            stops = gain / (self.metric.top_gain + 1)
            total, reads_on = total + reads_on * stops / rank, reads_on * (1 - stops)
        return total

    def RBP(self, found: list[tuple[int, float]]) -> float:
        return (1 - self.p) * sum(gain * self.p ** (rank - 1) for rank, gain in found) / self.metric.top_gain

    def P(self, found: list[tuple[int, float]]) -> float:
        return len(found) / self.cutoff  # type: ignore[operator]  # its label always has a cut-off

    def RR(self, found: list[tuple[int, float]]) -> float:
        return 1 / found[0][0] if found else 0.0


def rows_of(path: Path) -> Iterator[list[bytes]]:
    """Yield the columns of each line of runs or judgments, without comments and the header of BEIR's files."""
    content = path.read_bytes()
    for line in content[3 * content.startswith(b"\xef\xbb\xbf") :].split(b"\n"):
        columns = [] if line.startswith((b"#", b"<SYSDESC>")) else line.split()
        if columns and not (len(columns) == 3 and re.sub(b"[^a-z]", b"", columns[1].lower()) == b"corpusid"):
            yield columns


def read_judgments(path: Path, columns: str, settings: dict[str, Any]) -> dict[bytes, dict[bytes, int]]:
    """Return the level of each judged document by topic. Levels below 0 are nonrelevant."""
    if columns not in COLUMNS or settings["intents"]:
        raise NotRecomputed("the judgments are by intent")
    topic, document, at_level = COLUMNS[columns]
    names = {b"C": 0, b"D": 0, **{b"L%d" % level: level for level in range(settings["highest_level"] + 1)}}
    names.update({name.encode(): level for level, name in enumerate(settings["level_names"] or (), 1)})
    judged: dict[bytes, dict[bytes, int]] = {}
    for row in rows_of(path):
        text = b"1" if at_level is None else row[at_level]
        level = names[text] if text in names and columns != "trec" else int(text)
        judged.setdefault(row[topic], {})[row[document]] = max(level, 0)
    return judged


def read_run(
    path: Path, judged: dict[bytes, dict[bytes, int]], version: dict[str, Any], depth: int
) -> dict[bytes, Any]:
    """Return the ranking of each judged topic: the level of each document down to the depth, None if unjudged."""
    lines: dict[bytes, list[tuple[float, bytes]]] = {}
    for row in rows_of(path):
        topic, document, rank, score = (row[0], row[1], row[2], row[2]) if len(row) == 3 else (row[0], *row[2:5])
        if topic in judged and not (version["ignore_identical_ids"] and topic == document):
            key = -int(rank) if version["order_by"] == "rank" else float(score)
            lines.setdefault(topic, []).append((key, document))
    for topic, retrieved in lines.items():
        if version["order_by"] == "score32":
            retrieved = list(zip(array("f", [key for key, _ in retrieved]), [document for _, document in retrieved]))
        # The highest score comes first, and equal scores stand by descending bytes of their ids.
        lines[topic] = sorted(retrieved, reverse=True)[:depth]
    return {topic: [judged[topic].get(document) for _, document in best] for topic, best in lines.items()}


class Check:
    """What was compared in a folder, and what differs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.document = folder, json.loads((folder / DOCUMENT).read_text("utf-8"))
        self.scores, self.topics = self.document["scores"], self.document["topics"]
        self.matrices = self.document.get("score_matrices", [])
        self.notes: list[str] = []
        self.differences: list[str] = []
        self.compared = 0

    def compare(self, place: str, stored: Any, computed: Any) -> None:
        """Compare two values. Numbers may differ in their last digits, and None is a score that is not defined."""
        self.compared += 1
        are_numbers = isinstance(stored, (int, float)) and isinstance(computed, (int, float))
        is_close = are_numbers and abs(stored - computed) <= CLOSE * max(1.0, abs(computed))
        if not is_close and (are_numbers or stored != computed):
            self.differences.append(f"{place}: {stored} is stored, and {computed} was computed")

    def check_hashes(self) -> None:
        """Compare the hash of each file, also of those of which this file knows nothing else."""
        lines = (self.folder / SUMS).read_text("utf-8").split("\n")
        listed = {path: sha256 for sha256, path in (line.split("  ", 1) for line in lines if line)}
        files = {path.relative_to(self.folder).as_posix(): path for path in self.folder.rglob("*") if path.is_file()}
        hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if name != SUMS}
        for name in sorted({*listed, *hashes}):
            self.compare(f"SHA-256 of {name}", listed.get(name, "none"), hashes.get(name, "none"))
        named = [("qrels/{judgments}-{version}.txt", it) for it in self.document["judgments"]]
        named += [("runs/{name}.txt", it) for it in self.document["runs"]]
        named += [("score-matrices/{name}-{version}.csv", it) for it in self.matrices]
        named += [("results/{id}/result.json", it) for it in self.document["results"] + self.document["reports"]]
        for form, it in named:
            if (name := "data/" + form.format(**it)) in hashes:
                self.compare(f"SHA-256 of {name} in {DOCUMENT}", it.get("csv_sha256", it["sha256"]), hashes[name])
        print(f"Hashes of {len(hashes)} files. SHA-256 of {DOCUMENT}: {hashes[DOCUMENT]}")

    def check_scores(self) -> None:
        """Compute the scores of all runs whose files are here, topic by topic."""
        settings, boards, metrics = self.document["settings"], self.document["board_version"], {}
        for label in self.scores:
            try:
                metrics[label] = Metric(label, settings["highest_level"])
            except NotRecomputed as why:
                self.notes.append(f"Not computed again: {label}, because {why}")
        paths = {run["name"]: self.folder / f"data/runs/{run['name']}.txt" for run in self.document["runs"]}
        there = [name for name, path in paths.items() if path.is_file()]
        if len(there) < len(paths):
            self.notes.append(f"Not computed again: scores of {len(paths) - len(there)} runs, which have no file here")
        if not there or not metrics:
            return
        version = next(it for it in self.document["judgments"] if all(it[key] == boards[key] for key in boards))
        path = self.folder / "data/qrels/{judgments}-{version}.txt".format(**version)
        judged = read_judgments(path, version["columns"], settings)
        declared = [topic.encode() for topic in settings["topics"] or ()] or judged
        topics = [topic.encode() for topic in self.topics]
        self.compare("the topics", sorted(topics), sorted(set(declared) & set(judged)))
        known = {label: [Topic(metric, [*judged[it].values()]) for it in topics] for label, metric in metrics.items()}
        for name in there:
            rankings = read_run(paths[name], judged, version, settings["depth"])
            for label in metrics:
                for id, topic, stored in zip(topics, known[label], self.scores[label].get(name, ())):
                    self.compare(f"{label} of {name} on {id.decode()}", stored, topic.score(rankings.get(id, [])))
        print(f"Scores of {len(there)} runs on {len(topics)} topics: {', '.join(metrics)}")

    def check_matrices(self) -> None:
        """Compare scores that were computed elsewhere with the matrices that were uploaded."""
        for matrix in self.matrices:
            label = "custom:{name}(version={version})".format(**matrix)
            path = self.folder / "data/score-matrices/{name}-{version}.csv".format(**matrix)
            if label in self.scores and path.is_file():
                (_, *topics), *rows = rows_of_csv(path)
                cells = {(row[0], topic): float(cell) for row in rows for topic, cell in zip(topics, row[1:]) if cell}
                for run, scores in self.scores[label].items():
                    for topic, stored in zip(self.topics, scores):
                        # A run that came later than the matrix has no score, though its name may be there.
                        if stored is not None:
                            self.compare(f"{label} of {run} on {topic}", stored, cells.get((run, topic)))

    def check_boards(self) -> None:
        """Compute means and ranks again from scores by topic, and compare both tables with what was frozen."""
        lower_is_better = tuple("custom:{name}(".format(**it) for it in self.matrices if it["direction"] == "down")
        ranked: list[list[Any]] = []
        for by, rows in ((board["by"], board["rows"]) for board in self.document["boards"]):
            self.compare(f"the runs by {by}", sorted(row["run"] for row in rows), sorted(self.scores[by]))
            sign = -1 if by.startswith(lower_is_better) else 1
            keys = [-math.inf if row["means"][by] is None else sign * round(row["means"][by], 12) for row in rows]
            for row, key in zip(rows, keys):
                for label, stored in row["means"].items():
                    self.compare(f"mean {label} of {row['run']}", stored, mean(label, self.scores[label][row["run"]]))
                self.compare(f"rank of {row['run']} by {by}", row["rank"], 1 + sum(other > key for other in keys))
                ranked.append([by, row["rank"], row["run"], row["team"], row["means"][by]])
        by_topic = [
            [by, run, *it] for by in self.scores for run, its in self.scores[by].items() for it in zip(self.topics, its)
        ]
        for name, expected in (("data/boards.csv", ranked), ("data/scores.csv", by_topic)):
            for number, (row, values) in enumerate(zip_longest(rows_of_csv(self.folder / name)[1:], expected), 2):
                cells = ["" if value is None else str(value) for value in values or ()]
                self.compare(f"{name}, line {number}", (row or [])[: len(cells) or None], cells)
        print(f"Boards by {', '.join(board['by'] for board in self.document['boards'])}: means, ranks, and both tables")


def mean(label: str, scores: list[float | None]) -> float | None:
    """Return the mean over the topics that have a score. A label says if it is a geometric mean."""
    is_geometric, values = "mean=geometric" in label, [score for score in scores if score is not None]
    found = [math.log(max(value, 1e-5)) if is_geometric else value for value in values]
    return None if not found else (math.exp if is_geometric else float)(math.fsum(found) / len(found))


def rows_of_csv(path: Path) -> list[list[str]]:
    """Return the rows of a table, without the apostrophe that keeps spreadsheets from computing a cell."""
    with path.open(newline="", encoding="utf-8") as lines:
        return [[re.sub("^'(?=[=+@\\-\t\r])", "", cell) for cell in row] for row in csv.reader(lines)]


def main(folder: Path) -> int:
    check = None
    try:
        check = Check(folder)
        for step in (check.check_hashes, check.check_scores, check.check_matrices, check.check_boards):
            try:
                step()
            except NotRecomputed as why:
                check.notes.append(f"Not computed again: all scores, because {why}")
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
        csv.Error,
    ) as it:
        print(f"{folder} cannot be read as a release: {type(it).__name__}: {it}", file=sys.stderr)
        # A file that was changed may be unreadable for that.
        if check is None or not check.differences:
            return 2
    for line in [*check.notes, *check.differences[:MOST_SHOWN]]:
        print(repr(line)[1:-1])  # without the control characters that a stranger's id could have
    print(f"{check.compared} values were compared, and {len(check.differences) or 'none'} differ.")
    return 1 if check.differences else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent))
