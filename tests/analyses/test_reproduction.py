"""reproduction, on the grove: the runs of one campaign under two versions, on other topics, and by uploaded scores."""

import numpy as np
import pytest
from scipy import stats

from gainboard.errors import InvalidRequest, NotFound
from gainboard.statistics.means import reproduced_effect
from gainboard.store.records import VersionName

PAIR = {"original": "yew", "baseline": "cedar", "reproduced": "maple", "reproduced_baseline": "oak"}


def test_a_pair_is_compared_topic_by_topic_where_topics_are_the_same(answer, laboratory):
    found = answer("reproduction", metrics=["AP", "RR"], pairs=[PAIR])
    assert found["runs"] == ["yew", "maple", "cedar", "oak"]
    run, baseline, *others = found["reproduced"]
    assert [row["metric"] for row in others] == ["RR", "RR"]
    scores = {
        name: np.array([x for x in row.values() if x is not None])
        for name, row in laboratory.scores("AP")["AP"].items()
    }
    assert (run["original"], run["reproduced"], run["topics"]) == ("yew", "maple", [11, 11])
    assert run["means"] == pytest.approx([scores["yew"].mean(), scores["maple"].mean()])
    assert run["asl"] == pytest.approx(stats.ttest_rel(scores["yew"], scores["maple"]).pvalue)
    assert run["rmse"] == pytest.approx(np.sqrt(((scores["yew"] - scores["maple"]) ** 2).mean()))
    effect = reproduced_effect(
        (scores["yew"].mean(), scores["maple"].mean()), (scores["cedar"].mean(), scores["oak"].mean())
    )
    assert (run["effect_ratio"], run["delta_relative_improvement"]) == pytest.approx(effect)
    assert baseline["effect_ratio"] is None


def test_snapshots_have_the_same_runs_under_other_judgments(answer, laboratory):
    """The set `people` judges the first half of the topics, so its topics are others, and the test is unpaired."""
    pairs = [{"original": "yew", "baseline": "cedar"}]
    found = answer("reproduction", metrics=["AP"], pairs=pairs, reproduced_under={"judgments": "people"})
    run = found["reproduced"][0]
    assert found["reproduced_under"] == {"judgments": "people", "qrels": 1}
    assert (run["topics"], run["rmse"], run["nrmse"]) == ([11, 6], None, None)
    before, after = laboratory.means("AP"), laboratory.means("AP", version=VersionName("people"))
    assert run["change"] == pytest.approx(after["yew"] / before["yew"] - 1)
    assert run["effect_ratio"] == pytest.approx((after["yew"] - after["cedar"]) / (before["yew"] - before["cedar"]))
    chosen = answer(
        "reproduction", metrics=["AP"], pairs=pairs, reproduced_under={"judgments": "people"}, topics=["101", "102"]
    )
    assert (chosen["reproduced"][0]["topics"], chosen["reproduced"][0]["rmse"] > 0) == ([2, 2], True)


def test_a_run_that_is_not_there_and_a_geometric_mean_are_refused(laboratory):
    with pytest.raises(NotFound, match="ash"):
        laboratory.launch("reproduction", metrics=["AP"], pairs=[PAIR | {"reproduced": "ash"}])
    with pytest.raises(InvalidRequest, match="geometric"):
        laboratory.launch("reproduction", metrics=["AP(mean=geometric)"], pairs=[PAIR])


def test_a_pair_that_is_named_twice_is_one_and_a_reproduced_baseline_needs_a_baseline(answer, laboratory):
    spelled = {"original": "yew", "baseline": "cedar", "reproduced": "yew"}
    found = answer("reproduction", metrics=["AP"], pairs=[{"original": "yew", "baseline": "cedar"}, spelled])
    assert [row["original"] for row in found["reproduced"]] == ["yew", "cedar"]
    with pytest.raises(InvalidRequest, match="so give both"):
        laboratory.launch("reproduction", metrics=["AP"], pairs=[{"original": "yew", "reproduced_baseline": "oak"}])
