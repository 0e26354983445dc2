"""The rows of the answer: what was measured, beside whom, against which target; as a table and as JSON."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, ParamSpec

P = ParamSpec("P")
_PACKAGES = ("numpy", "sqlalchemy", "fastapi", "uvicorn", "uvloop", "httpx", "pytrec-eval-terrier")


@dataclass(frozen=True)
class Target:
    """What a row should reach: its ratio or, where it has none, its own figure."""

    bound: float
    at_most: bool = True

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.bound:g}"

    def met(self, figure: float) -> bool:
        """Whether the figure is on the right side."""
        return figure <= self.bound if self.at_most else figure >= self.bound


@dataclass(frozen=True)
class Row:
    """One line: medians in seconds or bytes, and the median of the ratios of each repetition."""

    what: str
    ours: float
    peer: float | None = None
    ratio: float | None = None
    target: Target | None = None
    unit: str = "s"

    @property
    def figure(self) -> float:
        """What the target is about."""
        return self.ours if self.ratio is None else self.ratio


def timed(action: Callable[P, object], *arguments: P.args, **keywords: P.kwargs) -> float:
    """The seconds that the action took."""
    began = time.perf_counter()
    action(*arguments, **keywords)
    return time.perf_counter() - began


def costs(what: str, ours: Sequence[float], peer: Sequence[float], target: Target | None = None) -> Row:
    """A row whose ratio is our seconds over theirs, repetition by repetition: the smaller, the better."""
    ratio = median(a / b for a, b in zip(ours, peer, strict=True)) if peer else None
    return Row(what, median(ours), median(peer) if peer else None, ratio, target if peer else None)


def speed(what: str, ours: Sequence[float], peer: Sequence[float], target: Target | None = None) -> Row:
    """A row whose ratio is our speed over theirs, repetition by repetition: the larger, the better."""
    ratio = median(b / a for a, b in zip(ours, peer, strict=True)) if peer else None
    return Row(what, median(ours), median(peer) if peer else None, ratio, target if peer else None)


def table(rows: Sequence[Row], judged: bool) -> str:
    """The rows in Markdown; `judged` says of each whether its target was met."""
    head = ["what", "ours", "peer", "ratio", "target", *(["verdict"] if judged else [])]
    body = [[*_cells(row), *([_verdict(row)] if judged else [])] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = [head, ["-" * width for width in widths], *body]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def as_json(rows: Sequence[Row], missing: Sequence[str], settings: Mapping[str, object]) -> dict[str, Any]:
    """Everything in numbers, with the machine and the versions that it was measured with."""
    shown = [asdict(row) | {"target": str(row.target) if row.target else None} for row in rows]
    return {"settings": dict(settings), "machine": machine(), "missing": list(missing), "rows": shown}


def machine() -> dict[str, str]:
    """The processor and the versions that matter."""
    found = {"processor": f"{os.cpu_count()} x {_processor()}", "python": platform.python_version()}
    return found | {name: _version(name) for name in _PACKAGES}


def _cells(row: Row) -> list[str]:
    peer = "" if row.peer is None else _shown(row.peer, row.unit)
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    return [row.what, _shown(row.ours, row.unit), peer, ratio, _bound(row)]


def _bound(row: Row) -> str:
    if row.target is None:
        return ""
    is_size = row.ratio is None and row.unit == "B"
    return (
        f"{'<=' if row.target.at_most else '>='} {_shown(row.target.bound, row.unit)}" if is_size else str(row.target)
    )


def _shown(value: float, unit: str) -> str:
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"
    return f"{value / 1e3:,.0f} KB" if abs(value) >= 1e4 else f"{value:.3g} B"


def _verdict(row: Row) -> str:
    return "" if row.target is None else "met" if row.target.met(row.figure) else "missed"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
