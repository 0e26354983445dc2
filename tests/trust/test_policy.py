"""What each policy shows of hidden judgments, and to whom."""

import numpy as np
import pytest

from gainboard.evaluation.access.disclosure import Disclosure
from tests.world.campaigns import QRELS, WORSE, Campaign, refused, run_text
from tests.world.laboratories import SHORT, Laboratory
from tests.world.people import Person

TOPICS = ["1", "2"]
PRESETS = ["AP", "nDCG@10"]
THIRDS = run_text({"1": ["x", "y", "good"], "2": ["x", "y", "good"]}, "thirds")
HIDDEN, OTHER = (403, "judgments-hidden"), (403, "not-a-preset")


def campaign_of(service, **policy):
    """A hidden campaign with qrels, two teams of a run each, and their clients."""
    campaign = Campaign(service, topics=TOPICS, policy={"presets": PRESETS} | policy)
    campaign.put_qrels()
    own, other = campaign.client("participant", "own"), campaign.client("participant", "other")
    assert campaign.submit(THIRDS, own, name="mine").status_code == 201
    assert campaign.submit(WORSE, other, name="theirs").status_code == 201
    return campaign, own, other


def _said(answer):
    return sorted(run["name"] for run in answer.json()["runs"]) if answer.status_code == 200 else refused(answer)


ASKED = {
    "preset": {"metric": "AP"},
    "free": {"metric": "P@3"},
    "topics": {"metric": "AP", "topics": "all"},
    "both": {"metric": "P@3", "topics": "all"},
}
MINE, ALL = ["mine"], ["mine", "theirs"]
SHOWN = {
    ("none", "preset"): [HIDDEN] * 4,
    ("none", "free"): [HIDDEN] * 4,
    ("own-mean", "preset"): [MINE, OTHER, OTHER, OTHER],
    ("own-mean", "free"): [MINE, MINE, OTHER, OTHER],
    ("own-per-topic", "preset"): [MINE, OTHER, MINE, OTHER],
    ("own-per-topic", "free"): [MINE] * 4,
    ("all", "preset"): [ALL, OTHER, ALL, OTHER],
    ("all", "free"): [ALL] * 4,
}


def _under_every_policy(campaign):
    """Sets one policy after the other, and says whose scores it shows, and what of them to a participant."""
    for (scores, parameters), expected in SHOWN.items():
        changed = {"scores": scores, "parameters": parameters, "presets": PRESETS}
        assert campaign.change(policy=changed).status_code == 200
        yield scores, expected


def test_a_participant_is_shown_what_the_policy_says_and_a_reader_only_where_all_are(shared):
    campaign, own, _ = campaign_of(shared)
    reader = campaign.client("reader")
    for scores, expected in _under_every_policy(campaign):
        found = [_said(campaign.get("/scores", reader, **asked)) for asked in ASKED.values()]
        assert found == (expected if scores == "all" else [HIDDEN] * 4)
        assert [_said(campaign.get("/scores", own, **asked)) for asked in ASKED.values()] == expected


def test_no_policy_opens_the_judgments_themselves(shared):
    campaign, own, _ = campaign_of(shared)
    reader = campaign.client("reader")
    for _ in _under_every_policy(campaign):
        for client in (own, reader):
            assert [refused(campaign.get(path, client)) for path in ("/qrels", "/qrels/1")] == [HIDDEN] * 2
            assert refused(campaign.get("/pool", client)) == (403, "forbidden")
            found = campaign.get("", client).json()
            assert (found["qrels_version"], found["relevant"]) == (None, None)
            assert {run["unjudged_share"] for run in campaign.get("/runs", client).json()["items"]} <= {None}


def test_jobs_are_there_only_where_nothing_is_bounded(still):
    campaign, sent = Laboratory(still), {"kind": "stability", "params": SHORT}
    clients = [campaign.client("participant", "team-0"), campaign.client("reader")]
    job = campaign.worked(campaign.ask())["id"]
    paths = ("", "?wait=1", "/events", "/result", "/tables/curves.csv", "/tables/curves.tex", "/figures/curves.svg")
    for _, expected in _under_every_policy(campaign):
        is_open = expected == [ALL] * 4
        for client in clients:
            asked = client.post(f"{campaign.path}/jobs", json=sent)
            assert asked.status_code == 200 if is_open else refused(asked) == HIDDEN
            absent = [client.get(f"/v1/jobs/{job}{path}").status_code == 404 for path in paths]
            assert not any(absent[:4]) if is_open else all(absent)
            assert bool(client.get("/v1/jobs").json()["items"]) is is_open


def test_organisers_are_not_bound(shared):
    campaign, _, _ = campaign_of(shared, decimals=0)
    campaign.change(policy={"answers": 0})
    organiser = campaign.client("organiser")
    for _ in _under_every_policy(campaign):
        assert [_said(campaign.get("/scores", organiser, **asked)) for asked in ASKED.values()] == [ALL] * 4
        thirds = campaign.get("/scores", organiser, metric="AP", run="mine").json()
        assert thirds["runs"][0]["mean"]["AP"] == pytest.approx(1 / 3, rel=1e-15)
        assert thirds["withheld"] == {}


def test_without_presets_the_default_shows_no_score(shared):
    campaign, own, _ = campaign_of(shared, presets=[])
    for path in ("/scores", "/leaderboard"):
        assert refused(campaign.get(path, own)) == HIDDEN
    limits = own.get("/v1/me/limits").json()
    assert (limits["answers_left"], limits["team"]["bits_left"]) == (0, 0)


