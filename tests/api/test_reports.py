"""Reports asked for, waited for, read, listed and cancelled."""

import pytest

from tests.world.campaigns import refused
from tests.world.laboratories import Laboratory, after_work, qrels_text

DRAWN = "controlling-late-arrival-penalty"
"""A report of several jobs, some of which draw resamples."""


@pytest.fixture(scope="module")
def report(lab):
    return finished(lab, lab.report())


def finished(lab, asked):
    report = after_work(lab, asked.headers["location"])
    assert report["state"] == "succeeded", report
    return report


def states(lab, report):
    return [lab.organiser.get(job["url"]).json()["state"] for job in report["jobs"]]


def test_a_report_shows_its_jobs_and_how_far_they_are_together(idle):
    lab = Laboratory(idle)
    report = lab.report(DRAWN).json()
    assert (report["name"], report["collections"], report["state"]) == (DRAWN, [lab.name], "queued")
    jobs = [lab.organiser.get(job["url"]).json() for job in report["jobs"]]
    assert len({job["kind"] for job in jobs}) > 1
    assert report["progress"] == {"done": 0, "total": sum(job["progress"]["total"] for job in jobs)}


def test_several_collections_have_a_table_each_and_one_of_averages(shared):
    first, second = Laboratory(shared), Laboratory(shared)
    second.put_qrels(qrels_text(shift=1))
    asked = first.report(collections=[first.name, second.name])
    report = finished(first, asked)
    result = first.organiser.get(report["result_url"]).json()
    of_each = {each["name"]: each for each in result["tables"]}
    one, other = (of_each[f"tables-3-6a.{name}"] for name in (first.name, second.name))
    for mine, theirs, mean in zip(one["rows"], other["rows"], of_each["table-7a"]["rows"], strict=True):
        assert mine[0] == theirs[0] == mean[0]
        numbers = zip(mine[1:], theirs[1:], mean[1:], strict=True)
        assert all(c is None if a is None else c == pytest.approx((a + b) / 2) for a, b, c in numbers)
    assert of_each["table-7a"]["collection"] is None


def test_a_cancelled_report_takes_with_it_the_jobs_that_nobody_else_waits_for(idle):
    lab = Laboratory(idle)
    long, short = lab.report(DRAWN), lab.report(DRAWN, resamples=500)
    shared = {job["id"] for job in long.json()["jobs"]} & {job["id"] for job in short.json()["jobs"]}
    assert shared
    answers = [lab.organiser.delete(long.headers["location"]) for _ in range(2)]
    assert [each.status_code for each in answers] == [202, 200]
    assert {each.json()["state"] for each in answers} == {"cancelled"}
    found = {job["id"]: state for job, state in zip(long.json()["jobs"], states(lab, long.json()), strict=True)}
    assert {state for job, state in found.items() if job in shared} == {"queued"}
    assert {state for job, state in found.items() if job not in shared} == {"cancelled"}
    lab.organiser.delete(short.headers["location"])
    assert set(states(lab, short.json())) == {"cancelled"}


def test_a_cancelled_report_begins_again_by_the_same_request(shared):
    lab = Laboratory(shared)
    asked = lab.report(DRAWN, resamples=2000)
    lab.organiser.delete(asked.headers["location"])
    again = lab.report(DRAWN, resamples=2000)
    assert again.json()["id"] == asked.json()["id"]
    assert finished(lab, again)["error"] is None


def test_a_report_fails_with_the_first_of_its_jobs(idle):
    lab = Laboratory(idle)
    asked = lab.report(DRAWN)
    lost = asked.json()["jobs"][0]
    lab.organiser.delete(lost["url"])
    report = lab.organiser.get(asked.headers["location"]).json()
    assert report["state"] == "failed"
    assert report["error"] == f"Its job {lost['id']} ({lost['kind']}) was cancelled"
    answer = lab.organiser.get(f"{asked.headers['location']}/result")
    assert refused(answer) == (409, "no-result")
    again = lab.report(DRAWN)
    assert (again.status_code, again.json()["state"], again.json()["id"]) == (202, "queued", report["id"])


def test_only_who_sees_all_of_its_collections_sees_a_report(idle):
    lab, other = Laboratory(idle), Laboratory(idle)
    location = lab.report(collections=[lab.name, other.name]).headers["location"]
    own = lab.client("organiser")
    assert refused(own.get(location)) == (404, "not-found")
    assert refused(lab.report(client=own, collections=[lab.name, other.name])) == (404, "not-found")
    other.release(public=True)
    assert own.get(location).json()["collections"] == [lab.name, other.name]
    assert refused(own.delete(location)) == (403, "forbidden")
    other.organiser.delete(other.path)
    assert refused(lab.organiser.get(location)) == (404, "not-found")
