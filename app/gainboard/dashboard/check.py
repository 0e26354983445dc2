#!/usr/bin/env python3
# Copyright (c) 2026 Gainboard contributors. SPDX-License-Identifier: MIT (https://spdx.org/licenses/MIT.html)
"""Check this folder without the program that wrote it: `python3 check.py`, or `python3 check.py FOLDER`.

Any Python from 3.8 on runs this file alone, which shares no code with Gainboard. It
1. compares the SHA-256 of each file with SHA256SUMS, and of judgments, runs and results with data/release.json;
2. computes the scores of the boards again from judgments and runs, by plain loops over the definitions;
3. compares scores, means and ranks with data/release.json, data/scores.csv and data/boards.csv.
Of letters, intervals, pages and results, only hashes are checked. Whoever wrote the folder could write its hashes, too:
compare the SHA-256 that is printed with the one by which the release is cited.
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
from pathlib import Path
from typing import Any, Callable, Iterator

SUMS, DOCUMENT = "SHA256SUMS", "data/release.json"
METRICS = ("AP", "Q", "Rmeasure", "nDCG", "MSnDCG", "ERR", "RBP", "P", "RR")
PARAMETERS = {"base", "beta", "condensed", "gains", "mean", "p", "recall_base", "rel", "stop_scale"}
CLOSE = 1e-12  # relative, and absolute below 1: additions in another order differ by less


class LabelledMetric:
    """A label such as `nDCG(base=2,gains=3:2:1)@10`, taken apart, and a method for each metric.

    `found` has the rank and the gain of each relevant document that was retrieved within the cut-off.
    """

    def __init__(self, label: str, highest_level: int) -> None:
        parts = re.fullmatch(r"(\w+)(?:\(([^@]*)\))?(?:@(\d+))?", label)
        if parts is None or parts[1] not in METRICS:
            raise ValueError("it is none of " + ", ".join(METRICS))
        self.options = dict(option.split("=", 1) for option in (parts[2] or "").split(",") if option)
        if unknown := self.options.keys() - PARAMETERS:
            raise ValueError("its parameters are unknown: " + ", ".join(sorted(unknown)))
        self.name, self.cutoff = parts[1], int(parts[3]) if parts[3] else None
        self.levels = range(int(self.options.get("rel", 1)), highest_level + 1)
        self.beta, self.base, self.p = (float(self.options.get(name, 1)) for name in ("beta", "base", "p"))
        self.top_gain = self.gain(int(self.options.get("stop_scale", highest_level)))

    def gain(self, level: int) -> float:
        """Return the gain of a level above 0, without adjustment. A ratio has the highest level first."""
        setting = self.options.get("gains", "flat")
        rules = {"linear": float(level), "exp": 2.0**level - 1, "flat": 1.0}
        ratio = setting.replace("adjust(", "").rstrip(")").split(":")
        return rules[setting] if setting in rules else float(ratio[-level])

    def score(self, judged: list[int], ranking: list[int | None]) -> float | None:
        """Return the score of a ranking from the levels of judged documents and of its own, None if unjudged."""
        relevant = [level for level in judged if level in self.levels]
        gains = {level: self.gain(level) for level in self.levels}
        if "adjust" in self.options.get("gains", ""):
            for level in reversed(self.levels):
                share = relevant.count(level) / max(len(relevant), 1)
                gains[level] -= share * (gains[level] - gains.get(level - 1, 0.0)) if share < 1 else 0.0
        self.R, self.ideal = len(relevant), sorted((gains[level] for level in relevant), reverse=True)
        self.divisor = min(self.cutoff, self.R) if "recall_base" in self.options and self.cutoff else self.R
        if self.options.get("condensed") == "true":
            ranking = [level for level in ranking if level is not None]
        found = [(rank, gains[level]) for rank, level in enumerate(ranking[: self.cutoff], 1) if level in gains]
        return float(getattr(self, self.name)(found)) if sum(self.ideal) else None

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
            stops = gain / (self.top_gain + 1)
            total, reads_on = total + reads_on * stops / rank, reads_on * (1 - stops)
        return total

    def RBP(self, found: list[tuple[int, float]]) -> float:
        return (1 - self.p) * sum(gain * self.p ** (rank - 1) for rank, gain in found) / self.top_gain

    def P(self, found: list[tuple[int, float]]) -> float:
        return len(found) / (self.cutoff or math.nan)  # its label always has a cut-off

    def RR(self, found: list[tuple[int, float]]) -> float:
        return 1 / found[0][0] if found else 0.0


def rows_of(path: Path) -> Iterator[list[bytes]]:
    """Yield the columns of each line of runs or judgments, without comments and the header of BEIR's files."""
    content = path.read_bytes()
    for line in content[3 * content.startswith(b"\xef\xbb\xbf") :].split(b"\n"):
        columns = [] if line.startswith((b"#", b"<SYSDESC>")) else line.split()
        if columns and not (len(columns) == 3 and re.sub(b"[^a-z]", b"", columns[1].lower()) == b"corpusid"):
            yield columns


