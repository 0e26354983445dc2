"""What is wrong with a request for a job, and where."""

import pytest

from gainboard.analyses.job_kinds import every_kind
from tests.world.campaigns import refused
from tests.world.laboratories import SHORT


def _faults(lab, sent):
    answer = lab.organiser.post(f"{lab.path}/jobs", json=sent)
    assert answer.status_code == 422, answer.text
    faults = {}
    for each in answer.json()["errors"]:  # of several at a place, one is that of the form that was meant
        faults[each["location"]] = faults.get(each["location"], "") + each["message"]
    return faults


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({}, "metrics"),
        ({"metrics": []}, "metrics"),
        ({"metrics": ["AP", 7]}, "metrics.1"),
        ({"metrics": ["AP"], "trials": 0}, "trials"),
        ({"metrics": ["AP"], "trials": 10**9}, "trials"),
        ({"metrics": ["AP"], "trials": "ten"}, "trials"),
        ({"metrics": ["AP"], "fuzziness": [0.1, 2]}, "fuzziness.1"),
        ({"metrics": ["AP"], "runs": "some"}, "runs"),
        ({"metrics": ["AP"], "runs": {"top": 0, "by": "AP"}}, "runs.top"),
        ({"metrics": ["AP"], "runs": {"top": 3}}, "runs.by"),
        ({"metrics": ["AP"], "runs": {"top": 3, "by": "Nothing"}}, "runs.by"),
        ({"metrics": ["AP"], "runs": ["run-1"]}, "runs"),
        ({"metrics": ["AP", "Nothing"]}, "metrics.1"),
        ({"metrics": ["AP", "Q(gains=1:2)"]}, "metrics.1"),
        ({"metrics": ["AP"], "gains": "1:2"}, "gains"),
        ({"metrics": ["AP"], "base": -1}, "base"),
        ({"metrics": ["Q"], "beta": 10**400}, "beta"),
        ({"metrics": ["CG@10"]}, "metrics"),
        ({"metrics": ["AP"], "subset_size": 8}, "subset_size"),
        ({"metrics": ["AP"], "trails": 5}, "trails"),
    ],
)
def test_the_place_of_a_fault_is_that_of_the_parameter(lab, params, place):
    assert f"body.params.{place}" in _faults(lab, {"kind": "stability", "params": params})


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"metrics": ["AP", {"metric": "Nothing", "qrels": 1}]}, "metrics.1.metric"),
        ({"metrics": ["AP", {"metric": "AP", "qrels": 0}]}, "metrics.1.qrels"),
        ({"metrics": ["AP", {"metric": "AP"}]}, "metrics.1"),
        ({"metrics": ["AP"], "against": {"metric": "AP", "qrels": "first"}}, "against.qrels"),
    ],
)
def test_the_place_of_a_fault_is_that_within_an_entry(lab, params, place):
    assert f"body.params.{place}" in _faults(lab, {"kind": "rank-correlation", "params": params})


def test_a_qrels_version_that_is_not_there_is_not_found_at_its_place(lab):
    answer = lab.ask("rank-correlation", metrics=["AP", {"metric": "AP", "qrels": 9}])
    assert refused(answer) == (404, "not-found")
    assert answer.json()["errors"][0]["location"] == "body.params.metrics.1.qrels"


def test_an_unknown_parameter_is_told_which_there_are(lab):
    message = _faults(lab, {"kind": "stability", "params": {**SHORT, "trails": 5}})["body.params.trails"]
    assert "trials" in message
    assert "subset_size" in message
    faults = _faults(lab, {"kind": "stability", "params": {**SHORT, "runs": {"top": 2, "by": "AP", "of": 1}}})
    assert "by, top" in faults["body.params.runs.of"]
    assert "kind, params" in _faults(lab, {"kind": "stability", "params": SHORT, "stability": 1})["body.stability"]


@pytest.mark.parametrize("sent", [{}, {"kind": "nothing", "params": SHORT}, {"params": SHORT}])
def test_an_unknown_kind_is_told_which_there_are(lab, sent):
    assert all(kind.name in _faults(lab, sent)["body.kind"] for kind in every_kind())


@pytest.mark.parametrize("sent", [[], "text", 7, None])
def test_a_body_that_is_no_request_is_refused(lab, sent):
    assert "body" in _faults(lab, sent)


def test_too_costly_a_job_is_refused_with_the_bound(lab):
    metrics = [f"AP(rel={1 + number % 2})@{number}" for number in range(1, 201)]
    faults = _faults(lab, {"kind": "stability", "params": {"metrics": metrics, "trials": 10**6}})
    assert "100000" in faults["body.params.trials"]


def test_an_unknown_run_or_version_is_not_found(lab):
    assert refused(lab.ask(**SHORT, runs=["run-1", "nobody"])) == (404, "not-found")
    assert refused(lab.ask(**SHORT, qrels=9)) == (404, "not-found")


def test_wait_is_at_most_half_a_minute(lab):
    url = lab.ask().headers["location"]
    for wait in ("31", "-1", "nan", "long"):
        answer = lab.organiser.get(url, params={"wait": wait})
        assert [each["location"] for each in answer.json()["errors"]] == ["query.wait"]
