"""How many scores are given of a team's runs while judgments are hidden, and for which runs there is none."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from tests.api.test_races import at_once
from tests.trust.test_policy import HIDDEN, PRESETS, campaign_of
from tests.waiting import until
from tests.world.campaigns import OTHER_QRELS, QRELS, WORSE, Campaign, refused, run_text

SPENT = (403, "budget-exhausted")
WORST_QRELS = QRELS + "1 0 worst 2\n"


def _left(client):
    return client.get("/v1/me/limits").json()["answers_left"]


NEXT = run_text({"1": ["good"], "2": ["good"]}, "next")
FREE = {"parameters": "free", "presets": []}


def _used(client):
    return client.get("/v1/me/limits").json()["team"]["answers"]["used"]


def test_an_upload_pays_for_the_scores_of_its_run_and_is_refused_where_it_cannot(on_both):
    campaign, own, _ = campaign_of(on_both, answers=3)
    assert (_used(own), _left(own)) == (2, 1)
    answer = campaign.submit(NEXT, own)
    assert refused(answer) == SPENT
    assert (answer.json()["limit"], answer.json()["used"]) == (3, 2)
    asked = [{}, {"metric": "map"}, {"metric": PRESETS}]
    assert [campaign.get("/scores", own, **query).status_code for query in asked] == [200] * 3
    assert campaign.get("/leaderboard", own).json()["withheld"] == {}
    assert (_used(own), _left(own)) == (2, 1)
    campaign.change(policy={"answers": 4})
    assert campaign.submit(NEXT, own).status_code == 201
    assert _left(own) == 0
    assert len(campaign.get("/scores", own).json()["runs"]) == 2


def test_what_is_refused_costs_nothing(shared):
    campaign, own, _ = campaign_of(shared, answers=3, **FREE)
    campaign.submit(NEXT, own)
    assert campaign.submit(run_text({"1": ["good"]}, "half"), own).status_code == 201  # it cannot be scored
    assert refused(campaign.get("/scores", own, metric=["AP", "RR"])) == SPENT  # two runs, or nothing
    for query in ({"metric": "P@"}, {"topics": "all"}, {"run": "absent"}, {"qrels": 9}, {"format": "trec_eval"}):
        assert campaign.get("/scores", own, **query).status_code in (403, 404, 422)
    assert _left(own) == 3


def test_a_leaderboard_leaves_out_runs_that_the_budget_is_too_small_for(shared):
    campaign, own, _ = campaign_of(shared, answers=3, **FREE)
    campaign.submit(NEXT, own)
    board = campaign.get("/leaderboard", own, metric=PRESETS).json()
    assert [row["name"] for row in board["rows"]] == ["mine"]
    assert (list(board["withheld"]), _left(own)) == (["next"], 1)
    assert campaign.get("/leaderboard", own, metric=PRESETS).json() == board


def test_free_parameters_are_charged_when_they_are_asked_for(shared):
    campaign, own, _ = campaign_of(shared, answers=2, **FREE)
    assert _used(own) == 0
    first = campaign.get("/scores", own, metric=["P@1", "P@2"])
    assert (first.status_code, _used(own)) == (200, 2)
    assert refused(campaign.get("/scores", own, metric="P@3")) == SPENT
    campaign.put_qrels(OTHER_QRELS)  # the same scores
    assert campaign.get("/scores", own, metric=["P@1", "P@2"]).status_code == 200
    assert _used(own) == 2


def test_other_qrels_charge_nobody_and_show_teams_the_newest_version_alone(shared):
    campaign, own, _ = campaign_of(shared, answers=2)
    for text in (OTHER_QRELS, WORST_QRELS):
        assert campaign.get("/scores", own).status_code == 200
        campaign.put_qrels(text)
        assert (campaign.get("/scores", own).status_code, _used(own)) == (200, 2)
    for path in ("/scores", "/leaderboard"):
        numbers = {number: campaign.get(path, own, qrels=number).status_code for number in (1, 2, 3, 4)}
        assert numbers == {1: 403, 2: 403, 3: 200, 4: 403}
        assert campaign.get(path, qrels=1).status_code == 200  # organisers compare versions
    assert refused(campaign.get("/scores", own, qrels=1)) == HIDDEN


def test_other_presets_withhold_no_score_though_uploads_end(shared):
    campaign, own, _ = campaign_of(shared, answers=2)
    assert campaign.get("/scores", own).status_code == 200
    campaign.change(policy={"presets": ["RR", "P@1"]})
    assert campaign.get("/scores", own).status_code == 200
    assert (_used(own), _left(own)) == (4, 0)
    assert campaign.get("/leaderboard", own).json()["withheld"] == {}
    assert refused(campaign.submit(NEXT, own)) == SPENT


def test_a_rival_uses_up_nothing_of_another_team(on_both):
    """The attack of November: a rival's four requests with `?qrels=1..4` used up the budget of the best team."""
    campaign, own, rival = campaign_of(on_both, scores="all", answers=8)
    for number in range(3):
        campaign.put_qrels(QRELS + f"1 0 x{number} 1\n")
    for number in (1, 2, 3, 4):
        for path in ("/scores", "/leaderboard"):
            campaign.get(path, rival, qrels=number)
    assert _used(own) == 2
    best = run_text({"1": ["good", "x0"], "2": ["good"]}, "best")
    assert campaign.submit(best, own).status_code == 201
    for client in (own, rival):
        board = campaign.get("/leaderboard", client).json()
        assert ({row["name"] for row in board["rows"]}, board["withheld"]) == ({"best", "mine", "theirs"}, {})
    assert _used(own) == 4


