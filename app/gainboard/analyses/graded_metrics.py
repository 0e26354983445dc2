"""The parameters of reliability-of-graded-metrics, and the paper's metrics and gain settings on one collection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Annotated

from pydantic import Field

from gainboard.analyses import stability
from gainboard.analyses.gain_robustness import default_settings
from gainboard.analyses.paper_tables import Names
from gainboard.analyses.params import DrawCount, Expression, Metrics, Seeds
from gainboard.analyses.report_kinds import (
    About,
    Cutoffs,
    PerCollection,
    ReportParams,
    SubsetSize,
    TopRuns,
    default_gains,
)
from gainboard.metrics import Scale, resolve, without
from gainboard.metrics.gains import format_number

CUTOFFS = (10, 100, 1000)
BASE = 2.0
CUMULATIVE = {"nCG": False, "AnCG": False, "nDCG": True, "AnDCG": True}
"""The metrics with a cut-off, and whether they discount."""
RELAXED, RIGID, Q = "Relaxed AveP", "Rigid AveP", "Q-measure"
PAPERS = [Q, "R-measure", *(f"{each}{cutoff}" for each in CUMULATIVE for cutoff in CUTOFFS)]
"""The paper's graded metrics, in the order of its letters."""


class GradedMetricsParams(ReportParams):
    """The reliability of 10 binary metrics (relaxed and rigid AP, R-precision, and precision at 10, 100 and 1000) and
    14 graded ones (Q-measure, R-measure; nCG, AnCG, nDCG and AnDCG at 10, 100 and 1000). Figures 3 and 4 and Table 1
    show stability. Tables 2 and 3 show the differences required for a swap rate of 5 %. Tables 4 to 7 and Figure 5 show
    rank correlations and mean scores. Figure 6 and Tables 8 and 9 show other gain settings. Table 10 shows whether the
    sign test, the minority rate and the swap rate agree. Stability and swaps are those of the top runs by AP,
    correlations those of all runs.

    For relaxed metrics every level above 0 is relevant, for rigid ones all except the lowest of these. Gains are 3:2:1;
    the other settings are 1:1:1, 10:5:1 and `adjust(3:2:1)`. With other numbers of levels they are formed from
    h:...:2:1, and `exp` replaces 10:5:1. With binary levels there are no rigid metrics and no other gain settings.
    Metrics whose cut-off exceeds the collection's depth are left out. Table 1 groups metrics in bands of 0.05, and
    those that lie below or above a minority rate of 5 % at every fuzziness by themselves. Its second part ranks all
    metrics at an equal minority rate.

    `gains`, `base`, `cutoffs` and `metrics` put others in place of the paper's. Swap rates are computed under several
    seeds. Marks of Table 8 that change under any of them are in italics, and
    notes name the metrics that may be first in Tables 2 and 3.
    """

    top: PerCollection[TopRuns] = Field(
        30, description="Number of runs of the stability, swap and test experiments: the best by AP"
    )
    metrics: Metrics | None = Field(
        None, description="Graded metrics in place of the paper's 14", examples=[["Q", "nDCG@20", "ERR@20"]]
    )
    gains: PerCollection[Expression] | None = Field(
        None, description="The default gain setting; by default h:...:2:1", examples=["10:5:1"]
    )
    base: Annotated[float, Field(gt=1, le=1e100)] = Field(BASE, description="The log base of nDCG and AnDCG")
    cutoffs: Cutoffs = Field(list(CUTOFFS), description="Cut-offs of precision, nCG, AnCG, nDCG and AnDCG")
    trials: DrawCount = Field(1000, description="Number of topic subsets, and of pairs of topic sets")
    subset_size: PerCollection[SubsetSize] | None = Field(
        None, description="Number of topics in a subset; by default half of the topics"
    )
    replacement: bool = Field(False, description="Whether the sets of topics for swaps are drawn with replacement")
    fuzziness: stability.Fuzziness = Field(
        [0.0, *stability.FUZZINESS],
        description="Relative differences below which two runs are tied: the paper's, and 0, so that more curves cross "
        "a minority rate of 5 %",
    )
    seeds: Seeds = 5


@dataclass(frozen=True)
class GradedMetricsDesign:
    """The experiments on one collection: the request, and what the collection can have of it."""

    about: About
    asked: GradedMetricsParams

    @property
    def gains(self) -> str:
        """The default gain setting."""
        return default_gains(self.asked, self.about)

    @property
    def settings(self) -> Names:
        """The gain settings by name, the default first. Those that equal an earlier one are left out."""
        _, flat, steep, _ = default_settings(self.about.highest_level)
        adjusted = {"adjust": f"adjust({self.gains})"} if re.fullmatch(r"[\d.:]+", self.gains) else {}
        settings: dict[str, str] = {}
        for name, gains in {"default": self.gains, "flat": flat, "steep": steep, **adjusted}.items():
            if gains not in settings.values():
                settings[name] = gains
        return settings

    @property
    def cutoffs(self) -> list[int]:
        """The cut-offs that the collection's rankings have."""
        return [cutoff for cutoff in self.asked.cutoffs if cutoff <= self.about.depth]

    def binary(self) -> Names:
        """Return relaxed metrics, then rigid ones, as far as the collection has levels and depth."""
        shapes = {"AveP": "AP{}", "R-Prec": "Rprec{}"} | {f"PDoc{cutoff}": f"P{{}}@{cutoff}" for cutoff in self.cutoffs}
        sides = {"Relaxed": "", "Rigid": "(rel=2)"} if self.about.highest_level > 1 else {"Relaxed": ""}
        return {
            f"{side} {name}": shape.format(threshold)
            for side, threshold in sides.items()
            for name, shape in shapes.items()
        }

    def graded(self, gains: str | None = None) -> Names:
        """Return the graded metrics under a gain setting, by default the default one."""
        gains = gains or self.gains
        scale = Scale(self.about.highest_level, self.about.depth, self.about.intents)
        if self.asked.metrics:
            expressions = (without(expression, "gains") for expression in self.asked.metrics)
            labels = [resolve(expression, scale, defaults={"gains": gains}).label for expression in expressions]
            return {without(label, "gains"): label for label in labels}
        blended = {Q: f"Q(beta=1,gains={gains})", "R-measure": f"Rmeasure(beta=1,gains={gains})"}
        base = f"base={format_number(self.asked.base)},"
        return blended | {
            f"{name}{cutoff}": f"{name}({base if discounts else ''}gains={gains})@{cutoff}"
            for name, discounts in CUMULATIVE.items()
            for cutoff in self.cutoffs
        }

    def every(self) -> Names:
        """Return the binary metrics, then the graded ones."""
        return {**self.binary(), **self.graded()}

    def named(self) -> list[str]:
        """Return the graded metrics of Table 10 and Figure 5: Q, AnDCG and nDCG at the largest cut-off.

        With other metrics than the paper's, these are the first three.
        """
        if self.asked.metrics:
            return list(self.graded())[:3]
        return [Q, *(f"{name}{cutoff}" for cutoff in self.cutoffs[-1:] for name in ("AnDCG", "nDCG"))]

    def tested(self) -> Names:
        """Return the metrics of Table 10."""
        every = self.every()
        return {name: every[name] for name in (RELAXED, *self.named()[:2])}

    def lettered(self) -> Names:
        """Return the rows and columns of Tables 6 and 7, with the paper's letters if they are its metrics."""
        order = PAPERS if set(self.graded()) <= set(PAPERS) else list(self.graded())
        letters = {name: f"({letter}) {name}" for letter, name in zip(ascii_uppercase, order, strict=False)}
        return {name: letters.get(name, name) for name in self.graded()}
