"""Runs ranked by their means."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gainboard.work.job_kinds import CATALOGUE, find_kind
from tests.api.campaign import RUN, WORSE, Campaign, judged, refused, run_text
from tests.api.laboratory import Laboratory, qrels_text, rotated
from tests.conftest import Service


def _board(campaign: Campaign, **query: Any) -> Any:
    answer = campaign.get("/leaderboard", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _places(board: Any) -> list[tuple[int, str]]:
    return [(row["rank"], row["name"]) for row in board["rows"]]


def test_equal_means_share_a_rank_and_are_listed_by_name(on_both: Service) -> None:
    campaign = Campaign(on_both)
    campaign.put_qrels()
    for name, text in (("z", RUN), ("a", WORSE), ("Y", RUN.replace("tag", "y")), ("b", WORSE.replace("w", "v"))):
        campaign.submit(text, name=name)
    assert _places(_board(campaign, metric="RR")) == [(1, "Y"), (1, "z"), (3, "a"), (3, "b")]


def test_by_ranks_and_defaults_to_the_first_metric(shared: Service) -> None:
    campaign = Campaign(shared)
    campaign.put_qrels("1 0 a 1\n1 0 b 1\n1 0 c 1\n")
    campaign.submit(run_text({"1": ["a", "x", "y"]}), name="first")
    campaign.submit(run_text({"1": ["x", "a", "b", "c"]}), name="more")
    board = _board(campaign, metric=["RR", "Recall@10"])
    assert (board["by"], _places(board)) == ("RR", [(1, "first"), (2, "more")])
    board = _board(campaign, metric=["RR"], by="recall_10")
    assert board["metrics"] == ["RR", "Recall@10"]
    assert (board["by"], _places(board)) == ("Recall@10", [(1, "more"), (2, "first")])


def test_the_default_metrics_are_those_of_scores(shared: Service) -> None:
    campaign = judged(shared, metrics=["RR", "AP"])
    board = _board(campaign, by="Q")
    assert board["metrics"] == ["RR", "AP", "Q(beta=1,gains=linear)"]
    assert board["by"] == "Q(beta=1,gains=linear)"
    assert _board(campaign)["by"] == "RR"


def test_runs_without_a_mean_come_last_and_share_their_rank(shared: Service) -> None:
    campaign = Campaign(shared)
    campaign.put_qrels("1 0 a 0\n")
    for name in ("b", "a"):
        campaign.submit(run_text({"1": [name]}, name))
    board = _board(campaign, metric="AP")
    assert _places(board) == [(1, "a"), (1, "b")]
    assert [row["mean"] for row in board["rows"]] == [{"AP": None}] * 2


def test_the_interval_is_students_over_topics(shared: Service) -> None:
    campaign = Campaign(shared)
    campaign.put_qrels("".join(f"{topic} 0 d{topic} 1\n" for topic in range(1, 8)))
    texts = {str(topic): [f"x{n}" for n in range(topic - 1)] + [f"d{topic}"] for topic in range(1, 7)}
    campaign.submit(run_text(texts))
    scores = np.array([*(1 / topic for topic in range(1, 7)), 0.0])
    expected = stats.t.interval(0.95, 6, scores.mean(), stats.sem(scores))
    row = _board(campaign, metric=["AP", "AP(mean=geometric)"])["rows"][0]
    assert row["interval"]["AP"] == pytest.approx(expected, rel=1e-12)
    assert row["interval"]["AP(mean=geometric)"] is None


def test_one_topic_has_no_interval_and_groups_wait_for_their_job(shared: Service) -> None:
    campaign = Campaign(shared)
    campaign.put_qrels("1 0 good 1\n")
    campaign.submit()
    row = _board(campaign, metric="AP")["rows"][0]
    assert (row["interval"], row["groups"], row["rank_set"]) == ({"AP": None}, None, None)


@pytest.mark.outer
def test_groups_are_there_once_their_job_has_been_asked_for(on_both: Service) -> None:
    lab = Laboratory(on_both)
    before = _board(lab, metric=["AP", "Q"], by="Q")
    wanted = before["groups_job"]
    assert (wanted["state"], {row["groups"] is None for row in before["rows"]}) == (None, {True})
    assert lab.organiser.get("/v1/jobs").json()["items"] == []  # nobody has asked for it yet
    asked = lab.ask(wanted["kind"], **wanted["params"])
    assert (asked.headers["location"], asked.json()["id"]) == (wanted["url"], wanted["id"])
    level = lab.organiser.get(lab.finished(asked)["result_url"]).json()["metrics"][0]["levels"][0]
    for board in (_board(lab, metric=["AP", "Q"], by="Q"), _board(lab, metric="Q")):
        assert {row["name"]: row["groups"] for row in board["rows"]} == level["groups"]
        assert board["groups_job"] == {**wanted, "state": "succeeded"}
        for row in board["rows"]:
            apart = [each["rank"] for each in board["rows"] if not set(each["groups"]) & set(row["groups"])]
            better = sum(rank < row["rank"] for rank in apart)
            assert row["rank_set"] == [1 + better, len(board["rows"]) - (len(apart) - better)]
    assert _board(lab, metric=["AP", "Q"])["groups_job"]["state"] is None  # that is another metric's


@pytest.mark.outer
def test_groups_are_asked_for_in_one_step(on_both: Service) -> None:
    lab = Laboratory(on_both)
    query = {"metric": ["AP", "Q"], "by": "Q", "late": "exclude", "gains": "3:2:1"}
    wanted = _board(lab, **query)["groups_job"]
    asked = lab.organiser.post(f"{lab.path}/leaderboard/groups", params=query)
    assert (asked.status_code, asked.json()["id"]) == (202, wanted["id"])
    assert (asked.headers["location"], asked.headers["retry-after"]) == (wanted["url"], "1")
    job = lab.finished(asked)
    again = lab.organiser.post(f"{lab.path}/leaderboard/groups", params=query)
    assert (again.status_code, again.json()) == (200, job)
    letters = {row["name"]: "".join(row["groups"]) for row in _board(lab, **query)["rows"]}
    address = next(each["csv"] for each in job["tables"] if each["name"] == "groups")
    headings, *rows = csv.reader(lab.organiser.get(address).text.splitlines())
    assert headings == ["metric", "alpha", "run", "groups"]
    assert {run: groups for *_, run, groups in rows} == letters
    assert [groups for *_, groups in rows] == sorted(letters.values())
    assert {tuple(row[:2]) for row in rows} == {(_board(lab, **query)["by"], "0.05")}


@pytest.mark.outer
def test_groups_need_something_to_compare_and_somebody_who_may_ask(shared: Service) -> None:
    campaign = judged(shared)
    groups = f"{campaign.path}/leaderboard/groups"
    assert refused(campaign.organiser.post(groups)) == (409, "conflict")
    campaign.submit(WORSE, team="gnu")
    assert refused(campaign.organiser.post(groups, params={"metric": "AP(mean=geometric)"})) == (409, "conflict")
    assert refused(campaign.organiser.post(groups, params={"run": "tag"})) == (422, "unknown-parameter")
    campaign.change(topics=["1", "2"], policy={"presets": ["AP"]})
    participant = campaign.client("participant", "gnu")
    before = participant.get("/v1/me/limits").json()
    for client in (participant, campaign.client("reader")):
        assert refused(client.post(groups, params={"metric": "AP"})) == (403, "judgments-hidden")
    assert participant.get("/v1/me/limits").json() == before
    assert refused(shared.anonymous.post(groups)) == (401, "not-authenticated")
    campaign.release(public=True)
    assert refused(shared.anonymous.post(groups)) == (401, "not-authenticated")
    assert participant.post(groups, params={"metric": "AP"}).status_code == 202


@pytest.mark.outer
def test_groups_are_those_of_the_runs_and_judgments_that_are_shown(shared: Service) -> None:
    lab = Laboratory(shared)
    wanted = _board(lab, metric="AP")["groups_job"]
    lab.finished(lab.ask(wanted["kind"], **wanted["params"]))
    lab.put_qrels(qrels_text(shift=1))
    assert _board(lab, metric="AP")["rows"][0]["groups"] is None
    assert _board(lab, metric="AP", qrels=1)["rows"][0]["groups"]
    lab.submit(rotated(5))
    assert _board(lab, metric="AP", qrels=1)["groups_job"]["state"] is None


@pytest.mark.outer
def test_groups_that_an_earlier_version_computed_are_said_to_be_outdated(
    shared: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Laboratory(shared)
    wanted = _board(lab, metric="AP")["groups_job"]
    before = lab.finished(lab.ask(wanted["kind"], **wanted["params"]))
    kind = find_kind(wanted["kind"])
    monkeypatch.setitem(CATALOGUE._kinds, kind.name, replace(kind, changes=kind.changes + 1))
    board = _board(lab, metric="AP")
    now = board["groups_job"]
    assert (now["state"], now["outdated"], board["rows"][0]["groups"]) == (None, True, None)
    assert now["id"] != wanted["id"]
    result = lab.organiser.get(before["result_url"]).json()
    assert result["engine_version"] == kind.engine_version


@pytest.mark.outer
def test_there_are_no_groups_of_a_single_run_or_of_geometric_means(shared: Service) -> None:
    assert _board(judged(shared), metric="AP")["groups_job"] is None
    assert _board(Laboratory(shared), metric="AP(mean=geometric)")["groups_job"] is None


def test_there_are_no_groups_by_a_metric_too_long_to_be_asked_for(shared: Service) -> None:
    long = ":".join(f"{gain}.12345678901" for gain in range(127, 0, -1))
    campaign = judged(shared, levels=127, gains=long)
    campaign.submit(WORSE)
    board = _board(campaign, metric="Q")
    assert len(board["by"]) > 1000
    assert (len(board["rows"]), board["groups_job"]) == (2, None)


def test_a_leaderboard_of_no_run_is_empty_and_takes_no_choice_of_runs(shared: Service) -> None:
    campaign = Campaign(shared)
    campaign.put_qrels()
    assert _board(campaign)["rows"] == []
    assert refused(campaign.get("/leaderboard", run="tag")) == (422, "unknown-parameter")
    assert refused(campaign.get("/leaderboard", by="Nonsense")) == (422, "bad-expression")


@pytest.mark.outer
def test_csv_has_a_row_for_each_run_and_metric_with_the_letters(shared: Service) -> None:
    lab = Laboratory(shared)
    query: dict[str, Any] = {"metric": ["Q", "AP"], "by": "AP"}
    assert {row["groups"] for row in _csv(lab, query)} == {""}
    lab.finished(lab.organiser.post(f"{lab.path}/leaderboard/groups", params=query))
    board = _board(lab, **query)
    assert _csv(lab, query) == [
        {
            "rank": str(row["rank"]), "run": row["name"], "team": row["team"], "metric": label,
            "mean": repr(row["mean"][label]), "low": repr(row["interval"][label][0]),
            "high": repr(row["interval"][label][1]), "groups": "".join(row["groups"]), "late": "no",
            "best_rank": str(row["rank_set"][0]), "worst_rank": str(row["rank_set"][1]),
        }
        for row in board["rows"]
        for label in board["metrics"]
    ]  # fmt: skip
    accepted = lab.organiser.get(f"{lab.path}/leaderboard", params=query, headers={"Accept": "text/csv"})
    assert accepted.text == lab.get("/leaderboard", **query, format="csv").text


def _csv(campaign: Campaign, query: dict[str, Any]) -> list[dict[str, str]]:
    answer = campaign.get("/leaderboard", **query, format="csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(answer.text.splitlines()))


def test_csv_shows_a_participant_what_json_shows(shared: Service) -> None:
    campaign = Campaign(shared, topics=["1", "2"], policy={"presets": ["AP"], "decimals": 1})
    campaign.put_qrels()
    campaign.submit(WORSE, team="gnu")
    campaign.submit(RUN, team="otter")
    client = campaign.client("participant", "gnu")
    (row,) = campaign.get("/leaderboard", client).json()["rows"]
    lines = campaign.get("/leaderboard", client, format="csv").text.splitlines()
    assert lines == [
        "rank,run,team,metric,mean,low,high,groups,late,best_rank,worst_rank",
        f"1,worse,gnu,AP,{row['mean']['AP']!r},,,,no,,",
    ]
    assert refused(campaign.get("/leaderboard", campaign.client("reader"), format="csv")) == (403, "judgments-hidden")
    assert refused(campaign.get("/leaderboard", shared.anonymous, format="csv")) == (401, "not-authenticated")


def test_an_older_version_has_a_leaderboard_too(shared: Service) -> None:
    campaign = judged(shared)
    campaign.put_qrels("1 0 bad 1\n")
    assert _board(campaign, metric="AP", qrels=1)["rows"][0]["mean"] == {"AP": 0.75}
    assert _board(campaign, metric="AP")["rows"][0]["mean"] == {"AP": 0.5}


def test_a_leaderboard_is_the_same_compressed_or_not_whatever_ranks_it(shared: Service) -> None:
    campaign = judged(shared)
    campaign.submit(WORSE, team="gnu")
    metrics = ["RR", "Recall@10", *(f"P@{cutoff}" for cutoff in range(1, 20))]
    for by in ("RR", "Recall@10"):
        boards = [
            campaign.organiser.get(
                f"{campaign.path}/leaderboard",
                params={"metric": metrics, "by": by},
                headers={"Accept-Encoding": encoding},
            )
            for encoding in ("identity", "gzip")
        ]
        assert [answer.headers.get("content-encoding") for answer in boards] == [None, "gzip"]
        assert boards[0].json() == boards[1].json()
        assert (boards[0].json()["by"], len(boards[0].json()["rows"])) == (by, 2)
