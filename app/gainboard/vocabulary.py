"""The vocabulary that rings share: words of requests, answers and stored rows, and what is light to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Role = Literal["organiser", "participant", "reader"]
ScoresShown = Literal["none", "own-mean", "own-per-topic", "all"]
Parameters = Literal["preset", "free"]
Late = Literal["closed", "marked", "open"]
LateShown = Literal["include", "exclude"]
Resample = Literal["topics", "topics+replicates"]
Action = Literal[
    "collection-created",
    "collection-changed",
    "collection-released",
    "collection-deleted",
    "collection-imported",
    "qrels-drafted",
    "qrels-published",
    "qrels-discarded",
    "judgments-released",
    "judgments-hidden",
    "judgments-deleted",
    "run-uploaded",
    "run-changed",
    "run-described",
    "run-withdrawn",
    "runs-pruned",
    "backup-taken",
    "team-created",
    "team-deleted",
    "topic-group-put",
    "topic-group-deleted",
    "topic-groups-replaced",
    "score-matrix-uploaded",
    "score-matrix-deleted",
    "nuggets-drafted",
    "nuggets-published",
    "nuggets-discarded",
    "answers-judged",
    "answers-deleted",
    "token-created",
    "token-rotated",
    "token-revoked",
    "signed-in",
    "sign-in-refused",
    "signed-out",
    "release-frozen",
    "job-launched",
    "job-cancelled",
    "job-deleted",
    "report-launched",
    "report-cancelled",
    "report-deleted",
    "admin-token-set",
    "first-token-made",
]
Phase = Literal["hidden", "released"]
CollectionKind = Literal["judged", "scores"]
"""A collection has judgments and runs, which are scored here, or it has scores that were computed elsewhere."""
ProcessKind = Literal["server", "worker"]
THESE_TASKS: Final = "these tasks alone: intervals describe other tasks like these"
"""The sample that the topics of a collection of scores are, unless its organisers say something else."""
Direction = Literal["up", "down"]
DirectionSaid = Literal["up", "down", "higher", "lower"]
"""A direction in a request: `higher` and `lower` scores are better under `up` and `down`."""
LEAVE_OUT: Final = "leave-out"
"""The rule for missing scores that leaves their cells empty: means are over the cells that are there."""
Columns = Literal[
    "trec",
    "topic-document-level",
    "topic-level-document",
    "topic-document",
    "trec-stratum",
    "topic-intent-document-level",
]
"""The columns of a file of judgments."""
OFFICIAL: Final = "official"
"""The judgment set of every request that names none. It is always there, and its release is the collection's."""
FROM_QRELS: Final = "from-qrels"
"""A value in place of a list of topics: it means the topics of the newest published qrels, as they are now."""
SetState = Phase
"""A judgment set is hidden until it is released, as a collection is."""
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled", "damaged"]
"""The state of a job or report. None is stored as `damaged`: its row cannot be read."""

DerivedKind = Literal["figures", "layout"]
"""Kinds of jobs that serve the service itself. Nobody asks for them, and nobody sees them (`jobs/derived_files.py`)."""
Origin = Literal["computed", "imported", "verified"]
"""A result was computed here, or it was imported, or it was imported and computed again here with the same numbers."""
OrderBy = Literal["score", "score32", "rank"]
"""The source of a document's rank: its retrieval score, this score in single precision, or the rank in the file."""
MatrixForm = Literal["json", "csv", "trec_eval"]
Stray = Literal["refuse", "count"]
"""A label of nuggets or answers that is none of the known ones is a fault, or it counts as nothing."""
DesignMethod = Literal["t-test", "anova", "interval", "detect"]
Verdict = Literal["not worse", "worse", "cannot tell"]
Combination = Literal["holm", "all", "any"]
Names = Literal["gainboard", "ir_measures", "trec_eval", "ntcireval", "ndeval"]
"""The tools whose names an expression may use."""
Standardisation = Literal["normal", "linear", "empirical"]
"""The forms of standardised scores (`statistics/means.py`)."""
TiesAsked = Literal["range", "expected"]
"""Scores of tied runs: from the worst to the best order, or expected over all orders."""


@dataclass(frozen=True)
class Variant:
    """A metric that gives a number as a tool prints it, but for departures from the tool.

    `difference` is how far the mean is away, of several runs the furthest. Unless `is_given`, nothing gives the number,
    and this is nearest. `jointly`: the tool gives all numbers of the request in the same order, topics and rounding.
    """

    number: str
    expression: str
    tool: str
    name: str
    departures: list[str]
    order: str
    topics: str
    rounding: str
    difference: float
    is_given: bool
    jointly: bool = True


DECIMALS: Final = 12
"""Scores, their means and differences are equal if they agree to so many decimals: this decides all ties and orders.

The same numbers added in another order differ in their last bits. Unrounded, about half of the true ties of a metric
such as P@10 would be missed.
"""


def round_score(score: float) -> float:
    """Return a score or a mean as it is compared. Arrays are rounded by `round_scores` of `statistics/means.py`."""
    # NumPy's `round` multiplies first, which turns the largest uploaded scores into infinity.
    return round(score, DECIMALS)


OF_ANSWERS: Final = ("nuggets", "support")
"""The families of metrics of answers. Their scores follow from verdicts, and are stored as matrices of reserved names:
`nuggets--vital_strict`, and `nuggets--vital_strict--JUDGE` unless the judge is the official one."""


def is_of_answers(matrix: str) -> bool:
    """Return whether a score matrix has the scores of answers, so that nobody uploads it by itself."""
    return matrix.startswith(tuple(f"{family}--" for family in OF_ANSWERS))


def judge_of_matrix(matrix: str) -> str | None:
    """Return the judge whose verdicts the scores of a score matrix follow from; None if they follow from none."""
    return (matrix.split("--", 2)[2:] or [OFFICIAL])[0] if is_of_answers(matrix) else None


def metric_of_matrix(matrix: str) -> str:
    """Return the expression of a score matrix: `custom:NAME`, or of answers `nuggets:vital_strict(judge=JUDGE)`."""
    if not is_of_answers(matrix):
        return f"custom:{matrix}"
    family, metric, *judge = matrix.split("--", 2)
    return f"{family}:{metric}" + (f"(judge={judge[0]})" if judge else "")


def label_of_matrix(matrix: str, version: int) -> str:
    """Return the label of a version of a score matrix, which always means the same scores."""
    metric = metric_of_matrix(matrix)
    return f"{metric[:-1]},version={version})" if metric.endswith(")") else f"{metric}(version={version})"


class RunOrder(NamedTuple):
    """The order of a run's lines: what determines a rank, and whether a line may be left out.

    With `ignore_identical_ids`, lines whose document id is their topic's are left out, before ranks and depth.
    """

    order_by: OrderBy = "score"
    ignore_identical_ids: bool = False

    def __str__(self) -> str:
        """Return the order for messages: "score", or "score without documents that are named like their topic"."""
        return self.order_by + (" without documents that are named like their topic" * self.ignore_identical_ids)
