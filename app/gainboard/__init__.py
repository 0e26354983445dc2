"""Gainboard: evaluation of information retrieval with graded relevance, as a service, a client and a function.

`gainboard.score(qrels, runs, ["Q", "nDCG@10"])` scores files, frames and dictionaries, `leaderboard` ranks them, and
`compare` tests their differences, `gate` says whether a new run is worse, and `table` makes the table of a paper.
`gainboard.client` has `Gainboard`, the client of a service; `Gainboard.local()` starts one for this process alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gainboard.evaluation.boards.file_boards import FileBoard, FilePairs, compare, gate, leaderboard, table
    from gainboard.evaluation.boards.gates import Gate
    from gainboard.evaluation.boards.paper_tables import MeansTable
    from gainboard.evaluation.scoring.file_scores import FileScores, score

__version__ = "0.2.0"
__all__ = ["FileBoard", "FilePairs", "FileScores", "Gate", "MeansTable", "__version__"]
__all__ += ["compare", "gate", "leaderboard", "score", "table"]


def __getattr__(name: str) -> Any:
    # Each command and each process imports this package, and few of them score by these functions.
    if name in ("score", "FileScores"):
        from gainboard.evaluation.scoring import file_scores  # noqa: PLC0415

        return getattr(file_scores, name)
    if name in __all__:
        from gainboard.evaluation.boards import file_boards  # noqa: PLC0415

        return getattr(file_boards, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
