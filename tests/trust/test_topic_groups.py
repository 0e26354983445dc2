"""While judgments are hidden, groups of topics tell participants nothing of them."""

import pytest

from tests.world.campaigns import refused
from tests.world.laboratories import SHORT, Laboratory

POLICIES = [
    {"presets": ["AP"]},
    {"presets": ["AP"], "scores": "own-per-topic"},
    {"presets": ["AP"], "scores": "all"},
    {"scores": "own-per-topic", "parameters": "free"},
]
ASKED = ("/scores", "/leaderboard", "/sweep", "/compare?run=run-0&run=run-2")


@pytest.fixture
def lab(shared):
    lab = Laboratory(shared, topics=["1", "2", "3", "4", "5", "6", "7", "8"])
    assert lab.organiser.put(f"{lab.path}/topic-groups/half", json=["1", "2", "3", "4"]).status_code == 201
    return lab


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_participant_may_ask_for_all_topics_alone(lab, policy):
    lab.change(policy=policy)
    own = lab.client("participant", "team-0")
    assert lab.get("/leaderboard", own, metric="AP", topics="all").status_code == 200
    for path in ASKED:
        # a group that does not exist is refused in the same words
        there, absent = (lab.get(path, own, metric="AP", topics=name) for name in ("half", "absent"))
        assert refused(there) == (403, "judgments-hidden")
        assert there.text == absent.text
    for name in ("half", "all", "absent"):
        assert refused(lab.get("/leaderboard", own, metric="AP", by_group=name)) == (403, "judgments-hidden")
    assert refused(lab.ask(client=own, **SHORT, topics="half")) == (403, "judgments-hidden")
    assert refused(lab.report(client=own, topics="half")) == (403, "judgments-hidden")


def test_a_refused_group_costs_nothing_of_the_budget(lab):
    lab.change(policy={"scores": "own-mean", "parameters": "free", "answers": 5})
    own = lab.client("participant", "team-0")
    before = own.get("/v1/me/limits").json()
    lab.get("/scores", own, metric="AP", topics="half")
    lab.get("/leaderboard", own, metric="AP", by_group="all")
    assert own.get("/v1/me/limits").json() == before
