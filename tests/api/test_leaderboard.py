"""Runs ranked by their means."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.world.campaigns import RUN, WORSE, Campaign, run_text
from tests.world.laboratories import Laboratory


def _places(board):
    return [(row["rank"], row["name"]) for row in board["rows"]]


def test_equal_means_share_a_rank_and_are_listed_by_name(on_both):
    campaign = Campaign(on_both)
    campaign.put_qrels()
    for name, text in (("z", RUN), ("a", WORSE), ("Y", RUN.replace("tag", "y")), ("b", WORSE.replace("w", "v"))):
        campaign.submit(text, name=name)
    assert _places(campaign.board(metric="RR")) == [(1, "Y"), (1, "z"), (3, "a"), (3, "b")]


def test_a_board_of_the_best_run_of_each_team_ranks_these_alone(shared):
    campaign = Campaign(shared)
    topics = "123456789"
    campaign.put_qrels("".join(f"{topic} 0 a 1\n" for topic in topics))
    ranks = {"z": ("one", 1), "b": ("one", 1), "c": ("two", 2), "d": ("one", 3), "e": ("three", 2), "f": ("two", 4)}
    for name, (team, rank) in ranks.items():
        found = {topic: [*"xyz"[: rank - 1], "a"] for topic in topics}
        campaign.submit(run_text(found, name), team=team, name=name)
    assert _places(campaign.board(metric="RR")) == [(1, "b"), (1, "z"), (3, "c"), (3, "e"), (5, "d"), (6, "f")]
    board = campaign.board(metric="RR", best_per_team="true")
    assert _places(board) == [(1, "b"), (2, "c"), (2, "e")]
    assert (board["best_per_team"], board["groups_test"]["pairs"]) == (True, 3)
    shown = campaign.get("/leaderboard", metric="RR", best_per_team="true", format="csv").text.splitlines()
    assert len(shown) == 4


def test_the_runs_of_a_family_are_left_out_before_runs_are_ranked(shared):
    campaign = Campaign(shared)
    campaign.put_qrels("".join(f"{topic} 0 a 1\n" for topic in "123456789"))
    for name, rank, family in (("a", 1, "acme"), ("b", 2, "acme"), ("c", 3, None), ("d", 4, "other")):
        found = {topic: [*"wxyz"[: rank - 1], "a"] for topic in "123456789"}
        run = campaign.submit(run_text(found, name), name=name, **({"family": family} if family else {})).json()
        assert run["family"] == family
    board = campaign.board(metric="RR", exclude_family="acme")
    assert _places(board) == [(1, "c"), (2, "d")]
    assert (board["rows_total"], board["groups_test"]["pairs"]) == (2, 1)
    assert "acme" in campaign.get("/leaderboard", metric="RR", exclude_family="acme", format="markdown").text
    changed = campaign.organiser.patch(f"{campaign.path}/runs/b", json={"family": None, "priority": 3}).json()
    assert (changed["family"], changed["priority"]) == (None, 3)
    assert campaign.organiser.patch(f"{campaign.path}/runs/b", json={"family": "acme"}).json()["priority"] == 3
    assert _places(campaign.board(metric="RR", exclude_family=["acme", "other"])) == [(1, "c")]
    refused = campaign.get("/leaderboard", metric="RR", exclude_family="acne")
    assert (refused.status_code, refused.json()["errors"][0]["location"]) == (422, "query.exclude_family")
    assert campaign.organiser.patch(f"{campaign.path}/runs/b", json={"family": "no slug"}).status_code == 422


def test_runs_without_a_mean_come_last_and_share_their_rank(shared):
    campaign = Campaign(shared)
    campaign.put_qrels("1 0 a 0\n")
    for name in ("b", "a"):
        campaign.submit(run_text({"1": [name]}, name))
    board = campaign.board(metric="AP")
    assert _places(board) == [(1, "a"), (1, "b")]
    assert [row["mean"] for row in board["rows"]] == [{"AP": None}] * 2


def test_the_interval_is_students_over_topics(shared):
    campaign = Campaign(shared)
    campaign.put_qrels("".join(f"{topic} 0 d{topic} 1\n" for topic in range(1, 8)))
    texts = {str(topic): [f"x{n}" for n in range(topic - 1)] + [f"d{topic}"] for topic in range(1, 7)}
    campaign.submit(run_text(texts))
    scores = np.array([*(1 / topic for topic in range(1, 7)), 0.0])
    expected = stats.t.interval(0.95, 6, scores.mean(), stats.sem(scores))
    row = campaign.board(metric=["AP", "AP(mean=geometric)"])["rows"][0]
    assert row["interval"]["AP"] == pytest.approx(expected, rel=1e-12)
    assert row["interval"]["AP(mean=geometric)"] is None


GROUPED = [{"metric": ["AP", "Q"], "by": "Q"}, {"metric": "Q", "gains": "9:1:1", "beta": 30}, {"metric": "P@2"}]


@pytest.mark.parametrize("query", GROUPED)
def test_groups_and_rank_sets_are_those_of_a_job_with_the_same_test(shared, query):
    lab = Laboratory(shared)
    board = lab.board(**query)
    params = {"test": "bootstrap-range", "resamples": 10_000, "seed": 0, "alphas": [0.05]}
    job = lab.worked(lab.ask("bootstrap-sensitivity", metrics=[board["by"]], **params))
    metric = lab.organiser.get(job["result_url"]).json()["metrics"][0]
    level = metric["levels"][0]
    assert {row["name"]: row["groups"] for row in board["rows"]} == level["groups"]
    tested = {"name": "bootstrap-range", "alpha": 0.05, "draws": 10_000, "seed": 0, "topics": 6, "missing": 0}
    pairs = {"pairs": level["pairs"], "different_pairs": level["significant_pairs"]}
    # What the topics show follows from the scores, with the average pair's differences and all pairs together.
    asked = {"metric": board["by"], "topics": "all"}
    scores = lab.organiser.get(f"{lab.path}/scores", params=asked).raise_for_status().json()["runs"]
    rows = np.array([[value for value in run["topics"][board["by"]].values() if value is not None] for run in scores])
    chosen = rows[list(combinations(range(len(rows)), 2))]
    variance = (chosen[:, 0] - chosen[:, 1]).var(axis=1, ddof=1).mean()
    shift = board["groups_test"].pop("detectable_difference") * (rows.shape[1] / variance) ** 0.5
    freedom = rows.shape[1] - 1
    spread = (stats.chi2.ppf((np.arange(100_000) + 0.5) / 100_000, freedom) / freedom) ** 0.5
    power = stats.norm.cdf(shift - stats.t.isf(0.05 / len(chosen) / 2, freedom) * spread).mean()
    assert power == pytest.approx(0.8, abs=1e-3)
    assert board["groups_test"] == tested | pairs
    assert board["no_groups_because"] is None
    for row in board["rows"]:
        apart = [each["rank"] for each in board["rows"] if not set(each["groups"]) & set(row["groups"])]
        better = sum(rank < row["rank"] for rank in apart)
        assert row["rank_set"] == [1 + better, len(board["rows"]) - (len(apart) - better)]


def test_groups_follow_the_setting_and_start_no_job(shared):
    campaign = Campaign(shared)
    topics = [str(number) for number in range(1, 11)]
    campaign.put_qrels("".join(f"{topic} 0 low 1\n{topic} 0 high 2\n" for topic in topics))
    found = {topic: ["low", "x", "high"] for topic in topics}
    campaign.submit(run_text(found, "low"))
    campaign.submit(run_text({topic: list(reversed(each)) for topic, each in found.items()}, "high"))
    flat, steep = (campaign.board(metric="nDCG@3", gains=gains) for gains in ("1:1", "9:1"))
    assert [row["groups"] for row in flat["rows"]] == [["a"], ["a"]]
    assert {row["name"]: row["groups"] for row in steep["rows"]} == {"high": ["a"], "low": ["b"]}
    assert {row["name"]: row["rank_set"] for row in steep["rows"]} == {"high": [1, 1], "low": [2, 2]}
    assert campaign.organiser.get("/v1/jobs", params={"collection": campaign.name}).json()["items"] == []
