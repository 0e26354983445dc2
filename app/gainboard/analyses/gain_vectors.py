"""gain-vectors: gain by rank, and precision by recall, of each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, JsonValue

from gainboard.analyses.common import refuse, require_at_most
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels, as_text
from gainboard.analyses.params import Params
from gainboard.analyses.result_models import Number, ResultModel, TopicsResult
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.metrics import without
from gainboard.notation.texts import counted, said

SECONDS_A_TOPIC = 2e-5
MOST_RANKS = 500_000
"""The most ranks x runs in one answer: 30 MB of JSON, and a second to read."""
CURVES = ("CG", "DCG", "nCG", "nDCG")
RECALL = tuple(tenths / 10 for tenths in range(11))
SETTLED = ("gains", "base", "rel")


class GainVectorsParams(Params):
    """CG, DCG, nCG and nDCG of each run at every rank, averaged over topics: the gain-by-rank curves of Kekalainen
    (IPM, 2005); and interpolated precision at the eleven points of recall.
    """

    cutoff: Annotated[int, Field(ge=1, le=100_000)] = Field(100, description="The last rank of the curves")

    def settled(self, label: Labels) -> Self:
        """Return the same request with the values of gains, base and rel, which determine the curves."""
        parameters = label.parameters("nDCG")
        condensed = {"condensed": True if parameters["condensed"] == "true" else None}
        return super().settled(label).model_copy(update={name: parameters[name] for name in SETTLED} | condensed)

    def shown(self) -> dict[str, JsonValue]:
        return super().shown() | self._values()

    def metric(self) -> str:
        """Return the settled parameters as an expression of nDCG."""
        return f"nDCG({','.join(f'{name}={as_text(value)}' for name, value in self._values().items())})@{self.cutoff}"

    def _values(self) -> dict[str, Any]:
        condensed = {"condensed": True} if self.condensed else {}
        return {name: getattr(self, name) for name in SETTLED} | condensed


class CurvesOfOneRun(ResultModel):
    """A run's curves, averaged over topics: a number for each of `ranks`."""

    name: str
    CG: list[Number] = Field(description="Cumulative gain")
    DCG: list[Number]
    nCG: list[Number]  # noqa: N815 (as the papers write it)
    nDCG: list[Number]  # noqa: N815
    precision_recall: list[Number] = Field(description="Interpolated precision at recall 0, 0.1, ..., 1")


class GainVectorsResult(TopicsResult):
    """Gain by rank."""

    kind: Literal["gain-vectors"]
    runs: list[CurvesOfOneRun]  # type: ignore[assignment]
    metric: str = Field(description="The metric whose parameters all curves have")
    ranks: list[int] = Field(description="The ranks of all curves")

    def verdict(self) -> str:
        best = max(self.runs, key=lambda run: run.nDCG[-1] or 0)
        mean = f"{said(best.nDCG[-1])} over {counted(self.topics, 'topic')}"
        return f"At rank {self.ranks[-1]:,}, {best.name} has the highest mean nDCG, {mean}."

    def tables(self) -> Sequence[Table]:
        """Return all curves by rank, and precision by recall."""
        by_rank = [
            (run.name, *row)
            for run in self.runs
            for row in zip(self.ranks, run.CG, run.DCG, run.nCG, run.nDCG, strict=True)
        ]
        by_recall = [(run.name, *run.precision_recall) for run in self.runs]
        return (
            Table(
                "gain-by-rank",
                f"Mean gain at each rank, with the parameters of {self.metric}.",
                (Column("run"), Column("rank"), *(Column(name, digits=4) for name in CURVES)),
                by_rank,
            ),
            Table(
                "precision-recall",
                "Interpolated precision at the eleven points of recall.",
                (Column("run"), *(Column(f"{recall:g}", digits=4, group="recall") for recall in RECALL)),
                by_recall,
            ),
        )

    def _curve(self, name: str, title: str, x: Sequence[float], axis: Axis) -> Figure:
        key = name.replace("-", "_")
        style: Any = "line+points" if name == "precision-recall" else "line"
        series = [Series(run.name, x, getattr(run, key), style=style) for run in self.runs]
        label = label_of_curve(self, name) if name in CURVES else f"parameters of {self.metric}"
        caption = f"{title} by {axis.title}, mean over {self.topics} topics: {label}."
        return Figure(name, caption, (Panel(axis, Axis(title, limits=(0, None)), series),))

    def figures(self) -> Sequence[Figure]:
        """Return one figure for each curve."""
        ranks = Axis("rank")
        curves = [self._curve(name, name, self.ranks, ranks) for name in CURVES]
        recall = Axis("recall", limits=(0, 1))
        return (*curves, self._curve("precision-recall", "interpolated precision", RECALL, recall))


@enter
class GainVectors(Analysis[GainVectorsParams, GainVectorsResult]):
    """CG, DCG, nCG and nDCG at every rank, averaged over topics, under the parameters and the cut-off of `metric`."""

    name = "gain-vectors"
    title = "Gain by rank"
    question = "which-runs"
    needs_judgments = by_replicate = True
    summary = "How much each run gains down its ranking, as curves of CG, DCG, nCG and nDCG averaged over the topics."

    def __init__(self, matrices: Matrices, params: GainVectorsParams) -> None:
        super().__init__(matrices, params)
        label = params.metric()
        self._metric = matrices.metric(label)
        self._defined = matrices.defined(label)
        if not matrices.run_count:
            raise refuse(
                "runs", "too-few-runs", "No runs are selected, so there is nothing to draw. Select at least one run."
            )
        assert isinstance(self._metric.cutoff, int)
        ranks = matrices.run_count * self._metric.cutoff
        require_at_most(MOST_RANKS, ranks, "ranks over all runs, with four numbers each", "cutoff")
        if not self._defined.any():
            raise refuse(
                "gains",
                "too-few-topics",
                f"{label} is not defined for any topic: none has a relevant document that counts. Choose another "
                "metric or threshold.",
            )

    def parts(self) -> list[float]:
        return [len(self._defined) * SECONDS_A_TOPIC] * self.matrices.run_count

    def work(self, part: int) -> Arrays:
        cutoff = self._metric.cutoff
        assert isinstance(cutoff, int)
        settled = self._metric.parameters
        curves = self.matrices.curves(part, settled["rel"], settled["condensed"])
        gained = curves.gain(settled["gains"], settled["base"], cutoff)
        return {**gained, "precision_recall": curves.precision_recall()}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        missing = [self.matrices.topics[topic] for topic in np.flatnonzero(~self._defined)]
        assert isinstance(self._metric.cutoff, int)
        return {
            "topics": int(self._defined.sum()),
            "topics_left_out": missing,
            "left_out_because": "nothing relevant, or an ideal ranking that is worth nothing" if missing else None,
            "metric": self._metric.label,
            "ranks": list(range(1, self._metric.cutoff + 1)),
            "runs": [
                CurvesOfOneRun(name=run.name, **{name: values.tolist() for name, values in arrays.items()})
                for run, arrays in zip(self.matrices.runs, findings, strict=True)
            ],
        }


def label_of_curve(result: GainVectorsResult, name: str) -> str:
    """Return the label of CG, DCG, nCG or nDCG with the parameters of the curves, to the last rank."""
    # Only DCG and nDCG discount, so the parameters of CG and nCG lack the base.
    label: str = result.metric if name.endswith("DCG") else without(result.metric, "base")
    return label.replace("nDCG", name, 1)
