"""The short form of the soak: a few kills at random moments."""

from __future__ import annotations

from tests.proofs.jobs import soak


def test_nothing_is_lost_or_stored_twice_whatever_is_killed(migrated_url: str) -> None:
    assert soak(migrated_url, kills=2) == []


def test_nothing_is_lost_or_stored_twice_in_a_fleet(empty_postgres: str) -> None:
    assert soak(empty_postgres, kills=2, workers=2) == []