SPELT = [
    {"metric": "AP"},
    {"metric": "map"},
    {"metric": ["ndcg@10", "AP(rel=1)"]},
    {"metric": "nDCG@10", "base": "2.0"},
]
SPELT += [{"metric": "AP"}, {"metric": "NDCG(gains=linear,base=2)@10"}, {}]
OTHERS = [
    *({"metric": each} for each in (["AP", "nDCG@11"], "AP(rel=2)", "AP(condensed=true)", "AP(mean=geometric)")),
    *({"metric": "nDCG@10"} | other for other in ({"gains": "5:1"}, {"base": "2.0000000000000004"})),
    {"rel": "2"},
]


def test_a_preset_may_be_spelt_in_every_way_and_other_parameters_are_refused_by_name(shared):
    campaign, own, _ = campaign_of(shared)
    for query in SPELT:
        labels = set(campaign.get("/scores", own, **query).json()["metrics"])
        assert labels
        assert labels <= {"AP", "nDCG(base=2,gains=linear)@10"}
    for query in OTHERS:
        for path in ("/scores", "/leaderboard"):
            answer = campaign.get(path, own, **query)
            assert refused(answer) == OTHER
            assert answer.json()["presets"] == ["AP", "nDCG(base=2,gains=linear)@10"]
    assert refused(campaign.get("/leaderboard", own, metric="AP", by="P@3")) == OTHER


@pytest.mark.parametrize(
    ("decimals", "shown"), [(0, 0), (3, 0.333), (15, 0.333333333333333)], ids=["none", "default", "most"]
)
def test_scores_are_rounded_in_every_form(shared, decimals, shown):
    campaign, own, _ = campaign_of(shared, scores="own-per-topic", decimals=decimals)
    found = campaign.get("/scores", own, metric="AP", topics="all").json()["runs"][0]
    assert (found["mean"], found["topics"]) == ({"AP": shown}, {"AP": {"1": shown, "2": shown}})
    assert campaign.get("/leaderboard", own, metric="AP").json()["rows"][0]["mean"] == {"AP": shown}
    text = campaign.get("/scores", own, metric="AP", topics="all", format="csv").text
    assert [float(line.rsplit(",")[-1]) for line in text.splitlines()[1:]] == [shown] * 3
    text = campaign.get("/scores", own, metric="AP", topics="all", format="trec_eval").text
    lines = [line.split("\t") for line in text.splitlines() if line.startswith("map")]
    assert [float(value) for _, _, value in lines] == [round(shown, 4)] * 3
    counts = campaign.get("/scores", own, metric="AP").json()
    assert (counts["topics_scored"], counts["topics_undefined"]) == (None, None)


def test_no_score_is_minus_nothing():
    shown = Disclosure(2, {}).shown(np.array([-0.001, -0.0, -0.006, np.nan]))
    assert [str(each) for each in shown.tolist()] == ["0.0", "0.0", "-0.01", "nan"]


def test_a_leaderboard_has_own_runs_by_rounded_means_without_intervals_and_groups(shared):
    campaign, own, _ = campaign_of(shared, decimals=0)
    campaign.submit(run_text({"1": ["x", "good"], "2": ["y", "x", "good"]}, "b"), own, name="better")
    board = campaign.get("/leaderboard", own, metric="AP", by="nDCG@10").json()
    assert [(row["rank"], row["name"]) for row in board["rows"]] == [(1, "better"), (1, "mine")]
    for row in board["rows"]:
        assert (set(row["interval"].values()), row["groups"]) == ({None}, None)
    assert (board["topics_scored"], board["groups_test"]) == (None, None)


def test_under_all_the_files_of_other_teams_stay_theirs(shared):
    campaign, own, other = campaign_of(shared, scores="all")
    as_text = {"Accept": "text/plain"}
    assert campaign.get("/runs/theirs", own).json()["team"] == "other"
    assert refused(own.get(f"{campaign.path}/runs/theirs", headers=as_text)) == HIDDEN
    assert refused(own.delete(f"{campaign.path}/runs/theirs")) == (403, "forbidden")
    assert other.get(f"{campaign.path}/runs/theirs", headers=as_text).text == WORSE
    campaign.release()
    assert own.get(f"{campaign.path}/runs/theirs", headers=as_text).text == WORSE


def test_a_team_is_told_that_new_judgments_changed_its_scores(shared):
    campaign, _, _ = campaign_of(shared, scores="own-mean")
    told = "New judgments changed scores of your runs"
    person = Person(campaign.service, campaign.token("participant", "own"))
    page = f"/c/{campaign.name}/submissions"
    assert told not in person.get(page).text
    campaign.put_qrels(QRELS + "1 0 another 0\n")  # nobody retrieves it, and it is not relevant
    assert told not in person.get(page).text
    campaign.put_qrels(QRELS + "1 0 another 1\n")
    assert told in person.get(page).text
    campaign.change(policy={"scores": "none"})
    assert told not in person.get(page).text
    campaign.change(policy={"phase": "released"})
    text = person.get(page).text
    assert "Version 3 of the judgments has been in use since" in text
    assert "<summary>Withdraw" not in text
    assert "this file" not in text


def test_the_official_metric_is_the_same_before_and_after_the_release(shared):
    campaign, own, _ = campaign_of(shared, scores="own-mean", presets=["nDCG@10", "AP"])
    before = own.get(f"{campaign.path}/leaderboard").json()["by"]
    campaign.change(policy={"phase": "released"})
    assert own.get(f"{campaign.path}/leaderboard").json()["by"] == before
    campaign.change(policy={"phase": "hidden"}, metrics=["AP", "Q"])
    assert own.get(f"{campaign.path}/leaderboard").json()["by"] == "AP"
    campaign.change(policy={"phase": "released"})
    assert own.get(f"{campaign.path}/leaderboard").json()["by"] == "AP"
