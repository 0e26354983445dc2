"""The agreement of a run's ranks with its scores, ties among the scores, and the warnings about both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.findings import FileWarning


@dataclass(slots=True)
class RankAgreement:
    """Counts over the topics of a run.

    A document is tied if another document of its topic has the same score. The ranks of a topic contradict its scores
    if a document has a better rank than another one with a higher score; how equal scores are ranked does not matter.
    """

    documents: int = 0
    """All documents."""
    tied: int = 0
    """Tied documents of topics with several scores."""
    with_ties: int = 0
    """Topics with several scores, some of them equal."""
    all_equal: int = 0
    """Topics of at least two documents, all with the same score."""
    contradicting: int = 0
    """Topics whose ranks contradict the scores."""
    example: int | None = None
    """The line of the first document, in order of score, that is ranked above one with a higher score."""

    def add(self, other: RankAgreement) -> None:
        """Add the counts of topics that come later in the file."""
        for name in (field.name for field in fields(self) if field.name != "example"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if self.example is None:
            self.example = other.example

    def warnings(self, order_by: str) -> Iterator[FileWarning]:
        """Yield the warnings, each with the number of topics. Ties do not matter to an order by ranks."""
        if order_by != "rank" and self.with_ties:
            share = f"{100 * self.tied / self.documents:.1f} % of the documents"
            message = f"{share} have the same score as another one of their topic. Document ids decide their order"
            yield FileWarning("tied-scores", message, self.with_ties)
        if order_by != "rank" and self.all_equal:
            message = "All documents of a topic have the same score. Document ids alone decide their order"
            yield FileWarning("all-scores-equal", message, self.all_equal)
        if self.contradicting:
            used, other = ("ranks", "score") if order_by == "rank" else ("scores", "rank")
            message = (
                f"A document has a better rank than another one with a higher score, first on line {self.example}. "
                f"The {used} are used; a collection with order_by={other} would use the {other}s"
            )
            yield FileWarning("rank-contradicts-score", message, self.contradicting)


def compare(keys: NDArray[Any], ranks: NDArray[np.int64] | None) -> tuple[RankAgreement, int | None]:
    """Compare the scores of one topic, best first, with the ranks of the same documents.

    `keys` are the scores as they are compared, [documents]. `ranks` int64 [documents] is None if the rank column holds
    anything but integers. Return the counts of the topic, and the place of the example for `Agreement.example`.
    """
    found = RankAgreement(documents=len(keys))
    same = keys[1:] == keys[:-1]
    if same.any():
        found.all_equal = int(same.all())
        if not found.all_equal:
            found.with_ties = 1
            found.tied = int(np.count_nonzero(np.append(same, False) | np.insert(same, 0, False)))
    if ranks is None or not (ranks[1:] < ranks[:-1]).any():
        return found, None
    groups = np.insert(np.cumsum(~same), 0, 0)
    last_of_group = np.maximum.accumulate(ranks)[np.append(~same, True)]
    before = np.insert(last_of_group, 0, np.iinfo(np.int64).min)[groups]
    places = np.flatnonzero(ranks < before)
    found.contradicting = int(bool(places.size))
    return found, int(places[0]) if places.size else None
