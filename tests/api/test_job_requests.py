"""What is wrong with a request for a job, and where."""

import pytest


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
        ({"metrics": ["AP", 7]}, "metrics.1"),
        ({"metrics": ["AP"], "trials": "ten"}, "trials"),
        ({"metrics": ["AP"], "fuzziness": [0.1, 2]}, "fuzziness.1"),
        ({"metrics": ["AP"], "runs": "some"}, "runs"),
        ({"metrics": ["AP"], "runs": {"top": 0, "by": "AP"}}, "runs.top"),
        ({"metrics": ["AP"], "runs": {"top": 3}}, "runs.by"),
        ({"metrics": ["AP"], "runs": {"top": 3, "by": "Nothing"}}, "runs.by"),
        ({"metrics": ["AP"], "runs": {"top": 2, "by": "AP", "of": 1}}, "runs.of"),
        ({"metrics": ["AP"], "base": -1}, "base"),
        ({"metrics": ["Q"], "beta": 10**400}, "beta"),
        ({"metrics": ["CG@10"]}, "metrics"),
        ({"metrics": ["AP", {"metric": "Nothing", "qrels": 1}]}, "metrics.1.metric"),
        ({"metrics": ["AP"], "against": {"metric": "AP", "qrels": "first"}}, "against.qrels"),
    ],
)
def test_the_place_of_a_fault_is_that_of_the_parameter(lab, params, place):
    kind = "rank-correlation" if "qrels" in f"{params}" or "against" in params else "stability"
    assert f"body.params.{place}" in _faults(lab, {"kind": kind, "params": params})
