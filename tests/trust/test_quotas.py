"""Quotas hold when everything comes at once."""

from collections import Counter
from functools import partial

import pytest

from tests.api.test_races import at_once
from tests.thorough import SHARE
from tests.world.campaigns import Campaign, run_text

UPLOADS, QUOTA = 25 if SHARE < 1 else 100, 5


@pytest.mark.parametrize("quota", ["total", "per_day"])
def test_of_many_uploads_at_once_exactly_the_quota_is_stored(on_both, quota):
    campaign = Campaign(on_both, policy={"quotas": {quota: QUOTA}})
    own = campaign.client("participant", "own")
    texts = [run_text({"1": [f"d{number}"]}, f"r{number}") for number in range(UPLOADS)]
    answers = at_once([partial(campaign.submit, text, own) for text in texts])
    assert Counter(answer.status_code for answer in answers) == {201: QUOTA, 403: UPLOADS - QUOTA}
    assert len(campaign.get("/runs", limit=500).json()["items"]) == QUOTA
    assert own.get("/v1/me/limits").json()["submissions_left"] == 0
