"""Metrics in bands of their proportion of ties."""

from __future__ import annotations

from typing import Any

from gainboard.work.reports.reliability_of_graded_metrics import bands


def metric(name: str, ties: float | None, crossed: bool = True) -> dict[str, Any]:
    return {"metric": name, "ties_at_5_percent": ties, "crossed": crossed}


def test_a_band_has_its_lower_end_and_only_the_last_one_its_upper_end() -> None:
    found = [
        metric("P@10", 1.0),
        metric("AP", 0.05),
        metric("RR", None),
        metric("Q", 0.049),
        metric("P@5", 0.96, False),
    ]
    assert bands(found, "web").rows == [
        ("web", "0.00 to 0.05", "Q 0.049"),
        ("web", "0.05 to 0.10", "AP 0.050"),
        ("web", "0.95 to 1.00", "P@5 0.960*, P@10 1.000"),
        ("web", "never at 5 %", "RR"),
    ]
