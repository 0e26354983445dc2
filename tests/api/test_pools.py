"""Pools over HTTP: made before anything is judged, kept from participants, and made of the runs that are chosen."""

import hashlib

import pytest

from tests.world.campaigns import QRELS, Campaign, codes, refused, run_text
from tests.world.laboratories import after_work

RUNS = {
    ("lemur", "a"): run_text({"10": ["x"], "1": ["new", "good", "deep"]}, "a"),
    ("lemur", "b"): run_text({"2": ["bad"], "1": ["good"]}, "b"),
    ("otter", "c"): run_text({"1": ["only", "good"]}, "c"),
    ("otter", "d"): run_text({"2": ["unpooled"]}, "d"),
}


def campaign_of_runs(service, **settings):
    campaign = Campaign(service, **settings)
    for (team, name), text in RUNS.items():
        sent = campaign.submit(text, team=team, name=name, pooled=str(name != "d").lower())
        assert sent.status_code == 201, sent.text
    return campaign


def ask(campaign, client=None, **params):
    return (client or campaign.organiser).post(f"{campaign.path}/jobs", json={"kind": "pool", "params": params})


def made(campaign, **params):
    answer = ask(campaign, **params)
    assert answer.status_code in (200, 202), answer.text
    job = after_work(campaign, answer.headers["location"])
    assert (job["state"], job["error"]) == ("succeeded", None)
    return campaign.organiser.get(job["result_url"]).json()


def documents(result):
    return {each["topic"]: each["documents"] for each in result["pool"]}


def test_a_pool_is_made_before_anything_is_judged_and_stays_when_judgments_come(shared):
    campaign = campaign_of_runs(shared)
    first = made(campaign, depth=2)
    assert documents(first) == {"1": ["good", "new", "only"], "10": ["x"], "2": ["bad"]}
    assert (first["qrels_version"], first["judgment_set"], first["runs"]) == (None, None, ["a", "b", "c"])
    assert [each["sha256"] for each in first["pooled_runs"]] == [
        hashlib.sha256(text.encode()).hexdigest() for (_, name), text in RUNS.items() if name != "d"
    ]
    teams = [(each["team"], each["contributed"], each["unique"]) for each in first["teams"]]
    assert teams == [("lemur", 4, 3), ("otter", 2, 1)]
    campaign.put_qrels()
    again = ask(campaign, depth=2)
    assert (again.status_code, again.json()["qrels_version"]) == (200, None)


def test_runs_are_chosen_by_name_by_team_or_by_priority(shared):
    campaign = campaign_of_runs(shared)
    assert made(campaign, runs=["d", "a"])["runs"] == ["a", "d"]
    assert made(campaign, teams=["otter"])["runs"] == ["c"]
    assert made(campaign, top=1)["runs"] == ["a", "c"]
    assert campaign.organiser.patch(f"{campaign.path}/runs/b", json={"priority": 2}).status_code == 200
    assert made(campaign, top=1)["runs"] == ["b", "c"]
    assert campaign.organiser.patch(f"{campaign.path}/runs/a", json={"priority": 1}).status_code == 200
    assert made(campaign, top=1, teams=["lemur"])["runs"] == ["a"]
    assert campaign.submit(run_text({"1": ["z"]}, "z"), team="otter", priority=1).json()["priority"] == 1
    assert made(campaign, top=1)["runs"] == ["a", "z"]


def test_a_second_round_leaves_out_what_versions_and_sets_judge(shared):
    campaign = campaign_of_runs(shared)
    campaign.put_qrels()
    campaign.put_qrels("1 0 only 1\n", judgments="second")
    asked = [{"judgments": "second"}, {"qrels": 1}]
    found = made(campaign, depth=2, without=asked)
    assert documents(found) == {"1": ["new"], "10": ["x"], "2": ["bad"]}
    assert found["without"] == [{"judgments": "official", "qrels": 1}, {"judgments": "second", "qrels": 1}]
    counts = [(each["found"], each["left_out"], each["pooled"]) for each in found["topics"]]
    assert counts == [(3, 2, 1), (1, 0, 1), (1, 0, 1)]


@pytest.mark.parametrize("released", [False, True])
def test_a_participant_learns_nothing_of_a_pool(shared, released):
    """Neither that there is one, by its own request for it or by counts, nor what is in it: before and after."""
    campaign = campaign_of_runs(shared)
    campaign.put_qrels(QRELS)
    if released:
        campaign.release(public=True)
    clients = {"participant": campaign.client("participant", "lemur"), "reader": campaign.client("reader")}
    paths = ["/v1/jobs", f"/v1/jobs?collection={campaign.name}", f"/v1/jobs?collection={campaign.name}&kind=pool"]
    paths += ["/v1/me/limits", "/v1/collections", campaign.path, f"{campaign.path}/runs", "/v1/reports"]

    def seen(client):
        found = [client.get(path) for path in paths]
        return [(each.status_code, each.text) for each in (*found, ask(campaign, client, depth=2))]

    before = {who: seen(client) for who, client in clients.items()}
    asked = ask(campaign, depth=2)
    job = after_work(campaign, asked.headers["location"])
    assert job["state"] == "succeeded"
    for who, client in clients.items():
        assert seen(client) == before[who], who
        assert refused(ask(campaign, client, depth=2)) == (403, "forbidden")
        assert refused(campaign.get("/pool", client)) == (403, "forbidden")
        own = f"/v1/jobs/{job['id']}"
        below = ["", "?wait=1", "/events", "/result", "/pairs", "/tables/pool.csv", "/tables/pool.tex"]
        for path in (*below, "/tables/teams.csv", "/figures/costs.svg"):
            absent = client.get(f"/v1/jobs/{'0' * 64}{path}")
            answer = client.get(own + path)
            assert refused(answer) == refused(absent) == (404, "not-found"), path
            assert answer.text.replace(job["id"], "0" * 64) == absent.text
        assert refused(client.delete(own)) == (404, "not-found")
    if released:
        assert refused(shared.anonymous.get(f"/v1/jobs/{job['id']}")) == (401, "not-authenticated")
        assert shared.anonymous.get(f"/v1/jobs?collection={campaign.name}").json()["items"] == []
    listed = campaign.organiser.get("/v1/jobs", params={"collection": campaign.name, "kind": "pool"}).json()["items"]
    assert [each["id"] for each in listed] == [job["id"]]


