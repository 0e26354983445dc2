"""The programs that Gainboard is timed beside, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

pytrec_eval: Any = None
with suppress(ImportError):
    pytrec_eval = import_module("pytrec_eval")

ByTopic = Mapping[str, Mapping[str, float]]
MISSING_PYTREC_EVAL = "pytrec_eval is not installed (pytrec-eval-terrier): no scores checked, no ratio to it"
MISSING_TREC_EVAL = "trec_eval is not on the path: no ratio to the program itself, which pytrec_eval is in process"


class PytrecEval:
    """pytrec_eval in process, with the measures that both define; its qrels are parsed once, as a server's are."""

    def __init__(self, qrels: Path, measures: set[str]) -> None:
        with qrels.open() as lines:
            self._evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), measures)

    def parse(self, run: Path) -> Any:
        """The run as its own parser makes it: a dict by topic of dicts by document."""
        with run.open() as lines:
            return pytrec_eval.parse_run(lines)

    def evaluate(self, parsed: Any) -> ByTopic:
        """Its scores, by topic and measure."""
        scores: ByTopic = self._evaluator.evaluate(parsed)
        return scores

    def parse_and_evaluate(self, run: Path) -> ByTopic:
        """From file to scores."""
        return self.evaluate(self.parse(run))


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
        """Evaluates a run file from beginning to end. Raises CalledProcessError if it will not."""
        subprocess.run([*self._command, str(run)], check=True, stdout=subprocess.DEVNULL)


def find_peers(qrels: Path, measures: set[str]) -> tuple[PytrecEval | None, TrecEval | None, list[str]]:
    """Those that are there, and a sentence about each that is not."""
    program = shutil.which("trec_eval")
    in_process = PytrecEval(qrels, measures) if pytrec_eval else None
    alone = TrecEval(program, qrels, measures) if program else None
    found = {MISSING_PYTREC_EVAL: in_process, MISSING_TREC_EVAL: alone}
    return in_process, alone, [sentence for sentence, peer in found.items() if peer is None]
