"""Teams: who sees which, and what they have."""

from tests.world.campaigns import RUN, WORSE, judged


def listed(campaign, client=None):
    """Teams as they are shown, without their times."""
    items = campaign.get("/teams", client).json()["items"]
    return [{key: value for key, value in each.items() if key != "created_at"} for each in items]


def test_organisers_see_the_live_runs_and_tokens_of_every_team(on_both):
    campaign = judged(on_both, RUN, WORSE)
    campaign.submit(WORSE, team="other", name="theirs")
    assert campaign.organiser.delete(f"{campaign.path}/runs/tag").status_code == 204
    campaign.client("participant", "lemur")
    sent = {"role": "participant", "team": "lemur"}
    revoked = campaign.organiser.post(f"{campaign.path}/tokens", json=sent).json()["id"]
    assert campaign.organiser.delete(f"{campaign.path}/tokens/{revoked}").status_code == 204
    assert listed(campaign) == [{"name": "lemur", "runs": 1, "tokens": 1}, {"name": "other", "runs": 1, "tokens": 0}]


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
