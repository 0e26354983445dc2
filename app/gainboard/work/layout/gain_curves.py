"""Curves of gain by rank and of precision by recall, from the result of a job of kind `gain-vectors`."""

from __future__ import annotations

from gainboard.exhibits import Axis, Figure, Panel, Series
from gainboard.work.jobs.gain_vectors import label_of_curve
from gainboard.work.report_kinds import Result

RECALL = tuple(tenths / 10 for tenths in range(11))


def precision_by_recall(result: Result) -> Figure:
    """Precision at the eleven points of recall, a curve for each run."""
    series = [Series(run["name"], RECALL, run["precision_recall"]) for run in result["runs"]]
    panel = Panel(Axis("recall", limits=(0, 1)), Axis("interpolated precision", limits=(0, 1)), series)
    caption = f"Precision by recall, mean over {result['topics']} topics."
    return Figure("precision-recall", caption, (panel,))


def gain_by_rank(result: Result, measure: str, scheme: str) -> Figure:
    """CG, DCG, nCG or nDCG at each rank, a curve for each run; `scheme` names the gains."""
    series = [Series(run["name"], result["ranks"], run[measure], style="line") for run in result["runs"]]
    # What is normalised is far above 0 from the first ranks on, and its curves close to each other.
    least = None if measure.startswith("n") else 0
    panel = Panel(Axis("rank"), Axis(f"{measure} under {scheme}", limits=(least, None)), series)
    caption = (
        f"{measure} by rank under {scheme}, mean over {result['topics']} topics: {label_of_curve(result, measure)}."
    )
    return Figure(f"{measure}-{scheme}", caption, (panel,))
