"""Teams: who sees which, and what they have."""

from tests.world.campaigns import WORSE, Campaign, judged, refused


def listed(campaign, client=None):
    """Teams as they are shown, without their times."""
    items = campaign.get("/teams", client).json()["items"]
    return [{key: value for key, value in each.items() if key != "created_at"} for each in items]


def test_organisers_see_the_live_runs_and_tokens_of_every_team(on_both):
    campaign = judged(on_both)
    campaign.submit(WORSE)
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


def test_a_team_is_made_once(on_both):
    campaign = Campaign(on_both)
    answer = campaign.organiser.post(f"{campaign.path}/teams", json={"name": "lynx"})
    assert answer.status_code == 201
    assert campaign.organiser.get(answer.headers["location"]).json() == answer.json()
    again = campaign.organiser.post(f"{campaign.path}/teams", json={"name": "lynx"})
    assert refused(again) == (409, "team-exists")
    assert listed(campaign) == [{"name": "lynx", "runs": 0, "tokens": 0}]


def test_teams_come_in_pages_by_name(campaign):
    for name in ("c", "B", "a"):
        campaign.organiser.post(f"{campaign.path}/teams", json={"name": name})
    first = campaign.get("/teams", limit=2)
    assert [each["name"] for each in first.json()["items"]] == ["B", "a"]
    second = campaign.get("/teams", limit=2, cursor=first.json()["next_cursor"])
    assert [each["name"] for each in second.json()["items"]] == ["c"]


def test_a_name_that_is_none_is_refused(campaign):
    for sent in ({"name": "a/b"}, {"name": ""}, {}, {"name": "a", "more": 1}):
        assert refused(campaign.organiser.post(f"{campaign.path}/teams", json=sent)) == (422, "invalid-request")
