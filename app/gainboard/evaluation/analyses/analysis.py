"""What an analysis is: parts that can be worked anywhere and in any order, and a result made of what they found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.principals import Principal
from gainboard.store.database import Transaction

Arrays = Mapping[str, NDArray[Any]]
"""What a part found: arrays by name."""


class Analysis(ABC):
    """One analysis of one selection of runs. Making one raises BadInput where it cannot be done as asked.

    What holds for every analysis: `parts` follows from parameters and sizes alone, without any score; `work`
    gives the same bytes for a part whoever works it, alone or after others, now or after a crash; and `result`
    depends on nothing but what was found. So a job is the same whatever the number of its processes.
    """

    def __init__(self, matrices: Matrices) -> None:
        self.matrices = matrices

    @abstractmethod
    def parts(self) -> Sequence[float]:
        """The parts, each as a rough estimate of its cost in seconds of one core."""

    @abstractmethod
    def work(self, part: int) -> Arrays:
        """What the part of this number comes to: at least one array."""

    @abstractmethod
    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        """The answer, of JSON values (NaN for undefined), from what all parts found, in their order."""


class Change(Analysis):
    """An analysis whose result is a change of the collection, made in the transaction that ends the job.

    So either the change is there and the job has succeeded, or neither. `result` says what will be changed, and may
    do what the parts could not: it depends on what is stored by then, too.
    """

    @abstractmethod
    def lock(self, tx: Transaction, principal: Principal) -> None:
        """Lock the collection. Raises what the principal who asked is to be told, who may no longer change it."""

    @abstractmethod
    def apply(self, tx: Transaction, principal: Principal) -> bool:
        """Make the change that the last `result` has said, in a transaction that has locked the collection.

        Return False, and change nothing, where that no longer holds: then `result` is to be made again.
        """
