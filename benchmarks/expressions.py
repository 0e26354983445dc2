"""The 43 metrics that everything here is timed with: every family, and cut-offs from 1 to the whole ranking."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from benchmarks.data import LEVELS, TREC
from gainboard.metrics import BoundMetric, Scale, resolve
from gainboard.metrics.expressions import trec_eval_name

EXPRESSIONS = (
    *(
        "AP",
        "AP@100",
        "AP(rel=2)",
        "AP(condensed=true)",
        "Rprec",
        "RR",
        "P@5",
        "P@10",
        "P@20",
        "P@100",
        "Recall@100",
        "Recall@1000",
    ),
    *("Q", "Q@10", "Q@100", "Q(condensed=true)", "Rmeasure", "O-measure", "P-measure", "Pplus"),
    *("CG@10", "DCG@10", "nCG@10", "nCG@100", "nDCG@1", "nDCG@5", "nDCG@10", "nDCG@20", "nDCG@100", "nDCG@1000"),
    *("AnCG@10", "AnDCG@10", "AnDCG@1000", "MSnDCG@10", "MSnDCG(gains=linear)@10", "MSnDCG(gains=linear)@1000"),
    *("AWP", "RWP", "genAP", "genP@10", "WRR", "NWRR", "ADM"),
)
SCALE = Scale(LEVELS, TREC.retrieved)
_SHARED_BESIDES = {"Rprec": "Rprec", "ndcg": f"MSnDCG(gains=linear)@{TREC.retrieved}"}
"""trec_eval's names that are not aliases: `ndcg` reads the whole ranking, which ends here at the depth."""


def parameters() -> Iterator[dict[str, str]]:
    """Yield gains, beta and base that nobody has asked for yet, without end."""
    for step, top in product(range(1, 10_000), (4, 5, 7, 9)):
        yield {"gains": f"{top}.{step:04}:3:1", "beta": f"{top}.{step:04}", "base": f"2.{step:04}"}


def bound(query: dict[str, str]) -> list[BoundMetric]:
    """Return the 43 metrics under these parameters."""
    return [resolve(expression, SCALE, defaults=query) for expression in EXPRESSIONS]


def shared_with_trec_eval() -> dict[str, str]:
    """Return our labels of the metrics that trec_eval defines alike, by its names."""
    named = {trec_eval_name(metric, SCALE): metric.label for metric in bound({})}
    return {name: label for name, label in named.items() if name} | _SHARED_BESIDES
