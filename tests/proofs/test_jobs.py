"""The short form of the soak: a few kills at random moments."""

from tests.proofs.jobs import soak


def test_nothing_is_lost_or_stored_twice_whatever_is_killed(migrated_url):
    assert soak(migrated_url, kills=2) == []


def test_nothing_is_lost_or_stored_twice_in_a_fleet(empty_postgres):
    assert soak(empty_postgres, kills=2, workers=2) == []
