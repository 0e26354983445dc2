"""Presets over HTTP: wherever metrics are listed, and nowhere else."""

from tests.world.campaigns import Campaign, judged, refused

GUIDELINE = [
    "AP",
    "Q(beta=1,gains=2:1)", "Q(beta=10,gains=2:1)", "nDCG(base=2,gains=2:1)@1000",
    "Q(beta=1,gains=exp)", "Q(beta=10,gains=exp)", "nDCG(base=2,gains=exp)@1000",
]  # fmt: skip
"""What `sakai2006` names on the two levels of a campaign."""


def test_scores_are_those_of_the_metrics_named(shared):
    campaign = judged(shared)
    found = campaign.scores("RR", "sakai2006")
    assert found["metrics"] == ["RR", *GUIDELINE]
    assert list(found["asked"].values()) == found["metrics"]
    assert found["asked"]["nDCG(base=2,gains=2:1)"] == "nDCG(base=2,gains=2:1)@1000"
    assert found["runs"] == campaign.scores("RR", *GUIDELINE)["runs"]


def test_hidden_judgments_are_scored_under_the_preset_of_the_policy_and_no_more(shared):
    campaign = Campaign(shared, topics=["1", "2"], policy={"presets": ["sakai2006"]})
    campaign.put_qrels()
    team = campaign.client("participant", "own")
    campaign.submit(client=team)
    assert campaign.get("/scores", team).json()["metrics"] == GUIDELINE
    for named in ("sakai2006", *GUIDELINE):
        assert campaign.get("/scores", team, metric=named).status_code == 200
    for other in ("Q(beta=2)", "nDCG(gains=2:1)@10", "AP@10", "Q(gains=3:1)", "RR"):
        assert refused(campaign.get("/scores", team, metric=other)) == (403, "not-a-preset")
    assert refused(campaign.get("/scores", team, metric="sakai2006", rel=2)) == (403, "not-a-preset")
    assert team.get("/v1/me/limits").json()["answers_left"] == 200 - 7
