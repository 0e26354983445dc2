"""The rows of the answer: what was measured, beside whom, against which target; as a table and as JSON."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, ParamSpec

from benchmarks.processes import Spent

P = ParamSpec("P")
_PACKAGES = ("numpy", "sqlalchemy", "fastapi", "uvicorn", "uvloop", "httpx", "numba", "pytrec-eval-terrier")
_COLUMNS = {"what": 84, "ours": 10, "CPU": 10, "peer": 10, "ratio": 7, "target": 11, "verdict": 7}


@dataclass(frozen=True)
class Target:
    """A target: the value that the figure of a row should reach."""

    bound: float
    at_most: bool = True

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.bound:g}"

    def is_met(self, figure: float) -> bool:
        """Return whether the figure is on the right side of the bound."""
        return figure <= self.bound if self.at_most else figure >= self.bound


def at_least(bound: float) -> Target:
    """Return the target of a figure that should be large."""
    return Target(bound, at_most=False)


@dataclass(frozen=True)
class Row:
    """One line of the table: medians in seconds or bytes, and the median of the ratios of each repetition.

    `ours` is on the clock, `cpu` is the CPU time of our process, and `peer` is what the ratio compares either with.
    """

    what: str
    ours: float
    peer: float | None = None
    ratio: float | None = None
    target: Target | None = None
    unit: str = "s"
    cpu: float | None = None

    @property
    def figure(self) -> float:
        """The number that the target is about: the ratio, else the CPU time, else the row's own number."""
        if self.ratio is not None:
            return self.ratio
        return self.ours if self.cpu is None else self.cpu

    @property
    def verdict(self) -> str:
        """A word that says if the target is met; empty without a target."""
        return "" if self.target is None else "met" if self.target.is_met(self.figure) else "missed"


def timed(action: Callable[P, object], *arguments: P.args, **keywords: P.kwargs) -> float:
    """Return the seconds that the action took."""
    began = time.perf_counter()
    action(*arguments, **keywords)
    return time.perf_counter() - began


def cpu_timed(action: Callable[P, object], *arguments: P.args, **keywords: P.kwargs) -> float:
    """Return the seconds of this process's CPU that the action took: others on the machine are not in them."""
    began = time.process_time()
    action(*arguments, **keywords)
    return time.process_time() - began


def costs(what: str, ours: Sequence[float], peer: Sequence[float], target: Target | None = None) -> Row:
    """Return a row whose ratio is our seconds over theirs, repetition by repetition: the smaller, the better."""
    ratio = median(a / b for a, b in zip(ours, peer, strict=True)) if peer else None
    return Row(what, median(ours), median(peer) if peer else None, ratio, target if peer else None)


def speed(what: str, ours: Sequence[float], peer: Sequence[float], target: Target | None = None) -> Row:
    """Return a row whose ratio is our speed over theirs, repetition by repetition: the larger, the better."""
    ratio = median(b / a for a, b in zip(ours, peer, strict=True)) if peer else None
    return Row(what, median(ours), median(peer) if peer else None, ratio, target if peer else None)


def cpu_cost(what: str, spent: Sequence[Spent], target: Target | None = None) -> Row:
    """Return a row that is judged by its CPU time; without a verdict where that is not counted."""
    cpu = median_cpu(spent)
    return Row(what, median(each.wall for each in spent), cpu=cpu, target=None if cpu is None else target)


def cpu_ratio(what: str, ours: Sequence[Spent], peer: Sequence[Spent], target: Target | None = None) -> Row:
    """Return a row whose ratio is our CPU time over theirs, turn by turn; of the clock where CPU is not counted."""
    pairs = [
        (a.wall, b.wall) if a.cpu is None or b.cpu is None else (a.cpu, b.cpu) for a, b in zip(ours, peer, strict=True)
    ]
    theirs, ratio = median(b for _, b in pairs), median(a / b for a, b in pairs)
    return Row(what, median(each.wall for each in ours), theirs, ratio, target, cpu=median_cpu(ours))


def median_cpu(spent: Sequence[Spent]) -> float | None:
    """Return the median of the CPU times; None where they are not counted."""
    known = [each.cpu for each in spent if each.cpu is not None]
    return median(known) if known else None


class Report:
    """The rows so far, each of which is printed as it comes, and sentences about what is missing."""

    def __init__(self, is_judged: bool) -> None:
        """Print the head of the table; `is_judged` says whether rows have verdicts."""
        self._is_judged = is_judged
        self.rows: list[Row] = []
        self.missing: list[str] = []
        self.failed: list[str] = []
        _print_line(list(_COLUMNS))
        _print_line(["-" * width for width in _COLUMNS.values()])

    def add(self, rows: Iterable[Row]) -> None:
        """Print each row as soon as it is measured."""
        for row in rows:
            self.rows.append(row)
            _print_line([*_cells(row), row.verdict if self._is_judged else ""])

    def as_json(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """Return everything in numbers, with the machine and the versions that it was measured with."""
        shown = [asdict(row) | {"target": str(row.target or ""), "verdict": row.verdict} for row in self.rows]
        return {
            "settings": dict(settings),
            "machine": machine(),
            "missing": self.missing,
            "failed": self.failed,
            "rows": shown,
        }


def machine() -> dict[str, str]:
    """Return the processor and the versions that matter."""
    found = {"processor": f"{os.cpu_count()} x {_processor()}", "python": platform.python_version()}
    return found | {name: _version(name) for name in _PACKAGES}


def show_seconds(seconds: float) -> str:
    """Return seconds in the unit that is read best."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def _print_line(cells: Sequence[str]) -> None:
    padded = (cell.ljust(width) for cell, width in zip(cells, _COLUMNS.values(), strict=True))
    print(f"| {' | '.join(padded)} |", flush=True)


def _cells(row: Row) -> list[str]:
    cpu = "" if row.cpu is None else show_seconds(row.cpu)
    peer = "" if row.peer is None else _show(row.peer, row.unit)
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}" if row.ratio < 1000 else f"{row.ratio:,.0f}"
    return [row.what, _show(row.ours, row.unit), cpu, peer, ratio, _show_target(row)]


def _show_target(row: Row) -> str:
    if row.target is None or row.ratio is not None:
        return str(row.target or "")
    return f"{'<=' if row.target.at_most else '>='} {_show(row.target.bound, row.unit)}"


def _show(value: float, unit: str) -> str:
    if unit == "s":
        return show_seconds(value)
    if abs(value) >= 1e7:
        return f"{value / 1e6:,.0f} MB"
    return f"{value / 1e3:,.0f} KB" if abs(value) >= 1e3 else f"{value:.3g} B"


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
