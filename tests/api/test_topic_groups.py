"""Topic groups: stored, listed and deleted; scores, boards, comparisons, jobs and reports over their topics alone."""

from statistics import fmean

import pytest

from tests.api.changes import log
from tests.world.campaigns import codes, refused
from tests.world.laboratories import SHORT, Laboratory

HARD = ["2", "4", "5", "6"]
"""Topics with relevant documents."""
METRICS = ("AP", "Q", "nDCG@5", "AP(mean=geometric)", "ADM")


def put(lab, name="hard", topics=HARD, client=None):
    return (client or lab.organiser).put(f"{lab.path}/topic-groups/{name}", json=topics)


def laboratory(service):
    lab = Laboratory(service)
    assert put(lab).status_code == 201
    return lab


@pytest.fixture
def lab(shared):
    return laboratory(shared)


def test_changes_are_in_the_audit_log_and_an_equal_group_changes_nothing(lab):
    put(lab)
    put(lab, topics=["1"])
    lab.organiser.put(f"{lab.path}/topic-groups", content="topic,group\n1,hard\n")  # as it is
    lab.organiser.delete(f"{lab.path}/topic-groups/hard")
    found = [(each["action"], each["details"]) for each in log(lab.organiser, lab.path)]
    assert [each for each in found if each[0].startswith("topic-group")] == [
        ("topic-group-put", {"topics": HARD}),
        ("topic-group-put", {"before": 4, "topics": ["1"]}),
        ("topic-group-deleted", {"topics": ["1"]}),
    ]


def test_scores_over_a_group_are_those_of_its_topics(lab):
    whole, some = (lab.scores(*METRICS, topics=topics) for topics in ("all", "hard"))
    assert some["topic_group"] == {"name": "hard", "topics": 4, "judged": 4, "unjudged": []}
    assert "topic_group" not in whole
    for all_topics, run in zip(whole["runs"], some["runs"], strict=True):
        for label, scores in run["topics"].items():
            assert scores == {topic: all_topics["topics"][label][topic] for topic in HARD}
        defined = [score for score in run["topics"]["AP"].values() if score is not None]
        assert run["mean"]["AP"] == pytest.approx(fmean(defined), abs=1e-15)


def test_topics_of_a_group_that_are_not_judged_are_said(lab):
    put(lab, topics=["1", "98", "99"])
    found = lab.scores("AP", topics="hard")
    assert found["topic_group"] == {"name": "hard", "topics": 3, "judged": 1, "unjudged": ["98", "99"]}
    assert found["topics_scored"] == {"AP": 1}
    put(lab, topics=["98", "99"])
    assert codes(lab.get("/scores", topics="hard")) == ["no-judged-topics"]


def test_a_board_has_a_column_for_each_group(lab):
    put(lab, "easy", ["1", "99"])
    found = lab.get("/leaderboard", metric=["AP", "Q"], by_group="all").json()
    assert [(each["name"], each["judged"], each["topics_scored"]["AP"]) for each in found["by_group"]] == [
        ("easy", 1, 1),
        ("hard", 4, 4),
    ]
    for name in ("easy", "hard"):
        own = lab.get("/leaderboard", metric=["AP", "Q"], topics=name).json()["rows"]
        assert {row["name"]: row["by_group"][name] for row in found["rows"]} == {r["name"]: r["mean"] for r in own}
    of_one = lab.get("/leaderboard", metric="AP", topics="hard", by_group=["easy", "hard"]).json()
    assert [list(row["by_group"]) for row in of_one["rows"]] == [["easy", "hard"]] * 4
    assert all(row["by_group"]["hard"] == row["mean"] for row in of_one["rows"])


def test_a_job_about_a_group_is_that_about_its_topics_and_keeps_them(lab):
    job = lab.worked(lab.ask(**SHORT, topics="hard"))
    assert job["params"]["topics"] == {"group": "hard", "topics": HARD}
    result = lab.organiser.get(job["result_url"]).json()
    assert result["topic_group"] == {"name": "hard", "topics": 4, "judged": 4, "unjudged": []}
    assert result["topics"] == 4
    assert lab.ask(**SHORT, topics="hard").json()["id"] == lab.ask(**job["params"]).json()["id"] == job["id"]
    listed = lab.worked(lab.ask(**SHORT, topics=[*reversed(HARD), "2"]))
    assert listed["params"]["topics"] == HARD
    unnamed = lab.organiser.get(listed["result_url"]).json()
    assert {**unnamed, "topic_group": None} == {**result, "topic_group": None}
    put(lab, topics=["1", *HARD[1:]])
    assert refused(lab.ask(**job["params"])) == (422, "invalid-request")
    assert lab.ask(**SHORT, topics="hard").json()["id"] != job["id"]
    assert lab.organiser.get(job["result_url"]).json() == result
    assert lab.ask(**SHORT).json()["id"] == lab.ask(**SHORT, topics="all").json()["id"]
