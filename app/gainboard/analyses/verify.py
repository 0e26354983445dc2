"""verify: a stored result computed again, and compared number by number with what was stored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import ConfigDict, Field

from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.params import AnyParams
from gainboard.analyses.result_models import JobResult, ResultModel, Shown, fields, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Column, Table

TOLERANCE: Final = 1e-12
"""The largest relative difference of two numbers that are equal except in their last digits."""
ABSENT: Final = "(not there)"
MOST_SHOWN = 20
"""The most differences that a result lists."""
SECONDS_A_COMPARISON = 0.1
Outcome = Literal["identical", "equal", "different", "not-comparable"]
_ORDER: Sequence[Outcome] = ("identical", "equal", "not-comparable", "different")


class VerifyParams(AnyParams):
    """The result of a job or report, computed again from what is stored, and compared with the stored result.

    `POST /v1/jobs/{job}/verify` and `POST /v1/reports/{report}/verify` ask for it. It has the parameters of the
    verified job, and depends on the libraries that compute: after an upgrade, the same request is another job.
    """

    model_config = ConfigDict(defer_build=True)

    job: str | None = Field(None, description="The id of the job; null for a report")
    report: str | None = Field(None, description="The id of the report; null for a job")
    kind: str = Field(description="The kind of the job, or the name of the report")
    params: dict[str, Any] = Field(description="The parameters of the job or report")
    results: dict[str, str] = Field(description="The SHA-256 of each stored result that is verified, by its id")
    environment: str = Field(description="The versions of what computes it again")


class Difference(ResultModel):
    """A place where the two results differ."""

    place: Annotated[str, Shown()] = Field(description="Where in the result: names and positions, joined by `.`")
    stored: Any
    computed: Any


class ResultComparison(ResultModel):
    """A stored result beside the one that was computed again."""

    id: Annotated[str, Shown()] = Field(description="The id of the job or report")
    kind: Annotated[str, Shown()] = Field(description="The kind of the job, or the name of the report")
    sha256: str = Field(description="SHA-256 of the stored result")
    outcome: Outcome
    message: Annotated[str, Shown("outcome")]
    numbers: Annotated[int, Shown()] = Field(description="How many numbers of the results were compared")
    differing: Annotated[int, Shown()] = Field(description="How many of them differ at all")
    largest: Annotated[float | None, Shown()] = Field(
        description="The largest relative difference of two numbers; null if none differs"
    )
    differences: list[Difference] = Field(description=f"The first {MOST_SHOWN} differences beyond the tolerance")


class VerifyResult(JobResult):
    """The outcome for each result that was computed again."""

    kind: Literal["verify"]
    outcome: Outcome = Field(description="The worst of the outcomes")
    message: str
    environment: str = Field(description="The versions of what computed it again")
    compared: list[ResultComparison]

    def verdict(self) -> str:
        return self.message

    def tables(self) -> Sequence[Table]:
        """Return the table of the results, and the table of the places that differ."""
        columns = fields(ResultComparison, "kind", "message", "numbers", "differing", "largest", "id")
        about = f"Stored results, computed again by {self.environment}."
        verified = table(columns, "verified", about, self.compared)
        differences = [
            (comparison.kind, difference, str(difference.stored), str(difference.computed))
            for comparison in self.compared
            for difference in comparison.differences
        ]
        if not differences:
            return (verified,)
        form = (Column("kind"), Difference, Column("stored"), Column("computed"))
        about = f"The first {MOST_SHOWN} differences of each result."
        return (verified, table(form, "differences", about, differences))


@dataclass(frozen=True)
class Recomputation:
    """A stored result, and how its parts are computed again. `made_by` tells why that is impossible, if it is."""

    id: str
    kind: str
    sha256: str
    stored: Callable[[], bytes] = field(repr=False)
    parts: Sequence[float] = field(repr=False)
    work: Callable[[int], Arrays] = field(repr=False)
    result: Callable[[Sequence[Arrays]], bytes] = field(repr=False)
    made_by: str | None = None

    def compare(self, findings: Sequence[Arrays]) -> ResultComparison:
        """Return the comparison of the stored result with the one of these findings."""
        if self.made_by is not None:
            return self._comparison("not-comparable", self.made_by, Comparing())
        stored, computed = self.stored(), self.result(findings)
        comparing = Comparing() if stored == computed else compare(json.loads(stored), json.loads(computed))
        return self._comparison(comparing.outcome, comparing.message, comparing)

    def _comparison(self, outcome: Outcome, message: str, comparing: Comparing) -> ResultComparison:
        return ResultComparison(
            id=self.id,
            kind=self.kind,
            sha256=self.sha256,
            outcome=outcome,
            message=message,
            numbers=comparing.numbers,
            differing=comparing.differing,
            largest=comparing.largest,
            differences=comparing.differences,
        )


class Comparing:
    """The differences of two JSON values."""

    def __init__(self) -> None:
        self.numbers = self.differing = self._others = 0
        self.largest: float | None = None
        self.differences: list[Difference] = []

    @property
    def outcome(self) -> Outcome:
        """Return how the values compare."""
        if self._others:
            return "different"
        return "equal" if self.differing else "identical"

    @property
    def message(self) -> str:
        """Return the outcome as a sentence's end: `The result is ...`."""
        if self._others:
            what = "1 value differs" if self._others == 1 else f"{self._others} values differ"
            return f"different: {what} by more than {TOLERANCE:g} relative"
        if self.differing:
            digits = f"{self.differing} of {self.numbers} numbers differ in the last digits"
            return f"equal to {TOLERANCE:g} relative ({digits})"
        return "identical"

    def walk(self, stored: Any, computed: Any, place: str = "") -> None:
        """Add the differences of two values at a place."""
        if isinstance(stored, dict) and isinstance(computed, dict):
            for name in dict.fromkeys((*stored, *computed)):
                # A member that is not there is no null.
                self.walk(stored.get(name, ABSENT), computed.get(name, ABSENT), f"{place}.{name}" if place else name)
        elif isinstance(stored, list) and isinstance(computed, list) and len(stored) == len(computed):
            for index, (one, other) in enumerate(zip(stored, computed, strict=True)):
                self.walk(one, other, f"{place}.{index}" if place else str(index))
        elif _is_number(stored) and _is_number(computed):
            self._numbers(stored, computed, place)
        # In Python, true equals 1.
        elif stored != computed or isinstance(stored, bool) != isinstance(computed, bool):
            self._note(stored, computed, place)

    def _numbers(self, stored: float, computed: float, place: str) -> None:
        self.numbers += 1
        if stored == computed:
            return
        self.differing += 1
        try:
            relative = abs(stored - computed) / max(abs(stored), abs(computed))
        except OverflowError:  # a count beyond the range of numbers
            relative = math.inf
        if math.isfinite(relative):
            self.largest = max(self.largest or 0.0, relative)
        # Counts have no last digits.
        if (isinstance(stored, int) and isinstance(computed, int)) or not relative <= TOLERANCE:
            self._note(stored, computed, place)

    def _note(self, stored: Any, computed: Any, place: str) -> None:
        self._others += 1
        if len(self.differences) < MOST_SHOWN:
            self.differences.append(Difference(place=place, stored=_short(stored), computed=_short(computed)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> Any:
    if isinstance(value, list | dict):
        return f"{type(value).__name__} of {len(value)}"
    return value


def compare(stored: Any, computed: Any) -> Comparing:
    """Return the differences of two results, as JSON values."""
    comparing = Comparing()
    comparing.walk(stored, computed)
    return comparing


@enter
class Verification(Analysis[VerifyParams, VerifyResult]):
    """The parts of all results that are verified, one after the other."""

    name = "verify"
    title = "Verification"
    question = "collection"
    summary = "Computes a stored result again, and tells whether it is the same."
    is_offered = False

    def __init__(self, matrices: Matrices, params: VerifyParams, again: Sequence[Recomputation] = ()) -> None:
        super().__init__(matrices, params)
        self._again = again
        self._places = [(result, part) for result in again for part in range(len(result.parts))]

    def parts(self) -> Sequence[float]:
        return [cost for result in self._again for cost in result.parts] or [SECONDS_A_COMPARISON]

    def work(self, part: int) -> Arrays:
        if not self._places:
            return {"nothing": np.zeros(0)}
        again, part_of_result = self._places[part]
        return again.work(part_of_result)

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        parts = iter(findings)
        compared = [again.compare([next(parts) for _ in again.parts]) for again in self._again]
        worst = max((comparison.outcome for comparison in compared), key=_ORDER.index)
        messages = list(dict.fromkeys(comparison.message for comparison in compared if comparison.outcome == worst))
        return {
            "outcome": worst,
            "message": messages[0] if len(messages) == 1 else worst,
            "environment": self.params.environment,
            "compared": compared,
        }
