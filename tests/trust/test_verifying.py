"""Verifications and releases tell nobody more than what they are about does."""

from tests.api.test_score_matrices import put, table
from tests.trust.target import WIDE_OPEN
from tests.trust.test_score_matrices import METRIC, listed
from tests.waiting import over
from tests.world.campaigns import refused
from tests.world.laboratories import FEW, TOPICS, Laboratory, qrels_text


def verified(lab, path, client=None):
    asked = (client or lab.organiser).post(f"{path}/verify").raise_for_status()
    done = over(lab.organiser, asked.headers["location"])
    assert done["state"] == "succeeded", done["error"]
    return str(done["id"])


def absent(client, job):
    paths = ("", "/result", "/tables/verified.csv", "/dependencies")
    return all(refused(client.get(f"/v1/jobs/{job}{path}")) == (404, "not-found") for path in paths)


def test_where_scores_are_open_the_hashes_of_hidden_judgments_are_not(shared):
    lab = Laboratory(shared)
    lab.change(policy=dict(WIDE_OPEN))
    own = lab.client("participant", "team-0")
    job = lab.finished(lab.ask("stability", metrics=["AP"], trials=FEW))["id"]
    assert own.get(f"/v1/jobs/{job}/result").status_code == 200
    assert refused(own.get(f"/v1/jobs/{job}/dependencies")) == (403, "judgments-hidden")
    assert verified(lab, f"/v1/jobs/{job}", own) == listed(own, lab)[0]
    assert refused(lab.organiser.post(f"{lab.path}/releases", json={})) == (409, "conflict")
    assert refused(own.get(f"{lab.path}/releases")) == (403, "judgments-hidden")


def test_what_verifies_a_job_about_uploaded_scores_is_as_hidden_as_the_job(shared):
    lab = Laboratory(shared, topics=TOPICS)
    assert put(lab, table(), low=0, high=1).status_code == 201
    lab.change(policy=dict(WIDE_OPEN))
    own = lab.client("participant", "team-0")
    job = lab.finished(lab.ask("stability", metrics=[METRIC], trials=FEW))["id"]
    assert refused(own.post(f"/v1/jobs/{job}/verify")) == (404, "not-found")
    check = verified(lab, f"/v1/jobs/{job}")
    assert absent(own, check)
    assert check not in listed(own, lab)
    lab.release()
    assert own.get(f"/v1/jobs/{check}/result").json()["outcome"] == "identical"


def test_what_verifies_a_job_about_a_draft_is_for_organisers(shared):
    lab = Laboratory(shared)
    lab.release(public=True)
    lab.draft(qrels_text(1))
    job = lab.finished(lab.ask("stability", metrics=["AP"], trials=FEW, qrels=2))["id"]
    check = verified(lab, f"/v1/jobs/{job}")
    assert absent(lab.client("reader"), check)
    assert lab.organiser.get(f"/v1/jobs/{check}/result").json()["outcome"] == "identical"


def test_what_verifies_a_report_needs_the_view_of_all_its_collections(shared):
    lab, other = Laboratory(shared), Laboratory(shared)
    for each in (lab, other):
        each.release(public=True)
    asked = lab.report(client=shared.organiser, collections=[lab.name, other.name])
    report = over(shared.organiser, asked.headers["location"])["id"]
    check = verified(lab, f"/v1/reports/{report}", shared.organiser)
    reader = lab.client("reader")
    assert reader.get(f"/v1/jobs/{check}/result").json()["outcome"] == "identical"
    other.change(policy={"phase": "hidden"}, public=False)
    assert absent(reader, check)
    assert check not in listed(reader, lab)
    assert shared.organiser.get(f"/v1/jobs/{check}").status_code == 200