def test_judgments_are_compared_with_the_pool_that_they_come_back_for(shared):
    campaign = campaign_of_runs(shared)
    campaign.put_qrels("1 0 good 1\n")
    pool = ask(campaign, depth=2, without=[{"qrels": 1}]).json()["id"]
    after_work(campaign, f"/v1/jobs/{pool}")
    sent = campaign.put_qrels("1 0 good 1\n1 0 new 0\n1 0 other 0\n2 0 bad 2\n", pool=pool).json()
    told = {each["code"]: (each["count"], each["message"]) for each in sent["warnings"]}
    assert told == {
        "pooled-not-judged": (2, "Documents of the pool are not judged, such as 'only' of topic '1'"),
        "judged-not-pooled": (1, "Judged documents are not in the pool, such as 'other' of topic '1'"),
    }
    again = campaign.put_qrels("1 0 new 0\n1 0 only 0\n10 0 x 1\n2 0 bad 2\n", pool=pool)
    assert (again.status_code, again.json()["warnings"]) == (201, [])
    # what a version says later is about the version alone
    assert campaign.get("/qrels/2").json()["warnings"] == []


def fairness(campaign, client=None, **params):
    sent = {"kind": "leave-one-team-out", "params": {"metrics": ["AP"], **params}}
    return (client or campaign.organiser).post(f"{campaign.path}/jobs", json=sent)


def of_six_topics(service):
    """Two pooled runs of two teams. On topic 5 each finds three documents, and on topic 6 nobody finds any."""
    campaign = Campaign(service)
    for team, run, own in (("lemur", "a", "l"), ("otter", "b", "o")):
        lists = {str(topic): ["both", own] for topic in range(1, 5)} | {"5": ["both", own, f"{own}2"]}
        assert campaign.submit(run_text(lists, run), team=team, name=run, pooled="true").status_code == 201
    return campaign


def judged(topics, documents="both l o"):
    return "".join(f"{topic} 0 {each} 1\n" for topic in topics.split() for each in documents.split())


def test_leave_one_team_out_takes_depth_and_contributors_of_a_pool_that_is_judged(shared):
    campaign = of_six_topics(shared)
    pool = ask(campaign, depth=2).json()["id"]
    after_work(campaign, f"/v1/jobs/{pool}")
    campaign.put_qrels("1 0 both 1\n")
    assert codes(fairness(campaign, pool=pool)) == ["pool-not-judged"]
    campaign.put_qrels(judged("1 2 3 4 5 6"))
    assert codes(fairness(campaign, pool=pool, pool_depth=2)) == ["value-error"]
    asked = fairness(campaign, pool=pool)
    assert asked.status_code == 202, asked.text
    assert asked.json()["params"]["topics"] == ["1", "2", "3", "4", "5"]
    ended = after_work(campaign, asked.headers["location"])
    result = campaign.organiser.get(ended["result_url"]).json()
    assert (result["pool_depth"], result["estimated"], result["contributors"]) == (2, False, ["a", "b"])
    assert [(team["pooled"], team["unique"]) for team in result["teams"]] == [(10, 5)] * 2
    assert (result["pool_topics_left_out"], result["note"]) == ([], None)
    named = fairness(campaign, contributors=["b", "a"], pool_depth=2, topics=["5", "4", "3", "2", "1"])
    assert (named.status_code, named.json()["id"]) == (200, asked.json()["id"])
    campaign.release()
    assert refused(fairness(campaign, campaign.client("participant", "lemur"), pool=pool)) == (404, "not-found")


def test_topics_of_a_pool_that_do_not_count_are_named_with_the_reason(shared):
    campaign = of_six_topics(shared)
    for team, run in (("lemur", "a2"), ("otter", "b2")):  # they find the same on seven more topics
        lists = {str(topic): ["both"] for topic in range(11, 18)}
        campaign.submit(run_text(lists, run), team=team, name=run, pooled="true")
    campaign.put_qrels(judged("1 2 3 4 5") + judged("11 12 13 14 15 16", "both"))
    pool = made(campaign, depth=3, budget=3)
    budgeted = [each["topic"] for each in pool["topics"] if each["pooled"] < each["found"]]
    assert budgeted == ["5"]
    asked = fairness(campaign, pool=ask(campaign, depth=3, budget=3).json()["id"])
    assert asked.status_code == 202, asked.text
    ended = after_work(campaign, asked.headers["location"])
    result = campaign.organiser.get(ended["result_url"]).json()
    assert result["pool_topics_left_out"] == [
        {"topic": "17", "because": "not-judged"},
        {"topic": "5", "because": "cut-by-budget"},
    ]
    assert "Of the pool's topics, 1 (5) did not count, because the budget cut their pool" in result["note"]
    assert result["topics"] == 10
