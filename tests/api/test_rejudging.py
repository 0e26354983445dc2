"""Another order of a collection's runs: asked for, published as a new version, and the old one under its number."""

from tests.world.campaigns import QRELS, Campaign, judged, refused
from tests.world.laboratories import after_work

DOUBLE, SINGLE, RANK = [1.0, 1.0], [0.5, 0.5], [0.5, 1.0]
"""Reciprocal ranks on both topics of the run below, by what decides a document's rank."""


def near(tag):
    """A run whose scores differ beyond single precision only, so that ties go by id; and its ranks on topic 1."""
    rows = (("1", "good", 2, "0.50000000001"), ("1", "zebra", 1, "0.5"), ("2", "good", 1, "0.7000000000001"))
    lines = [f"{topic} Q0 {document} {rank} {score} {tag}\n" for topic, document, rank, score in rows]
    return "".join([*lines, f"2 Q0 zebra 2 0.7 {tag}\n"])


def unranked(tag):
    return f"1 Q0 good 1 0.9 {tag}\n1 Q0 bad 1 0.8 {tag}\n"


def near_campaign(service, **settings):
    return judged(service, near("near"), **settings)


def ask(campaign, order_by="score32", client=None):
    sent = {"kind": "rejudge", "params": {"order_by": order_by}}
    return (client or campaign.organiser).post(f"{campaign.path}/jobs", json=sent)


def rejudged(campaign, asked):
    assert asked.status_code in (200, 202), asked.text
    return after_work(campaign, asked.headers["location"])


def done(campaign, asked):
    job = rejudged(campaign, asked)
    assert job["state"] == "succeeded", job["error"]
    return campaign.organiser.get(job["result_url"]).json()


def ranks(campaign, run="near", **query):
    found = campaign.scores("RR", run=run, topics="all", **query)["runs"][0]
    (by_topic,) = found["topics"].values()
    return list(by_topic.values())


def versions(campaign):
    return {each["version"]: (each["state"], each["order_by"]) for each in campaign.get("/qrels").json()["items"]}


def test_the_order_changes_and_every_version_keeps_its_own_for_runs_that_come_later_too(on_both):
    campaign = near_campaign(on_both)
    assert ranks(campaign) == DOUBLE
    answer = campaign.change(order_by="score32")
    assert (answer.status_code, answer.json()["order_by"]) == (202, "score")
    result = done(campaign, answer)
    assert (result["order_by"], result["qrels_version"], result["published_version"]) == ("score32", 1, 2)
    assert result["reordered"] == [{"name": "near", "team": "lemur", "topics": 2}]
    assert versions(campaign) == {1: ("published", "score"), 2: ("published", "score32")}
    assert campaign.get("").json()["order_by"] == "score32"
    assert (ranks(campaign), ranks(campaign, qrels=1)) == (SINGLE, DOUBLE)
    assert campaign.get("/qrels/2").json()["sha256"] == campaign.get("/qrels/1").json()["sha256"]
    assert campaign.submit(near("late")).status_code == 201
    assert (ranks(campaign, "late"), ranks(campaign, "late", qrels=1)) == (SINGLE, DOUBLE)
    assert campaign.put_qrels().status_code == 200
    assert campaign.put_qrels(QRELS + "2 0 zebra 0\n").json()["order_by"] == "score32"
    assert ranks(campaign) == SINGLE


def itself(tag):
    """A run that retrieves first, for each topic, the document of the topic's id."""
    return "".join(
        f"{topic} Q0 {id} {rank} {-rank} {tag}\n" for topic in "12" for rank, id in enumerate((topic, "good"))
    )


def test_documents_that_are_named_like_their_topics_are_left_out_once_the_runs_are_judged_again(on_both):
    campaign = judged(on_both, itself("itself"))
    assert ranks(campaign, "itself") == [0.5, 0.5]
    together = campaign.change(ignore_identical_ids=True, title="other")
    assert refused(together) == (409, "setting-fixed")
    assert 'Send {"ignore_identical_ids": true} alone' in together.json()["detail"]
    result = done(campaign, campaign.change(ignore_identical_ids=True))
    assert (result["order_by"], result["ignore_identical_ids"], result["published_version"]) == ("score", True, 2)
    assert campaign.get("").json()["ignore_identical_ids"] is True
    assert [each["ignore_identical_ids"] for each in campaign.get("/qrels").json()["items"]] == [False, True]
    assert (ranks(campaign, "itself"), ranks(campaign, "itself", qrels=1)) == ([1.0, 1.0], [0.5, 0.5])
    assert campaign.submit(itself("later"), team="other").status_code == 201
    assert (ranks(campaign, "later"), ranks(campaign, "later", qrels=1)) == ([1.0, 1.0], [0.5, 0.5])
    # A change of the order alone keeps it, and both can be changed together.
    assert done(campaign, campaign.change(order_by="score32"))["ignore_identical_ids"] is True
    assert done(campaign, campaign.change(order_by="score", ignore_identical_ids=False))["published_version"] == 4
    assert ranks(campaign, "itself") == [0.5, 0.5]


