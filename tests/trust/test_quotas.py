"""Quotas hold when everything comes at once; `python -m tests.proofs.quotas` is the long form."""

from __future__ import annotations

import pytest

from tests.conftest import Service
from tests.proofs.quotas import one_round


@pytest.mark.parametrize("quota", ["total", "per_day"])
def test_of_a_hundred_uploads_at_once_exactly_the_quota_is_stored(service: Service, quota: str) -> None:
    assert one_round(service, quota) == []
