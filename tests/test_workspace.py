"""What is kept in memory between requests."""

from __future__ import annotations

from app.evaluation.workspace import Recent


def test_the_longest_unused_value_goes_first() -> None:
    recent: Recent[str, int] = Recent(2)
    for key in ("a", "b"):
        recent.keep(key, ord(key))
    assert recent.find("a") == ord("a")
    recent.keep("c", 0)
    assert [recent.find(key) for key in "abc"] == [ord("a"), None, 0]


def test_what_is_kept_is_bounded_by_its_weight_but_for_the_last_value() -> None:
    recent: Recent[str, str] = Recent(10, len)
    for key, size in (("a", 4), ("b", 5), ("b", 6), ("c", 3)):
        recent.keep(key, "x" * size)
    assert [recent.find(key) is not None for key in "abc"] == [False, True, True]
    recent.keep("d", "x" * 99)
    assert [recent.find(key) is not None for key in "abcd"] == [False, False, False, True]


def test_a_value_is_made_once() -> None:
    recent: Recent[int, list[int]] = Recent(1)
    assert recent.get(1, lambda: [1]) is recent.get(1, lambda: [2])
