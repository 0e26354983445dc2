"""Qrels versions: read in each layout, published, given back."""

import pytest

from tests.world.campaigns import OTHER_QRELS, QRELS, WORSE, Campaign, judged, refused


def test_the_bytes_of_the_newest_version_make_no_new_one_those_of_an_older_do(on_both):
    campaign = Campaign(on_both)
    answers = [campaign.put_qrels(text) for text in (QRELS, QRELS, OTHER_QRELS, QRELS)]
    assert [(each.status_code, each.json()["version"]) for each in answers] == [(201, 1), (200, 1), (201, 2), (201, 3)]


def test_a_run_that_came_after_a_version_was_replaced_is_judged_by_it_when_asked(on_both):
    campaign = judged(on_both)
    campaign.put_qrels(OTHER_QRELS)
    campaign.submit(WORSE)
    for _ in range(2):
        old = campaign.scores("AP", "ADM", qrels=1)
        assert [run["name"] for run in old["runs"]] == ["tag", "worse"]
        assert old["runs"][1]["mean"]["AP"] == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_settings_that_files_were_read_under_stay(on_both):
    for fill in (Campaign.put_qrels, Campaign.submit):
        campaign = Campaign(on_both, levels=["B", "A"])
        assert campaign.change(levels=["C1", "B1", "A1"], depth=10).status_code == 200
        assert campaign.change(levels=["B", "A"], depth=1000).status_code == 200
        fill(campaign)
        for setting in ({"levels": 2}, {"levels": ["A", "B"]}, {"depth": 10}, {"depth": 10, "order_by": "rank"}):
            assert refused(campaign.change(**setting)) == (409, "setting-fixed")
        assert campaign.change(levels=["B", "A"], depth=1000, title="new", gains="3:1").status_code == 200
