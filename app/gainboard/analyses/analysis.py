"""An analysis: parts that can be computed anywhere and in any order, and a result made from what they found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from numpy.typing import NDArray

from gainboard.analyses.params import AnyParams
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.store.database import Transaction

Arrays = Mapping[str, NDArray[Any]]
"""The findings of a part: arrays by name."""
P = TypeVar("P", bound=AnyParams)


class Analysis(ABC, Generic[P]):
    """One analysis of one selection of runs, by settled parameters. The constructor raises BadInput, before anything is
    scored, if the analysis is impossible as asked.

    Three rules hold for every analysis. `parts` depends only on parameters and sizes, never on scores. `work` returns
    the same bytes for a part in every process, in any order, now or after a crash. `result` depends only on the
    findings of the parts. A job therefore has the same result for any number of processes.
    """

    compares_pairs: ClassVar[bool] = False
    """True if runs are compared in pairs. Then the result names near-duplicates among them, which distort it."""

    def __init__(self, matrices: Matrices, params: P) -> None:
        self.matrices, self.params = matrices, params

    @abstractmethod
    def parts(self) -> Sequence[float]:
        """Return the parts, each as a rough estimate of its cost in seconds of one core."""

    @abstractmethod
    def work(self, part: int) -> Arrays:
        """Return the findings of the part with this number: at least one array."""

    @abstractmethod
    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        """Return the fields of the kind's model of a result, from the findings of all parts, in their order.

        Undefined numbers are NaN. The fields of every result are not among them.
        """


class Change(Analysis[P]):
    """An analysis whose result is a change of the collection, made in the transaction that ends the job.

    Either the change is made and the job has succeeded, or neither. `result` describes the change. It may also do what
    the parts could not, because it sees what has been stored in the meantime.
    """

    @abstractmethod
    def lock(self, tx: Transaction, principal: Principal) -> None:
        """Lock the collection. Raise Forbidden or NotFound if the principal who asked may no longer change it."""

    @abstractmethod
    def apply(self, tx: Transaction, principal: Principal) -> bool:
        """Make the change that the last `result` has described, in a transaction that has locked the collection.

        Return False, and change nothing, if that is out of date. Then `result` must be called again.
        """
