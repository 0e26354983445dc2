"""Replicates: several runs, or rows of scores, that are one system."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from tests.world.campaigns import Campaign, refused, run_text
from tests.world.laboratories import after_work
from tests.world.people import Person
from tests.world.servers import new_settings, serving

TAR = {"Content-Type": "application/x-tar"}
TOPICS = "12345678"
RANKS = {"dense-1": "12341234", "dense-2": "2143214 ", "dense-3": "11111111", "sparse": "33333333"}


def replicated(shared):
    """Return a campaign in which the one relevant document of a topic has these ranks; a blank lacks the topic."""
    campaign = Campaign(shared)
    campaign.put_qrels("".join(f"{topic} 0 a 1\n" for topic in TOPICS))
    for name, ranks in RANKS.items():
        found = {t: [*"xyz"[: int(rank) - 1], "a"] for t, rank in zip(TOPICS, ranks, strict=True) if rank != " "}
        system, _, seed = name.partition("-")
        campaign.submit(
            run_text(found, name), team="lab", name=name, **({"system": system, "replicate": seed} if seed else {})
        )
    return campaign


def rows_of(name):
    table = [
        [np.nan if rank == " " else 1 / int(rank) for rank in ranks] for run, ranks in RANKS.items() if name in run
    ]
    return np.array(table)


def test_a_system_is_a_row_of_the_board_whose_score_on_a_topic_is_the_mean_of_its_replicates(shared):
    board = replicated(shared).board(metric="RR")
    dense, sparse = board["rows"]
    scores = np.nanmean(rows_of("dense"), axis=0)
    assert (dense["name"], sparse["name"]) == ("dense", "sparse")
    assert dense["mean"]["RR"] == pytest.approx(scores.mean(), rel=1e-12)
    assert dense["interval"]["RR"] == pytest.approx(stats.t.interval(0.95, 7, scores.mean(), stats.sem(scores)))
    assert [(it["name"], it["replicate"], it["topics_missing"]) for it in dense["replicates"]] == [
        ("dense-1", "1", 0),
        ("dense-2", "2", 1),
        ("dense-3", "3", 0),
    ]
    assert [it["mean"]["RR"] for it in dense["replicates"]] == pytest.approx(np.nanmean(rows_of("dense"), axis=1))
    assert "replicates" not in sparse
    assert board["groups_test"]["topics"] == 8


def test_a_comparison_names_a_system_or_one_of_its_replicates(shared):
    campaign = replicated(shared)
    # Scores of the same runs, each alone, are kept: they are not those of the system, in which a gap is no 0.
    every = campaign.get("/compare", run=["dense-1", "dense-2", "dense-3"], baseline="sparse", metric="RR").json()
    assert [run["topics_missing"] for run in every["runs"]] == [0, 1, 0, 0]
    compared = campaign.get("/compare", run=["dense", "sparse"], metric="RR").json()["comparisons"][0]
    expected = np.nanmean(rows_of("dense"), axis=0) - 1 / 3
    assert compared["difference"] == pytest.approx(expected.mean())
    organiser = Person(campaign.service, campaign.token("organiser"))
    table = organiser.get(f"/c/{campaign.name}/compare.md?run=dense&run=sparse&metric=RR").text
    assert f"{expected.mean():.4f}" in table
    alone = campaign.get("/compare", run=["dense-1", "sparse"], metric="RR").json()["comparisons"][0]
    assert alone["difference"] == pytest.approx(rows_of("dense-1").mean() - 1 / 3)


def test_the_impact_of_judgments_is_that_on_systems(shared):
    campaign = replicated(shared)
    campaign.put_qrels("".join(f"{topic} 0 {'x' if topic == '1' else 'a'} 1\n" for topic in TOPICS))
    impact = campaign.organiser.get(f"{campaign.path}/qrels/2/impact", params={"metric": "RR", "against": 1}).json()
    means = {row["name"]: row["mean_before"] for row in impact["impact"][0]["runs"]}
    assert means == pytest.approx({"dense": np.nanmean(rows_of("dense"), axis=0).mean(), "sparse": 1 / 3})


def test_no_team_sends_a_replicate_of_another_teams_system(shared):
    campaign = replicated(shared)
    for asked in ({"name": "x", "system": "dense"}, {"name": "dense"}, {"name": "x", "system": "sparse"}):
        assert refused(campaign.submit(run_text({"1": ["q"]}, "x"), team="other", **asked)) == (409, "run-exists")


def test_the_same_file_is_stored_for_each_seed(shared):
    campaign = Campaign(shared)
    campaign.put_qrels("1 0 a 1\n")
    same = run_text({"1": ["a"]}, "x")
    for seed in "121":
        campaign.submit(same, team="lab", name=f"x-{seed}", system="x", replicate=seed)
    (row,) = campaign.board(metric="RR")["rows"]
    assert [it["name"] for it in row["replicates"]] == ["x-1", "x-2"]


LONG = "system,topic,replicate,accuracy\n" + "".join(
    f"{system},t{topic},{seed},{(topic * 7 + seed * 3 + len(system)) % 11 / 10}\n"
    for system, seeds in (("a b", 3), ("other", 1))
    for topic in range(8)
    for seed in range(seeds - (topic == 0 and seeds == 3))
).replace("accuracy", "value", 1)


def other_forms():
    """Return the same scores as JSON Lines, and as a row for each system and replicate."""
    names = ("system", "topic", "replicate", "value")
    records = [dict(zip(names, line.split(","), strict=True)) for line in LONG.splitlines()[1:]]
    yield "".join(json.dumps(record | {"value": float(record["value"])}) + "\n" for record in records)
    cells = {(it["system"], it["replicate"], it["topic"]): it["value"] for it in records}
    lines = [f"system,replicate,{','.join(f't{topic}' for topic in range(8))}\n"]
    for system, seed in dict.fromkeys(key[:2] for key in cells):
        scores = (cells.get((system, seed, f"t{topic}"), "") for topic in range(8))
        lines.append(f"{system},{seed},{','.join(scores)}\n")
    yield "".join(lines)


def test_a_column_of_replicates_makes_rows_of_one_system_in_each_form(shared):
    campaign = Campaign(shared, kind="scores", levels=None)
    address, boards = f"{campaign.path}/score-matrices/accuracy", []
    for content in (LONG, *other_forms()):
        answer = campaign.organiser.put(address, content=content)
        assert (answer.status_code, answer.json()["version"]) == (200 if boards else 201, 1)
        boards.append(campaign.board()["rows"])
    first, second = boards[0]
    assert boards[1] == boards[2] == boards[0]
    assert (first["name"], [it["replicate"] for it in first["replicates"]]) in (
        ("a-b", ["0", "1", "2"]),
        ("other", ["0"]),
    )
    named = first if first["name"] == "a-b" else second
    assert [it["topics_missing"] for it in named["replicates"]] == [0, 0, 1]
    by_topic = [np.mean([(topic * 7 + s * 3 + 3) % 11 / 10 for s in range(3 - (topic == 0))]) for topic in range(8)]
    assert list(named["mean"].values()) == pytest.approx([np.mean(by_topic)])
    compared = campaign.get("/compare", run=["other", "a-b"], metric="custom:accuracy").json()
    assert [(run["name"], run["topics_missing"]) for run in compared["runs"]] == [("other", 0), ("a-b", 0)]


def job_of(campaign, **params):
    """Return the id and the result of a job under reciprocal ranks."""
    asked = campaign.organiser.post(f"{campaign.path}/jobs", json={"kind": "rank-intervals", "params": params})
    job = after_work(campaign, asked.headers["location"])
    return job["id"], campaign.organiser.get(f"{asked.headers['location']}/result").json()


def test_jobs_take_systems_or_a_replicate_that_is_named(shared):
    campaign, metrics = replicated(shared), ["RR"]
    first, every = job_of(campaign, metrics=metrics)
    second, named = job_of(campaign, metrics=metrics, runs=["dense", "sparse"])
    third, alone = job_of(campaign, metrics=metrics, runs=["dense-1", "sparse"])
    assert (every["runs"], alone["runs"]) == (["dense", "sparse"], ["dense-1", "sparse"])
    assert every["replicates"] == {"dense": ["dense-1", "dense-2", "dense-3"], "sparse": ["sparse"]}
    assert "replicates" not in alone
    assert named["metrics"] == every["metrics"] != alone["metrics"]
    assert len({first, second, third}) == 3


def test_a_release_keeps_systems_and_replicates(shared, tmp_path):
    campaign = replicated(shared)
    campaign.release(public=True)
    job_of(campaign, metrics=["RR"])
    campaign.organiser.post(f"{campaign.path}/releases", json={"metrics": ["RR"]}).raise_for_status()
    address = f"{campaign.path}/releases/1/archive"
    packed = campaign.organiser.get(address).raise_for_status().content
    with serving(new_settings(tmp_path)) as other:
        made = other.organiser.post("/v1/imports", content=packed, headers=TAR)
        assert made.status_code == 201, made.text
        board = other.organiser.get(f"{campaign.path}/leaderboard", params={"metric": "RR"}).json()
        assert other.organiser.get(address).content == packed
    assert board["rows"] == campaign.board(metric="RR")["rows"]


def test_replicates_that_are_drawn_anew_make_intervals_longer(shared):
    campaign = replicated(shared)
    alone, both = (campaign.board(metric="RR", resample=drawn)["rows"] for drawn in ("topics", "topics+replicates"))
    rows, before = rows_of("dense"), alone[0]["interval"]["RR"]
    count = np.count_nonzero(~np.isnan(rows), axis=0)
    noise = (np.nansum((rows - np.nanmean(rows, axis=0)) ** 2, axis=0) / count**2).sum() / 8**2
    half, added = (before[1] - before[0]) / 2, stats.t.ppf(0.975, 7) ** 2 * noise
    low, high = both[0]["interval"]["RR"]
    assert (high - low) / 2 == pytest.approx(np.sqrt(half**2 + added))
    assert both[1] == alone[1]
    assert both[0]["mean"] == alone[0]["mean"]


def test_several_generations_of_an_answer_are_replicates_of_its_run(shared):
    campaign = Campaign(shared, kind="scores", levels=None)
    texts = [{"text": text, "importance": "vital"} for text in ("a", "b")]
    nuggets = "".join(json.dumps({"qid": topic, "nuggets": texts}) + "\n" for topic in "12")
    campaign.organiser.put(f"{campaign.path}/nuggets", content=nuggets).raise_for_status()
    lines = []
    for topic, replicate, labels in (("1", 1, "sn"), ("1", 2, "ss"), ("2", 1, "nn")):
        named = {"s": "support", "n": "not_support"}
        assigned = [it | {"assignment": named[label]} for it, label in zip(texts, labels, strict=True)]
        lines.append({"qid": topic, "run_id": "rag", "replicate": replicate, "nuggets": assigned})
    content = "".join(json.dumps(line) + "\n" for line in lines)
    campaign.organiser.put(f"{campaign.path}/answers/human", content=content).raise_for_status()
    (row,) = campaign.board(metric="nuggets:all(judge=human)")["rows"]
    assert (row["name"], [it["name"] for it in row["replicates"]]) == ("rag", ["rag-1", "rag-2"])
    assert [it["topics_missing"] for it in row["replicates"]] == [0, 1]
    assert list(row["mean"].values()) == [pytest.approx((0.75 + 0) / 2)]


SETS = {"model": "ab", "model-2": "ba", "model-3": "aa"}
REPEATS = ["model-2", "model-3"]


def judged_anew(shared):
    """Return the campaign with three sets of a judge, who finds `a` or `x` relevant; one set lacks a topic."""
    campaign = replicated(shared)
    for judge, found in SETS.items():
        found = found.replace("b", "x")
        lines = [f"{topic} 0 {found[int(topic) % 2]} 1\n" for topic in TOPICS if (topic, judge) != ("8", "model-2")]
        campaign.put_qrels("".join(lines), judgments=judge).raise_for_status()
    return campaign


def row_of(board, name):
    return next(row for row in board["rows"] if row["name"] == name)


def test_judgment_sets_of_one_judge_are_replicates_of_each_run(shared):
    campaign = judged_anew(shared)
    board = campaign.board(metric="RR", judgments="model", repeats=REPEATS)
    # The document x is first in `sparse`, and a is third; the judge finds one of them on each topic and in each set.
    of_sets = [[1 / 3 if found[int(t) % 2] == "a" else 1.0 for t in TOPICS] for found in SETS.values()]
    of_sets[1][7] = np.nan
    sparse = row_of(board, "sparse")
    assert sparse["mean"]["RR"] == pytest.approx(np.nanmean(of_sets, axis=0).mean(), rel=1e-12)
    told = [("model", 0), ("model-2", 1), ("model-3", 0)]
    assert [(it["replicate"], it["topics_missing"]) for it in sparse["replicates"]] == told
    seeds = [it["replicate"] for it in row_of(board, "dense")["replicates"]]
    assert seeds[::3] == ["1 model", "1 model-2", "1 model-3"]
    assert (
        campaign.board(metric="RR", judgments="model", repeats=[*REPEATS, *REPEATS, "model"])["rows"] == board["rows"]
    )


def test_a_citation_says_over_what_its_means_are(shared):
    campaign = judged_anew(shared)
    asked = {"metric": "RR", "format": "sentence"}

    def sentence(**query):
        return campaign.get("/leaderboard", **asked, **query).text

    assert "; 8 topics; means over the replicates of each system" in sentence()
    assert "means over" not in sentence(run=["dense-1", "sparse"])
    sets = {"judgments": "model", "repeats": REPEATS}
    assert "; 8 topics; means over the replicates of each system and 3 judgment sets" in sentence(**sets)
    assert "; 8 topics; means over 3 judgment sets." in sentence(**sets, run="sparse")
    campaign.release(public=True)
    campaign.organiser.post(f"{campaign.path}/releases", json={"metrics": ["RR"]}).raise_for_status()
    released = campaign.organiser.get(f"{campaign.path}/releases/1").json()
    assert "; 8 topics; means over the replicates of each system" in released["cite"]["sentence"]


def test_judgment_sets_that_repeat_others_are_about_no_more_topics_and_are_seen(shared):
    campaign = judged_anew(shared)
    answer = campaign.get("/leaderboard", metric="RR", judgments="model-2", repeats="model")
    assert refused(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["code"] == "more-topics"
    assert "'8'" in answer.json()["errors"][0]["message"]
    campaign.release(public=True)
    for name in ("model-2", "absent"):
        answer = campaign.get("/leaderboard", campaign.client("reader"), metric="RR", repeats=name)
        assert refused(answer) == (404, "not-found")


def test_participants_learn_nothing_of_sets_that_repeat_hidden_judgments(shared):
    campaign = judged_anew(shared)
    for name in ("model-2", "absent"):
        answer = campaign.get("/leaderboard", campaign.client("participant", "lab"), metric="RR", repeats=name)
        assert answer.status_code == 403
        assert name not in answer.text


def test_a_comparison_that_draws_replicates_anew_counts_their_noise(shared):
    campaign = replicated(shared)
    asked = {"run": ["dense", "sparse"], "metric": "RR", "margin": 0.3}
    alone, both = (
        campaign.get("/compare", **asked, resample=drawn).json()["comparisons"][0]
        for drawn in ("topics", "topics+replicates")
    )
    rows = rows_of("dense")
    count = np.count_nonzero(~np.isnan(rows), axis=0)
    noise = (np.nansum((rows - np.nanmean(rows, axis=0)) ** 2, axis=0) / count**2).sum() / 8**2
    differences = np.nanmean(rows, axis=0) - 1 / 3
    error = np.sqrt(differences.var(ddof=1) / 8 + noise)
    assert both["noise"] == pytest.approx(noise)
    assert both["interval"] == pytest.approx(stats.t.interval(0.95, 7, differences.mean(), error))
    levels = {test["name"]: test["asl"] for test in both["tests"]}
    assert levels["t-test"] == pytest.approx(2 * stats.t.sf(differences.mean() / error, 7))
    assert not levels.keys() & {"wilcoxon", "sign"}
    assert levels["bootstrap-range"] > next(it["asl"] for it in alone["tests"] if it["name"] == "bootstrap-range")
    assert both["topics"] == alone["topics"]
    assert "noise" not in alone


def test_the_warning_about_lacking_topics_knows_of_other_replicates(shared):
    campaign = replicated(shared)
    warnings = {name: campaign.read(f"/runs/{name}")["warnings"][0]["message"] for name in ("dense-2",)}
    said = "The run lacks topics of the qrels; where no other replicate has them, these score 0: 8."
    assert warnings == {"dense-2": said}


def test_a_replicate_is_not_compared_with_its_own_system(shared):
    campaign = replicated(shared)
    for asked in ({"run": ["dense", "dense-1"]}, {"run": "dense", "baseline": "dense-1"}, {"baseline": "dense-1"}):
        answer = campaign.get("/compare", metric="RR", **asked)
        assert refused(answer) == (422, "invalid-request")
        assert answer.json()["errors"][0]["code"] == "replicate-of-system"


def test_a_run_that_a_replicate_joins_is_one_of_its_system(shared):
    campaign = Campaign(shared)
    campaign.put_qrels("1 0 a 1\n2 0 a 1\n")
    campaign.submit(run_text({"1": ["a"], "2": ["a"]}, "x"), team="lab", name="dense")
    campaign.submit(run_text({"1": ["x", "a"]}, "y"), team="lab", name="second", system="dense", family="acme")
    campaign.submit(run_text({"1": ["x", "a"], "2": ["a"]}, "z"), team="lab", name="other")
    rows = campaign.board(metric="RR", bounds=True)["rows"]
    assert {row["name"]: row["numbers"] for row in rows} == {
        "dense": {},
        "other": {"RR": {"unjudged_nonrelevant": 0.75, "unjudged_relevant": 1.0}},
    }
    assert [row["name"] for row in campaign.board(metric="RR", exclude_family="acme")["rows"]] == ["other"]


def test_standardised_means_are_of_systems_and_draw_topics_alone(shared):
    campaign = replicated(shared)
    campaign.submit(run_text({topic: ["a"] for topic in TOPICS}, "first"), team="lab", name="first")
    asked = {"metric": "RR", "standardise": "linear", "reference": ["first", "sparse"]}
    board = campaign.board(**asked)
    # The references score 1 and 1/3: their mean is 2/3, and their deviation the root of 2/9.
    expected = 0.15 * (rows_of("dense") - 2 / 3) / np.sqrt(2 / 9) + 0.5
    dense = row_of(board, "dense")
    assert dense["mean"]["RR"] == pytest.approx(np.nanmean(expected, axis=0).mean())
    assert [it["mean"]["RR"] for it in dense["replicates"]] == pytest.approx(np.nanmean(expected, axis=1))
    assert board["resample"] == "topics"
    answer = campaign.get("/leaderboard", **asked, resample="topics+replicates")
    assert refused(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["location"] == "query.resample"


def cells(page):
    """Return the text of the rows of all tables of a page."""
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    return [
        re.findall(r"[^\s<>]+(?=[^<>]*<)", re.sub(r"<(span class=.sr|svg).*?</(span|svg)>", "", row)) for row in rows
    ]


def test_pages_of_runs_and_topics_have_the_scores_of_each_replicate(shared):
    campaign = replicated(shared)
    person = Person(campaign.service, campaign.token("organiser"))
    at = f"/c/{campaign.name}"
    # A replicate that is named is a run: its gap is a zero, as in its scores.
    (mean,) = campaign.scores("RR", run="dense-2")["runs"][0]["mean"].values()
    page = person.get(f"{at}/runs/dense-2?metric=RR").text
    assert [row[:2] for row in cells(page) if row[0] == "RR"] == [["RR", f"{mean:.4f}"]]
    assert "Rank of 2" in page
    rows = [row for row in cells(person.get(f"{at}/topics/8?metric=RR").text) if row[0] in RANKS]
    assert [(row[0], row[-1]) for row in rows] == [
        ("dense-3", "1.0000"),
        ("sparse", "0.3333"),
        ("dense-1", "0.2500"),
        ("dense-2", "–"),
    ]
    # The one judged document is among the first two, of one or two, on some topics: means over replicates, then topics.
    assert "60 %" in person.get(f"{at}?metric=P@2").text


def test_while_judgments_are_hidden_a_gap_of_one_replicate_is_none_of_its_system(shared):
    campaign = Campaign(shared, topics=[*TOPICS], policy={"presets": ["RR"], "scores": "own-mean", "coverage": 0.5})
    campaign.put_qrels(judged := "".join(f"{topic} 0 a 1\n" for topic in TOPICS))
    own = campaign.client("participant", "own")
    for seed, lacking in enumerate(("8", "67", "78")):
        found = {topic: ["a"] for topic in TOPICS if topic not in lacking}
        campaign.submit(run_text(found, str(seed)), own, name=f"d-{seed}", system="d", replicate=str(seed))
    (row,) = campaign.read("/leaderboard", own, metric="RR")["rows"]
    assert (row["topics_missing"], row["mean"]) == (0, {"RR": 1.0})
    campaign.put_qrels(f"{judged}1 0 another 0\n")  # nobody retrieves it, and it is not relevant
    page = Person(campaign.service, campaign.token("participant", "own")).get(f"/c/{campaign.name}/submissions").text
    assert "New judgments changed" not in page
    assert page.count('<td class="num">1.000</td>') == 3
