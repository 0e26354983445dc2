"""The curves of one run."""

import pytest

from tests.world.campaigns import judged, run_text


@pytest.mark.parametrize("query", [{}, {"gains": "10:5:1"}, {"gains": "adjust(3:2:1)"}, {"gains": "exp", "rel": "2"}])
def test_gain_is_the_metric_at_every_rank_under_the_same_parameters(lab, query):
    found = lab.get("/runs/run-3/profile", depth=8, **query).json()
    metrics = [f"CG@{rank}" for rank in range(1, 9)]
    means = lab.scores(*metrics, run="run-3", **query)["runs"][0]["mean"].values()
    assert found["gain"] == pytest.approx(list(means))
    assert all(own <= ideal for own, ideal in zip(found["gain"], found["ideal_gain"], strict=True))
    assert (found["depth"], found["gains"]) == (8, query.get("gains", "linear"))


def test_the_curves_of_a_small_run_are_those_by_hand(shared):
    campaign = judged(
        shared,
        run_text({"1": ["a", "x", "b", "c"], "2": ["y", "a"]}),
        qrels="1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1\n3 0 a 0\n",
    )
    found = campaign.get("/runs/tag/profile", depth=5).json()
    assert found["judged_share"] == pytest.approx([1 / 2, 1 / 2, (2 / 3 + 1 / 2) / 2, (3 / 4 + 1 / 2) / 2, 5 / 8])
    assert found["gain"] == [1, 1.5, 2, 2, 2]
    assert found["ideal_gain"] == [1.5, 2, 2, 2, 2]
    assert found["recall"] == [step / 10 for step in range(11)]
    assert found["precision"] == pytest.approx([(1 + 1 / 2) / 2] * 6 + [(2 / 3 + 1 / 2) / 2] * 5)
    assert found["topics_scored"] == 2
