"""The short form of the soak: a few kills at random moments."""

from __future__ import annotations

from tests.proofs.jobs import soak


def test_nothing_is_lost_or_stored_twice_whatever_is_killed(database_url: str) -> None:
    assert soak(database_url, kills=3) == []


def test_nothing_is_lost_or_stored_twice_in_a_fleet(postgres_schema_url: str) -> None:
    assert soak(postgres_schema_url, kills=4, workers=2) == []
