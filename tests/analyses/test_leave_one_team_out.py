"""leave-one-team-out, against collections whose judgments lack the documents of one team."""

import random

import pytest

from gainboard.errors import InvalidRequest
from gainboard.evaluation import collections
from tests.world.campaigns import run_text
from tests.world.groves import SETTINGS, Laboratory, opened, tables_of

KIND = "leave-one-team-out"
METRICS = ["AP", "nDCG@10", "AP(condensed=true)", "AP(mean=geometric)"]
TEAMS = {"a-1": "ant", "a-2": "ant", "b-1": "bee", "c-1": "cat", "d-1": "cat"}
TOPICS = [str(number) for number in range(1, 9)]
DEPTH = 4


def rankings():
    """Twelve documents for each run and topic, in another order for each; `a-2` lacks a topic."""
    drawn = random.Random(3)
    return {
        run: {
            topic: drawn.sample([f"{topic}-{number}" for number in range(30)], 12)
            for topic in TOPICS
            if (run, topic) != ("a-2", "5")
        }
        for run in TEAMS
    }


RANKED = rankings()


def judgments():
    """Levels of all pooled documents, and of two others; on the last topic, only `bee` found something relevant."""
    drawn = random.Random(4)
    judged = {}
    for topic in TOPICS:
        tops = sorted({document for lists in RANKED.values() for document in lists.get(topic, [])[:DEPTH]})
        judged[topic] = {document: drawn.choice((0, 0, 1, 2)) for document in [*tops, f"{topic}-x", f"{topic}-y"]}
    own = unique("bee", DEPTH)
    judged["8"] = {document: int(("8", document) in own) for document in judged["8"]}
    return judged


def unique(team, depth):
    """The topics and documents that only this team has in its pool."""
    pools = {name: set() for name in TEAMS.values()}
    for run, lists in RANKED.items():
        pools[TEAMS[run]] |= {(topic, document) for topic, ranked in lists.items() for document in ranked[:depth]}
    return pools[team].difference(*(pool for name, pool in pools.items() if name != team))


def planted_in(laboratory, name, judged, teams=TEAMS):
    """A collection with these judgments and all runs; `d-1` is not pooled."""
    workspace, principal = laboratory.workspace, laboratory.principal
    collections.create(workspace, principal, SETTINGS | {"name": name, "title": name, "depth": 10})
    made = Laboratory(workspace, principal, name)
    made.judge("".join(f"{topic} 0 {doc} {level}\n" for topic, row in judged.items() for doc, level in row.items()))
    for run, team in teams.items():
        made.send(run, team, run_text(RANKED[run], run), pooled=run != "d-1")
    return made


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return planted_in(opened(tmp_path_factory.mktemp("pool")), "whole", judgments())


def averaged(laboratory, metric, topics):
    (by_run,) = laboratory.scores(metric).values()
    rows = {run: [value or 0.0 for topic, value in row.items() if topic in topics] for run, row in by_run.items()}
    return {run: sum(values) / len(values) for run, values in rows.items()}


@pytest.mark.parametrize("team", ["ant", "bee", "cat"])
def test_scores_are_those_of_a_collection_without_the_teams_documents(whole, team):
    found = whole.answer(KIND, metrics=["AP", "nDCG@10", "AP(condensed=true)"], contributors=list(TEAMS), pool_depth=3)
    removed = unique(team, 3)
    reduced = {
        topic: {document: level for document, level in row.items() if (topic, document) not in removed}
        for topic, row in judgments().items()
    }
    there = planted_in(whole, f"without-{team}", reduced)
    for metric in found["metrics"]:
        (own,) = (each for each in metric["teams"] if each["team"] == team)
        (scores,) = there.scores(metric["metric"]).values()
        lost = {topic for topic, value in scores["b-1"].items() if value is None}
        assert set(own["topics_undefined"]) == lost
        kept = set(TOPICS) - lost
        before, after = (averaged(each, metric["metric"], kept) for each in (whole, there))
        for each in own["runs"]:
            run = each["run"]
            assert (each["mean"], each["mean_without"]) == pytest.approx((before[run], after[run]))
            assert each["change"] == pytest.approx(after[run] - before[run])
            for name, means in (("rank", before), ("rank_without", after)):
                assert each[name] == 1 + sum(mean > means[run] + 1e-12 for mean in means.values())
    (counted,) = (each for each in found["teams"] if each["team"] == team)
    judged = judgments()
    known = {(topic, document) for topic, document in removed if document in judged[topic]}
    assert counted["unique"] == len(known)
    assert counted["unique_relevant"] == sum(judged[topic][document] > 0 for topic, document in known)


def test_a_topic_whose_relevant_documents_one_team_brought_is_undefined_without_it(whole):
    found = whole.answer(KIND, metrics=METRICS, pool_depth=DEPTH)
    for metric in found["metrics"]:
        assert {each["team"]: each["topics_undefined"] for each in metric["teams"]}["bee"] == ["8"]


def test_the_pools_depth_is_estimated_from_the_contributors(whole):
    found = whole.answer(KIND, metrics=["AP"])
    assert (found["pool_depth"], found["estimated"]) == (DEPTH, True)
    assert found["contributors"] == ["a-1", "a-2", "b-1", "c-1"]  # d-1 was uploaded as not pooled
    assert found["in_no_pool"] >= 2 * len(TOPICS)
    assert found["in_no_pool_share"] == found["in_no_pool"] / found["judged"]
    said = f"{found['in_no_pool']} of {found['judged']} judged documents"
    assert (found["note"] is not None) == (found["in_no_pool_share"] > 0.1)
    for table in tables_of(found):
        assert said in table.caption
        assert list(table.notes) == ([found["note"]] if found["note"] else [])
    assert [run["run"] for run in found["metrics"][0]["teams"][2]["runs"]] == ["c-1", "d-1"]
    assert not whole.answer(KIND, metrics=["AP"], pool_depth=DEPTH)["estimated"]


def test_an_unjudged_first_document_leaves_no_depth_to_estimate(whole):
    first = RANKED["c-1"]["1"][0]
    judged = {topic: {doc: level for doc, level in row.items() if doc != first} for topic, row in judgments().items()}
    shallow = planted_in(whole, "shallow", judged)
    with pytest.raises(InvalidRequest, match=r"such as \S-1, have an unjudged document at rank 1\. Give `pool_depth`"):
        shallow.launch(KIND, metrics=["AP"])
