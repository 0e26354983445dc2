"""The programs that Gainboard is timed beside, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

ByTopic = Mapping[str, Mapping[str, float]]
"""Scores by topic and the peer's own name of the metric."""


class Peer(Protocol):
    """A library in process; its qrels are parsed once, as a server's are."""

    name: str
    labels: Mapping[str, str]
    """Our label of each metric that it computes, by its own name: those that both define alike."""

    def parse(self, run: Path) -> Any:
        """Return the run as the library's own reader makes it."""

    def evaluate(self, parsed: Any) -> ByTopic:
        """Return the scores by topic and the library's own name of the metric."""


class PytrecEval:
    """pytrec_eval: trec_eval's own code, with the measures that both define."""

    name = "pytrec_eval"

    def __init__(self, qrels: Path, labels: Mapping[str, str]) -> None:
        self.labels = labels
        self._library: Any = import_module("pytrec_eval")
        with qrels.open() as lines:
            self._evaluator = self._library.RelevanceEvaluator(self._library.parse_qrel(lines), set(labels))

    def parse(self, run: Path) -> Any:
        """Return a dict by topic of dicts by document."""
        with run.open() as lines:
            return self._library.parse_run(lines)

    def evaluate(self, parsed: Any) -> ByTopic:
        """Return the scores by topic and measure."""
        scores: ByTopic = self._evaluator.evaluate(parsed)
        return scores


class Ranx:
    """ranx, compiled by numba: warmed before anything is timed, one thread."""

    name = "ranx"
    labels: Mapping[str, str] = {
        "map": "AP",
        "mrr": "RR",
        "r-precision": "Rprec",
        "precision@10": "P@10",
        "precision@100": "P@100",
        "recall@100": "Recall@100",
        "recall@1000": "Recall@1000",
        "ndcg@10": "MSnDCG(gains=linear)@10",
        "ndcg@1000": "MSnDCG(gains=linear)@1000",
    }

    def __init__(self, qrels: Path, labels: Mapping[str, str]) -> None:
        self._library: Any = import_module("ranx")
        self._qrels = self._library.Qrels.from_file(str(qrels), kind="trec")

    def parse(self, run: Path) -> Any:
        """Return a Run of ranx."""
        return self._library.Run.from_file(str(run), kind="trec")

    def evaluate(self, parsed: Any) -> ByTopic:
        """Return the scores, which ranx keeps with the run."""
        metrics = list(self.labels)
        self._library.evaluate(self._qrels, parsed, metrics, threads=1, make_comparable=True)
        by_topic: dict[str, dict[str, float]] = defaultdict(dict)
        for metric in metrics:
            for topic, score in parsed.scores[metric].items():
                by_topic[topic][metric] = float(score)
        return by_topic


class IrMeasures:
    """ir_measures, whose readers are Python and whose figures are trec_eval's."""

    name = "ir_measures"
    labels: Mapping[str, str] = {
        "AP": "AP",
        "RR": "RR",
        "Rprec": "Rprec",
        "P@10": "P@10",
        "P@100": "P@100",
        "R@100": "Recall@100",
        "R@1000": "Recall@1000",
        "nDCG@10": "MSnDCG(gains=linear)@10",
        "nDCG@1000": "MSnDCG(gains=linear)@1000",
    }

    def __init__(self, qrels: Path, labels: Mapping[str, str]) -> None:
        self._library: Any = import_module("ir_measures")
        measures = [self._library.parse_measure(name) for name in self.labels]
        self._evaluator = self._library.evaluator(measures, list(self._library.read_trec_qrels(str(qrels))))

    def parse(self, run: Path) -> Any:
        """Return a list of ScoredDocs of ir_measures."""
        return list(self._library.read_trec_run(str(run)))

    def evaluate(self, parsed: Any) -> ByTopic:
        """Return the scores by topic and the library's own name of the metric."""
        by_topic: dict[str, dict[str, float]] = defaultdict(dict)
        for found in self._evaluator.iter_calc(parsed):
            by_topic[found.query_id][str(found.measure)] = found.value
        return by_topic


