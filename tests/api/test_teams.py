"""Teams: who sees which, and what they have."""

from tests.world.campaigns import judged


def listed(campaign, client=None):
    items = campaign.get("/teams", client).json()["items"]
    return [{key: value for key, value in each.items() if key != "created_at"} for each in items]


def test_until_the_release_a_participant_sees_its_own_team_and_a_reader_none(on_both):
    campaign = judged(on_both)
    own, reader = campaign.client("participant", "own"), campaign.client("reader")
    assert listed(campaign, own) == [{"name": "own", "runs": 0, "tokens": None}]
    assert listed(campaign, reader) == []
    hidden, absent = campaign.get("/teams/lemur", own), campaign.get("/teams/absent", own)
    assert hidden.text == absent.text.replace("absent", "lemur")
    campaign.release()
    names = [[each["name"] for each in listed(campaign, client)] for client in (own, reader)]
    assert names == [["lemur", "own"]] * 2