def test_a_run_that_is_withdrawn_and_sent_again_is_a_new_run_and_its_answers_new_ones(on_both):
    campaign, own, _ = campaign_of(on_both, answers=3)
    campaign.get("/scores", own, metric="AP")
    text = own.get(f"{campaign.path}/runs/mine", headers={"Accept": "text/plain"}).text
    assert own.delete(f"{campaign.path}/runs/mine").status_code == 204
    assert _left(own) == 2  # the other score was never shown
    assert campaign.submit(text, own, name="mine").status_code == 201
    assert _left(own) == 0


def test_parallel_requests_never_give_more_than_the_budget(on_both):
    campaign, own, _ = campaign_of(on_both, answers=5, **FREE)
    for number in range(4):
        campaign.submit(run_text({"1": [f"d{number}"], "2": ["good"]}, f"r{number}"), own)
    asked = [
        partial(campaign.get, "/scores", own, metric=metric, run=run)
        for metric in ("AP", "RR", "P@1", "P@2", "P@3")
        for run in ("mine", "r0", "r1", "r2")
    ]
    assert Counter(answer.status_code for answer in at_once(asked)) == {200: 5, 403: 15}
    assert _left(own) == 0


def test_of_parallel_uploads_no_more_are_stored_than_the_budget_pays_for(on_both):
    campaign, own, _ = campaign_of(on_both, answers=8)
    asked = [
        partial(campaign.submit, run_text({"1": [f"d{number}"], "2": ["good"]}, f"r{number}"), own)
        for number in range(10)
    ]
    assert Counter(answer.status_code for answer in at_once(asked)) == {201: 3, 403: 7}
    assert (_used(own), _left(own)) == (8, 0)


def test_teams_have_budgets_of_their_own_and_organisers_need_none(shared):
    campaign, own, _ = campaign_of(shared, answers=2)
    third = campaign.client("participant", "third")
    assert campaign.get("/scores", campaign.client("organiser")).status_code == 200
    assert campaign.get("/scores", own).status_code == 200
    assert (_left(own), _left(third)) == (0, 2)
    assert _left(campaign.client("participant", "own")) == 0  # another token of the team
    assert campaign.submit(NEXT, team="own").status_code == 201  # organisers are not bound
    assert (_used(own), _left(own)) == (4, 0)


@pytest.mark.parametrize(("covered", "is_scored"), [(8, False), (9, True), (10, True)])
def test_a_run_is_scored_if_it_covers_enough_of_the_declared_topics(shared, covered, is_scored):
    topics = [str(number) for number in range(1, 11)]
    campaign = Campaign(shared, topics=topics, policy={"presets": PRESETS})
    campaign.put_qrels()  # which judge two of them: that is nobody's to know
    own = campaign.client("participant", "own")
    campaign.submit(run_text({topic: ["good"] for topic in [*topics[-covered:], "elsewhere"]}), own)
    for path in ("/scores", "/leaderboard"):
        found = campaign.get(path, own).json()
        assert bool(found.get("runs", found.get("rows"))) is is_scored
        assert (f"{covered} of 10 declared topics" in found["withheld"].get("tag", "")) is not is_scored
    answer = campaign.get("/scores", own, format="trec_eval")
    assert answer.status_code == 200 if is_scored else "90%" in answer.json()["detail"]
    assert _left(own) == (198 if is_scored else 200)


def test_where_no_topics_are_declared_no_run_covers_them(shared):
    campaign = Campaign(shared, policy={"presets": PRESETS})
    campaign.put_qrels()
    own = campaign.client("participant", "own")
    campaign.submit(client=own)
    assert "must declare this collection's topics" in campaign.get("/scores", own).json()["withheld"]["tag"]
    campaign.change(policy={"coverage": 0})
    assert campaign.get("/scores", own).json()["runs"][0]["topics_missing"] is None


@pytest.mark.parametrize("how", ["by call", "by time"])
def test_after_the_release_everything_is_open_and_nothing_is_counted(on_both, how):
    campaign, own, _ = campaign_of(on_both, answers=2)
    assert refused(campaign.get("/scores", own, metric="P@3")) == (403, "not-a-preset")
    if how == "by call":
        campaign.release()
    else:
        campaign.change(policy={"releases_at": (datetime.now(UTC) + timedelta(seconds=0.3)).isoformat()})

    def released():
        answer = campaign.get("/qrels", own)
        assert answer.status_code == 200 or refused(answer) == HIDDEN
        return answer.status_code == 200

    until(released)
    found = campaign.get("/scores", own, metric=["P@3", "AP"], topics="all").json()
    assert [run["name"] for run in found["runs"]] == ["mine", "theirs"]
    assert found["runs"][0]["mean"]["AP"] == pytest.approx(1 / 3, rel=1e-15)
    assert (found["topics_scored"], found["withheld"]) == ({"P@3": 2, "AP": 2}, {})
    limits = own.get("/v1/me/limits").json()
    assert (limits["answers_left"], limits["team"]["bits_left"], limits["team"]["answers"]["used"]) == (None, None, 0)
    assert campaign.get("", own).json()["policy"]["phase"] == "released"


def test_a_run_that_was_scored_is_no_longer_free_of_charge(on_both):
    campaign, own, _ = campaign_of(on_both, quotas={"total": 2})
    campaign.get("/scores", own)
    own.delete(f"{campaign.path}/runs/mine")
    assert campaign.submit(WORSE, own, name="second").status_code == 201
    answer = campaign.submit(run_text({"1": ["third"]}), own)
    assert refused(answer) == (403, "quota-exceeded")
    assert (answer.json()["quota"], answer.json()["limit"], answer.json()["used"]) == ("total", 2, 2)
    own.delete(f"{campaign.path}/runs/second")  # which got no score
    assert campaign.submit(run_text({"1": ["third"]}), own).status_code == 201