def test_until_a_version_is_published_the_order_changes_at_once(shared):
    campaign = Campaign(shared)
    assert campaign.submit(near("near")).status_code == 201
    assert campaign.change(order_by="rank").json()["order_by"] == "rank"
    campaign.draft(QRELS)
    assert ranks(campaign, qrels=1) == RANK
    assert campaign.change(order_by="score32").status_code == 200
    assert versions(campaign) == {2: ("draft", "score32")}
    assert ranks(campaign, qrels=2) == SINGLE
    assert refused(ask(campaign, "rank")) == (409, "no-qrels")


def test_drafts_are_followed_by_drafts_in_the_new_order(on_both):
    campaign = near_campaign(on_both)
    campaign.draft("1 0 zebra 1\n2 0 good 1\n")
    done(campaign, ask(campaign))
    assert versions(campaign) == {1: ("published", "score"), 3: ("published", "score32"), 4: ("draft", "score32")}
    assert ranks(campaign, qrels=4) == [1.0, 0.5]
    assert campaign.publish(4).status_code == 200
    assert ranks(campaign) == [1.0, 0.5]
    assert campaign.get("").json()["order_by"] == "score32"


def test_a_run_that_cannot_be_read_so_fails_the_job_and_nothing_is_lost(on_both):
    campaign = near_campaign(on_both)
    assert campaign.submit(unranked("twice")).status_code == 201
    job = rejudged(campaign, ask(campaign, "rank"))
    assert job["state"] == "failed"
    assert job["error"].startswith("1 of 2 runs cannot be ordered by rank, so nothing was changed: 'twice' of 'lemur',")
    assert "line 2" in job["error"]
    assert versions(campaign) == {1: ("published", "score")}
    assert (campaign.get("").json()["order_by"], ranks(campaign)) == ("score", DOUBLE)
    assert campaign.organiser.delete(f"{campaign.path}/runs/twice").status_code == 204
    done(campaign, ask(campaign, "rank"))
    assert ranks(campaign) == RANK


def test_a_later_run_without_the_order_of_an_older_version_is_named(shared):
    campaign = near_campaign(shared, order_by="rank")
    done(campaign, ask(campaign, "score"))
    assert campaign.submit(unranked("twice")).status_code == 201
    for answer in (campaign.get("/scores", metric="RR", qrels=1), campaign.publish(1)):
        assert refused(answer) == (409, "conflict")
        assert "'twice' of 'lemur' cannot be ordered by rank" in answer.json()["detail"]
    assert ranks(campaign, qrels=1) == RANK
    assert ranks(campaign, "twice") == [1.0, 0.0]


def test_publishing_an_older_version_brings_its_order_back(shared):
    campaign = near_campaign(shared)
    first = ask(campaign)
    done(campaign, first)
    assert campaign.publish(1).json()["order_by"] == "score"
    assert (campaign.get("").json()["order_by"], ranks(campaign)) == ("score", DOUBLE)
    assert campaign.submit(near("late")).status_code == 201
    assert ranks(campaign, "late") == DOUBLE
    second = ask(campaign)
    assert second.json()["id"] != first.json()["id"]
    assert done(campaign, second)["published_version"] == 3
    assert (ranks(campaign, "late"), versions(campaign)[3]) == (SINGLE, ("published", "score32"))


def test_only_organisers_ask_for_it_and_nobody_else_sees_it_while_the_judgments_are_hidden(shared):
    campaign = near_campaign(shared)
    asked = ask(campaign)
    done(campaign, asked)
    own, reader = campaign.client("participant", "lemur"), campaign.client("reader")
    assert refused(own.get(asked.headers["location"])) == (404, "not-found")
    assert own.get(campaign.path).json()["qrels_version"] is None
    for _ in range(2):
        for client in (own, reader):
            assert refused(ask(campaign, client=client)) == (403, "forbidden")
            assert refused(client.patch(campaign.path, json={"order_by": "rank"})) == (403, "forbidden")
        campaign.release(public=True)
    assert refused(ask(campaign, client=shared.anonymous)) == (401, "not-authenticated")
