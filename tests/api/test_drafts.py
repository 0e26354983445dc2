"""Corrections of qrels: drafted, published, taken back, discarded."""

from tests.world.campaigns import OTHER_QRELS, QRELS, RUN, WORSE, Campaign, judged, refused, run_text
from tests.world.laboratories import SHORT, qrels_text, rotated


def by_topic(campaign, **query):
    """The scores of the run `tag`, topic by topic."""
    return campaign.scores("AP", topics="all", run="tag", **query)["runs"][0]["topics"]["AP"]


def test_nobody_is_answered_by_a_draft_unless_an_organiser_names_it(on_both):
    campaign = judged(on_both)
    made = campaign.draft()
    assert (made["version"], made["state"], made["published_at"]) == (2, "draft", None)
    assert made["in_use"] is False
    made |= {"receipt": None}
    assert campaign.get("/qrels/2").json() == made == campaign.get("/qrels").json()["items"][1]
    assert campaign.get("").json()["qrels_version"] == campaign.scores("AP")["qrels_version"] == 1
    assert by_topic(campaign) == {"1": 1.0, "2": 0.5}
    assert by_topic(campaign, qrels=2) == {"1": 0.5, "2": 1.0}


def test_the_bytes_of_the_newest_version_or_of_a_draft_make_no_other_draft(on_both):
    campaign = judged(on_both)
    made = campaign.draft()
    for text, version in ((QRELS, 1), (OTHER_QRELS, 2)):
        again = campaign.put_qrels(text, draft=True)
        assert (again.status_code, again.json()["version"]) == (200, version)
    assert campaign.get("/qrels/2").json() == {**made, "receipt": None}
    published = campaign.put_qrels(OTHER_QRELS)
    assert (published.status_code, published.json()["version"], published.json()["state"]) == (201, 3, "published")


def test_a_collection_with_a_draft_alone_has_no_scores_and_fixed_settings(on_both):
    campaign = Campaign(on_both)
    campaign.draft()
    campaign.submit()
    assert refused(campaign.get("/scores")) == (409, "no-qrels")
    assert campaign.get("").json()["qrels_version"] is None
    assert by_topic(campaign, qrels=1) == {"1": 0.5, "2": 1.0}
    alone = Campaign(on_both)
    alone.draft()
    assert refused(alone.change(levels=3)) == (409, "setting-fixed")
    alone.discard(1)
    assert alone.change(levels=3).status_code == 200


def test_one_version_is_in_use(on_both):
    def in_use():
        listed = campaign.get("/qrels").json()["items"]
        assert [campaign.get(f"/qrels/{each['version']}").json() for each in listed] == listed
        return [each["in_use"] for each in listed]

    campaign = Campaign(on_both)
    campaign.draft()
    assert in_use() == [False]
    assert campaign.put_qrels().json()["in_use"] is True
    assert in_use() == [False, True]
    assert campaign.publish(1).json()["in_use"] is True
    assert in_use() == [True, False]
    campaign.release(public=True)
    listed = campaign.get("/qrels", on_both.anonymous).json()["items"]
    assert [(each["version"], each["in_use"]) for each in listed] == [(1, True), (2, False)]


def test_a_faulty_draft_is_refused_and_nothing_stored(on_both):
    campaign = judged(on_both)
    assert refused(campaign.put_qrels("1 0 d x\n", draft=True)) == (422, "faulty-file")
    assert len(campaign.get("/qrels").json()["items"]) == 1


def test_a_published_draft_answers_and_has_judged_the_runs_that_came_meanwhile(on_both):
    campaign = judged(on_both)
    campaign.draft()
    campaign.submit(WORSE)
    answer = campaign.publish(2)
    assert (answer.status_code, answer.json()["state"], answer.json()["version"]) == (200, "published", 2)
    assert [run["unjudged_share"] for run in campaign.get("/runs").json()["items"]] == [0.0, 0.2]
    assert campaign.scores("AP")["qrels_version"] == 2
    assert (by_topic(campaign), by_topic(campaign, qrels=1)) == ({"1": 0.5, "2": 1.0}, {"1": 1.0, "2": 0.5})


def test_publishing_the_newest_version_changes_nothing(on_both):
    campaign = judged(on_both)
    before = campaign.get("/qrels/1").json()
    assert campaign.publish(1).json() == before == campaign.get("/qrels/1").json()


def test_an_older_version_answers_again_with_the_jobs_it_had(on_both):
    campaign = judged(on_both, RUN, WORSE)
    first = campaign.get("/leaderboard").json()
    campaign.put_qrels(OTHER_QRELS)
    late = run_text({"1": ["good"], "2": ["good"]}, "late")
    campaign.submit(late)
    assert campaign.publish(1).status_code == 200
    assert [run["unjudged_share"] for run in campaign.get("/runs").json()["items"]] == [0.0, 0.25, 0.4]
    campaign.organiser.delete(f"{campaign.path}/runs/late")
    assert {**campaign.get("/leaderboard").json(), "changed_at": None} == {**first, "changed_at": None}
    assert campaign.put_qrels(QRELS).status_code == 200
    assert campaign.put_qrels(OTHER_QRELS).json()["version"] == 3


def test_a_discarded_draft_is_gone_and_its_number_too(on_both):
    campaign = judged(on_both)
    campaign.draft()
    assert campaign.discard(2).status_code == 204
    for answer in (campaign.get("/qrels/2"), campaign.get("/scores", qrels=2), campaign.publish(2)):
        assert refused(answer) == (404, "not-found")
    assert refused(campaign.discard(2)) == (404, "not-found")
    assert refused(campaign.discard(1)) == (409, "conflict")
    assert campaign.draft()["version"] == 3
    assert len(campaign.get("/qrels").json()["items"]) == 2


def test_the_jobs_about_a_discarded_draft_are_gone(on_both):
    campaign = Campaign(on_both, levels=3)
    for number in range(3):
        campaign.submit(rotated(number))
    campaign.draft(qrels_text())
    asked = {"kind": "stability", "params": {**SHORT, "qrels": 1, "trials": 100_000}}
    job = campaign.organiser.post(f"{campaign.path}/jobs", json=asked)
    assert job.status_code == 202
    campaign.discard(1)
    assert refused(campaign.organiser.get(job.headers["location"])) == (404, "not-found")
    assert campaign.organiser.get("/v1/jobs", params={"collection": campaign.name}).json()["items"] == []


def test_the_audit_log_says_what_became_of_drafts(on_both):
    campaign = judged(on_both)
    campaign.draft()
    campaign.publish(2)
    campaign.publish(2)
    campaign.put_qrels(OTHER_QRELS + "3 0 good 1\n", draft=True)
    campaign.discard(3)
    entries = campaign.get("/audit").json()["items"]
    said = [(each["action"], each["subject"]) for each in entries if each["action"].startswith("qrels-")]
    steps = ("published", "1"), ("drafted", "2"), ("published", "2"), ("drafted", "3"), ("discarded", "3")
    assert said == [(f"qrels-{action}", version) for action, version in steps]