class FolderCheck:
    """A check of a folder keeps what differs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.document = folder, json.loads((folder / DOCUMENT).read_text("utf-8"))
        self.scores, self.settings = self.document["scores"], self.document["settings"]
        self.matrices = self.document.get("score_matrices", [])
        self.notes: list[str] = []
        self.differences: list[str] = []
        self.reading = SUMS  # what is named if it cannot be read
        self.compared = 0

    def compare(self, place: str, stored: Any, computed: Any) -> None:
        """Compare two values. Numbers may differ in their last digits, and None is a score that is not defined."""
        if isinstance(stored, dict) and isinstance(computed, dict):
            for key in {**stored, **computed}:
                self.compare(f"{place}: {key}", stored.get(key), computed.get(key))
            return
        self.compared += 1
        are_numbers = isinstance(stored, (int, float)) and isinstance(computed, (int, float))
        if not (math.isclose(stored, computed, rel_tol=CLOSE, abs_tol=CLOSE) if are_numbers else stored == computed):
            said = ["nothing" if value is None else value for value in (stored, computed)]
            self.differences.append("{}: {} is stored, and {} was computed".format(place, *said))

    def check_hashes(self) -> None:
        """Compare the hash of each file, also of those of which this file knows nothing else."""
        lines = (self.folder / SUMS).read_text("utf-8").split("\n")
        listed = {path: sha256 for sha256, path in (line.split("  ", 1) for line in lines if line)}
        self.reading = DOCUMENT
        files = {path.relative_to(self.folder).as_posix(): path for path in self.folder.rglob("*") if path.is_file()}
        hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if name != SUMS}
        self.compare("SHA-256", listed, hashes)
        named = [("qrels/{judgments}-{version}.txt", it) for it in self.document["judgments"]]
        named += [("runs/{name}.txt", it) for it in self.document["runs"]]
        named += [("score-matrices/{name}-{version}.csv", it) for it in self.matrices]
        named += [("results/{id}/result.json", it) for it in self.document["results"] + self.document["reports"]]
        for form, it in named:
            if (name := "data/" + form.format(**it)) in hashes:
                self.compare(f"SHA-256 in {DOCUMENT}: {name}", it.get("csv_sha256", it["sha256"]), hashes[name])
        self.reading = "a file in data"
        print(f"Hashes of {len(hashes)} files. SHA-256 of {DOCUMENT}: {hashes[DOCUMENT]}")

    def read_judgments(self, version: dict[str, Any]) -> dict[bytes, dict[bytes, int]]:
        """Return the level of each judged document by topic. Levels below 0 are nonrelevant."""
        at = re.sub("^trec(-stratum)?", r"topic-iteration-document\1-level", version["columns"]).split("-")
        topic, document, level = (at.index(name) if name in at else -1 for name in ("topic", "document", "level"))
        names = {b"C": 0, b"D": 0, **{b"L%d" % number: number for number in range(self.settings["highest_level"] + 1)}}
        names.update({name.encode(): number for number, name in enumerate(self.settings["level_names"] or (), 1)})
        names = {} if version["columns"] == "trec" else names
        judged: dict[bytes, dict[bytes, int]] = {}
        for row in rows_of(self.folder / "data/qrels/{judgments}-{version}.txt".format(**version)):
            if row[0] == b"@attributes":
                break  # memberships of documents in groups follow
            text = row[level] if level >= 0 else b"1"
            if "stratum" in at and int(text) < 0:
                continue  # the document was not sampled, so nobody judged it
            judged.setdefault(row[topic], {})[row[document]] = max(names[text] if text in names else int(text), 0)
        return judged

    def read_run(self, path: Path, judged: dict[bytes, Any], version: dict[str, Any]) -> dict[bytes, Any]:
        """Return the ranking of each judged topic: the level of each document down to the depth, None if unjudged."""
        lines: dict[bytes, list[tuple[float, bytes]]] = {}
        for row in rows_of(path):
            topic, document, rank, score = (row[0], row[1], row[2], row[2]) if len(row) == 3 else (row[0], *row[2:5])
            if topic in judged and not (version["ignore_identical_ids"] and topic == document):
                precision = "f" if version["order_by"] == "score32" else "d"
                key = -int(rank) if version["order_by"] == "rank" else array(precision, [float(score)])[0]
                lines.setdefault(topic, []).append((key, document))
        # The highest score comes first, and equal scores stand by descending bytes of their ids.
        best = {topic: sorted(its, reverse=True)[: self.settings["depth"]] for topic, its in lines.items()}
        return {topic: [judged[topic].get(document) for _, document in its] for topic, its in best.items()}

    def check_scores(self) -> None:
        """Compute the scores of all runs whose files are here, topic by topic."""
        boards, metrics = self.document["board_version"], {}
        version = next((it for it in self.document["judgments"] if all(it[key] == boards[key] for key in boards)), None)
        for label in self.scores:
            try:
                if version is None or self.settings["intents"]:
                    raise ValueError("there are no judgments, or they are by intent")
                metrics[label] = LabelledMetric(label, self.settings["highest_level"])
            except ValueError as why:
                self.notes.append(f"Not computed again: {label}, because {why}")
        systems: dict[str, list[Path]] = {}
        for run in self.document["runs"]:
            path = self.folder / f"data/runs/{run['name']}.txt"
            systems.setdefault(run.get("system") or run["name"], []).append(path)
        there = {name: paths for name, paths in systems.items() if all(path.is_file() for path in paths)}
        if lacking := len(systems) - len(there):
            self.notes.append(f"Not computed again: scores of {lacking} runs, which have no file here")
        if version is None or not there or not metrics:
            return
        judged, topics = self.read_judgments(version), self.document["topics"]
        self.compare("the topics", sorted(map(str.encode, topics)), sorted(judged))
        levels = {topic: list(judged.get(topic.encode(), {}).values()) for topic in topics}
        for name, paths in there.items():
            replicates = [self.read_run(path, judged, version) for path in paths]
            for label, metric in metrics.items():
                # A run without a score, for topics that it lacks, is on no board either.
                if name in self.scores[label]:
                    scores = {it: mean_of_replicates(metric, it.encode(), levels[it], replicates) for it in topics}
                    self.compare(f"{label} of {name}", dict(zip(topics, self.scores[label][name])), scores)
        print(f"Scores of {len(there)} runs on {len(topics)} topics: {', '.join(metrics)}")

    def check_boards(self) -> None:
        """Compute means and ranks again from scores by topic, and compare both tables with what was frozen."""
        lower_is_better = tuple("custom:{name}(".format(**it) for it in self.matrices if it["direction"] == "down")
        ranked: list[list[Any]] = []
        by_topic: list[list[Any]] = []
        for by, rows in ((board["by"], board["rows"]) for board in self.document["boards"]):
            self.compare(f"the runs by {by}", sorted(row["run"] for row in rows), sorted(self.scores[by]))
            sign = -1 if by.startswith(lower_is_better) else 1
            keys = [-math.inf if row["means"][by] is None else sign * round(row["means"][by], 12) for row in rows]
            for row, key in zip(rows, keys):
                means = {label: mean(label, self.scores[label][row["run"]]) for label in row["means"]}
                self.compare(f"means of {row['run']} by {by}", row["means"], means)
                self.compare(f"rank of {row['run']} by {by}", row["rank"], 1 + sum(other > key for other in keys))
                ranked.append([by, row["rank"], row["run"], row["team"], row["means"][by]])
            for run, scores in self.scores[by].items():
                by_topic += [[by, run, *it] for it in zip(self.document["topics"], scores)]
        for name, expected in (("data/boards.csv", ranked), ("data/scores.csv", by_topic)):
            lines = (["" if value is None else str(value) for value in values] for values in expected)
            with (self.folder / name).open(newline="", encoding="utf-8") as table:
                # An apostrophe keeps spreadsheets from computing a cell.
                rows = [[re.sub("^'(?=[=+@\\-\t\r])", "", cell) for cell in row] for row in csv.reader(table)][1:]
            cells = dict(enumerate((row[: len(expected[0])] for row in rows), 2))
            self.compare(f"{name}, line", cells, dict(enumerate(lines, 2)))


def mean_of_replicates(
    metric: LabelledMetric, topic: bytes, judged: list[int], replicates: list[dict[bytes, Any]]
) -> float | None:
    """Return the mean over the replicates that have the topic; the score of an empty ranking if none has it."""
    rankings = [replicate[topic] for replicate in replicates if topic in replicate] or [[]]
    return mean("", [metric.score(judged, ranking) for ranking in rankings])


def mean(label: str, scores: list[float | None]) -> float | None:
    """Return the mean over the topics that have a score; if the label says so, a geometric mean."""
    values, is_geometric = [score for score in scores if score is not None], "mean=geometric" in label
    total = math.fsum(math.log(max(value, 1e-5)) if is_geometric else value for value in values)
    return None if not values else math.exp(total / len(values)) if is_geometric else total / len(values)


def main(folder: Path) -> int:
    check = None
    try:
        check = FolderCheck(folder)
        check.check_hashes()
        check.check_scores()
        check.check_boards()
    except Exception as it:  # noqa: BLE001 (a stranger may have written anything)
        why = f"{check.reading if check else DOCUMENT} is not as a release has it ({type(it).__name__}: {it})"
        print(f"{folder} cannot be read as a release: {why}", file=sys.stderr)
        # A file that was changed may be unreadable for that.
        if check is None or not check.differences:
            return 2
    for line in [*check.notes, *check.differences[:20]]:
        print(repr(line)[1:-1])  # without the control characters that a stranger's id could have
    print(f"{check.compared} values were compared, and {len(check.differences) or 'none'} differ.")
    return 1 if check.differences else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent))
