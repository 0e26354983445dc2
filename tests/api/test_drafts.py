"""Corrections of qrels: drafted, published, taken back, discarded."""

from tests.world.campaigns import OTHER_QRELS, QRELS, WORSE, Campaign, judged, refused
from tests.world.laboratories import SHORT, qrels_text, rotated

FIRST, OTHER = {"1": 1.0, "2": 0.5}, {"1": 0.5, "2": 1.0}


def by_topic(campaign, **query):
    return campaign.scores("AP", topics="all", run="tag", **query)["runs"][0]["topics"]["AP"]


def versions(campaign, name):
    """What is said of each version, which is the same in the list and alone."""
    listed = campaign.read("/qrels")["items"]
    assert [campaign.read(f"/qrels/{each['version']}") for each in listed] == listed
    return [each[name] for each in listed]


def unjudged(campaign):
    return [run["unjudged_share"] for run in campaign.read("/runs")["items"]]


def test_a_draft_answers_nobody_until_it_is_published_and_judges_the_runs_that_came_meanwhile(on_both):
    campaign = judged(on_both)
    campaign.draft()
    assert refused(campaign.put_qrels("1 0 d x\n", draft=True)) == (422, "faulty-file")
    for text, version in ((QRELS, 1), (OTHER_QRELS, 2)):  # the newest version's bytes, or those of a draft
        again = campaign.put_qrels(text, draft=True)
        assert (again.status_code, again.json()["version"]) == (200, version)
    assert (versions(campaign, "state"), versions(campaign, "in_use")) == (["published", "draft"], [True, False])
    assert campaign.read("")["qrels_version"] == campaign.scores("AP")["qrels_version"] == 1
    assert (by_topic(campaign), by_topic(campaign, qrels=2)) == (FIRST, OTHER)
    campaign.submit(WORSE)
    assert campaign.publish(2).json() == campaign.publish(2).json()
    assert (versions(campaign, "in_use"), unjudged(campaign)) == ([False, True], [0.0, 0.2])
    assert (by_topic(campaign), by_topic(campaign, qrels=1)) == (OTHER, FIRST)
    campaign.draft(OTHER_QRELS + "3 0 good 1\n")
    campaign.discard(3)
    entries = campaign.read("/audit")["items"]
    said = [(each["action"], each["subject"]) for each in entries if each["action"].startswith("qrels-")]
    steps = ("published", "1"), ("drafted", "2"), ("published", "2"), ("drafted", "3"), ("discarded", "3")
    assert said == [(f"qrels-{action}", version) for action, version in steps]


def test_a_collection_with_a_draft_alone_has_no_scores_and_fixed_settings(on_both):
    campaign = Campaign(on_both)
    campaign.draft()
    assert refused(campaign.change(levels=3)) == (409, "setting-fixed")
    campaign.discard(1)
    assert campaign.change(levels=3).status_code == 200
    campaign.draft()
    campaign.submit()
    assert refused(campaign.get("/scores")) == (409, "no-qrels")
    assert by_topic(campaign, qrels=2) == OTHER
    assert campaign.put_qrels(OTHER_QRELS).json()["version"] == 3  # the same bytes as the draft's


def test_a_discarded_draft_is_gone_with_its_number_and_its_jobs(on_both):
    campaign = Campaign(on_both, levels=3)
    for number in range(3):
        campaign.submit(rotated(number))
    campaign.draft(qrels_text())
    asked = {"kind": "stability", "params": {**SHORT, "qrels": 1, "trials": 100_000}}
    job = campaign.organiser.post(f"{campaign.path}/jobs", json=asked)
    assert (job.status_code, campaign.discard(1).status_code) == (202, 204)
    gone = campaign.organiser.get(job.headers["location"]), campaign.get("/qrels/1"), campaign.get("/scores", qrels=1)
    for answer in (*gone, campaign.publish(1), campaign.discard(1)):
        assert refused(answer) == (404, "not-found")
    assert campaign.organiser.get("/v1/jobs", params={"collection": campaign.name}).json()["items"] == []
    assert campaign.draft()["version"] == 2
