"""Quotas hold when everything comes at once; `python -m tests.proofs.quotas` is the long form, of a hundred uploads."""

from tests.proofs.quotas import one_round


def test_of_many_uploads_at_once_exactly_the_quota_is_stored(on_both):
    assert one_round(on_both, "total", 25) == []


def test_of_many_uploads_at_once_exactly_the_quota_of_a_day_is_stored(shared):
    assert one_round(shared, "per_day", 25) == []
