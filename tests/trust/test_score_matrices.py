"""Until the release, uploaded scores are for organisers: they tell of the judgments, under any policy."""

import pytest

from tests.api.test_score_matrices import put, table
from tests.trust.target import WIDE_OPEN
from tests.world.campaigns import refused
from tests.world.laboratories import FEW, TOPICS, Laboratory

POLICIES = [{}, {"presets": ["AP"]}, {"presets": ["AP"], "scores": "all"}, WIDE_OPEN]
METRIC = "custom:nuggets"


@pytest.fixture
def lab(shared):
    lab = Laboratory(shared, topics=TOPICS)
    assert put(lab, table(), low=0, high=1).status_code == 201
    return lab


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_uploaded_scores_are_hidden_whether_they_exist_or_not(lab, policy):
    lab.change(policy=dict(policy))
    own = lab.client("participant", "team-0")
    # the organiser's answer must not be kept for others
    assert lab.get("/leaderboard", metric=METRIC).status_code == 200
    scores = ("/scores?metric=custom:{}", "/leaderboard?metric=custom:{}")
    for path in (*scores, "/compare?run=run-0&run=run-2&metric=custom:{}", "/score-matrices/{}"):
        there, absent = (own.get(lab.path + path.format(name)) for name in ("nuggets", "absent"))
        assert refused(there) == (403, "judgments-hidden"), path
        assert there.text == absent.text
    assert refused(lab.get("/score-matrices", own)) == (403, "judgments-hidden")
    assert refused(lab.get("/leaderboard", own, metric="AP", by=METRIC)) == (403, "judgments-hidden")
    asked = lab.ask("stability", own, metrics=["AP", METRIC], trials=FEW)
    assert refused(asked) == (403, "judgments-hidden")


def listed(client, lab):
    answer = client.get("/v1/jobs", params={"collection": lab.name, "limit": 1})
    return [each["id"] for each in answer.json()["items"]]


def test_a_job_about_uploaded_scores_is_hidden_even_where_jobs_are_open(lab):
    lab.change(policy=dict(WIDE_OPEN))
    own = lab.client("participant", "team-0")
    open_job = lab.finished(lab.ask("stability", metrics=["AP"], trials=FEW))["id"]
    job = lab.finished(lab.ask("stability", metrics=[METRIC], trials=FEW))["id"]
    assert listed(own, lab) == [open_job]
    assert listed(lab.organiser, lab) == [job]
    for below in ("", "/result", "/tables/curves.csv"):
        assert refused(own.get(f"/v1/jobs/{job}{below}")) == (404, "not-found")
    lab.release()
    assert listed(own, lab) == [job]
    assert own.get(f"/v1/jobs/{job}/result").status_code == 200
    assert lab.get("/leaderboard", own, metric=METRIC).status_code == 200


def test_only_organisers_upload_scores(lab):
    lab.release()
    for role, team in (("participant", "team-0"), ("reader", None)):
        assert refused(put(lab, table(), client=lab.client(role, team))) == (403, "forbidden")