class Ntcireval:
    """pyNTCIREVAL, the only peer with Q-measure: it has no reader of runs, so lists are made of the file by hand."""

    name = "pyNTCIREVAL"
    labels: Mapping[str, str] = {
        "AP": "AP",
        "Q": "Q(beta=1,gains=linear)",
        "nDCG": "nDCG(base=2,gains=linear)@10",
        "MSnDCG": "MSnDCG(gains=linear)@10",
    }

    def __init__(self, qrels: Path, labels: Mapping[str, str]) -> None:
        self._metrics: Any = import_module("pyNTCIREVAL.metrics")
        self._levels: dict[str, dict[str, int]] = defaultdict(dict)
        for line in qrels.read_text().splitlines():
            topic, _, document, level = line.split()
            self._levels[topic][document] = int(level)

    def parse(self, run: Path) -> Any:
        """Return the documents by topic, best first: the benchmark's runs are sorted already."""
        ranked: dict[str, list[str]] = defaultdict(list)
        for line in run.read_text().splitlines():
            topic, _, document, *_ = line.split()
            ranked[topic].append(document)
        return ranked

    def evaluate(self, parsed: Any) -> ByTopic:
        """Return the scores by topic and the library's own name of the metric."""
        return {topic: self._scores(levels, parsed.get(topic, ())) for topic, levels in self._levels.items()}

    def _scores(self, levels: Mapping[str, int], documents: Sequence[str]) -> Mapping[str, float]:
        judged = list(levels.values())
        highest = max(judged)
        counts, grades = [judged.count(level) for level in range(highest + 1)], list(range(1, highest + 1))
        made = {
            "AP": self._metrics.AP(counts, grades),
            "Q": self._metrics.QMeasure(counts, grades, 1.0),
            "nDCG": self._metrics.nDCG(counts, grades, 2, 10),
            "MSnDCG": self._metrics.MSnDCG(counts, grades, 10),
        }
        found = [(document, levels.get(document)) for document in documents]
        return {name: metric.compute(found) for name, metric in made.items()}


Library = Callable[[Path, Mapping[str, str]], Peer]
LIBRARIES: tuple[Library, ...] = (PytrecEval, Ranx, IrMeasures, Ntcireval)


class TrecEval:
    """The program itself: it reads qrels and run, and prints, each time it is called."""

    def __init__(self, program: str, qrels: Path, measures: set[str]) -> None:
        grouped: dict[str, list[str]] = {}
        for measure in sorted(measures):
            name, _, cutoff = measure.rpartition("_") if measure[-1].isdigit() else (measure, "", "")
            grouped.setdefault(name, []).extend([cutoff] if cutoff else [])
        asked = (f"{name}.{','.join(cutoffs)}" if cutoffs else name for name, cutoffs in grouped.items())
        self._command = [program, "-q", *(part for each in asked for part in ("-m", each)), str(qrels)]

    def evaluate(self, run: Path) -> None:
        """Evaluate a run file from beginning to end. Raises CalledProcessError if the program fails."""
        subprocess.run([*self._command, str(run)], check=True, stdout=subprocess.DEVNULL)


def find_peers(
    qrels: Path, shared: Mapping[str, str], libraries: Sequence[Library] = LIBRARIES
) -> tuple[list[Peer], TrecEval | None, list[str]]:
    """Return the installed libraries, the program if there is one, and a sentence about each that is missing.

    `shared` has our labels by trec_eval's names.
    """
    peers: list[Peer] = []
    missing: list[str] = []
    for library in libraries:
        try:
            peers.append(library(qrels, shared))
        except ImportError as error:
            missing.append(f"{getattr(library, 'name', library)} is not installed ({error.name}): no ratio to it")
    program = shutil.which("trec_eval")
    if program is None:
        missing.append("trec_eval is not on the path: pytrec_eval, which is its code in Python, stands for it")
    return peers, TrecEval(program, qrels, set(shared)) if program else None, missing
