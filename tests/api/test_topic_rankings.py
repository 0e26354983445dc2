"""The levels that runs found for a topic, rank by rank."""

from urllib.parse import quote

import pytest

from tests.world.campaigns import judged, run_text

QRELS = "1 0 a 2\n1 0 b 0\n1 0 c 1\n1 0 d 2\n1 0 e -1\n2 0 a 1\nw/x 0 a 1\n"


@pytest.fixture(scope="module")
def campaign(shared):
    campaign = judged(
        shared,
        run_text({"1": ["b", "new", "a", "e", "c"], "w/x": ["a"]}, "long"),
        qrels=QRELS,
        levels=["partial", "full"],
    )
    campaign.submit(run_text({"2": ["a"]}, "other"), team="second")
    return campaign


def test_the_ranks_and_levels_of_each_run_and_of_the_ideal_ranking_are_those_by_hand(campaign):
    found = campaign.read("/topics/1/rankings")
    long, other = found["runs"]
    assert (long["retrieved"], long["ranks"], long["levels"]) == (5, [1, 3, 4, 5], [0, 2, -1, 1])
    assert (other["name"], other["team"], other["retrieved"], other["ranks"]) == ("other", "second", 0, [])
    assert (found["ideal"], found["judged_below_0"]) == ([2, 2, 1], 1)
    judged = [(each["level"], each["name"], each["documents"]) for each in found["judged"]]
    assert judged == [(2, "full", 2), (1, "partial", 1), (0, "L0", 1)]


def test_a_topic_may_have_a_slash_in_its_name(campaign):
    for path in ("w/x", quote("w/x", safe="")):
        assert campaign.get(f"/topics/{path}/rankings").json()["runs"][0]["levels"] == [1]
