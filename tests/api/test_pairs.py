"""Pairs of runs in pages: the same as the result lists while they are few, and there where it lists none."""

import csv
from io import StringIO
from urllib.parse import urljoin

import pytest

from tests.world.campaigns import refused
from tests.world.laboratories import Laboratory, rotated
from tests.world.servers import new_settings, serving

ASKED = {"metrics": ["AP", "Q", "RR"], "resamples": 50, "correction": "holm"}
PAIRS = 7 * 6 // 2


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """Seven runs, where nobody works jobs but the tests."""
    with serving(new_settings(tmp_path_factory.mktemp("data"), job_slots=0)) as service:
        lab = Laboratory(service)
        for number in range(4, 7):
            lab.submit(rotated(number))
        yield lab, service.application.state.workspace


def worked(still, **params):
    return still[0].worked(still[0].ask("bootstrap-sensitivity", **ASKED | params))


def pages(lab, job, **query):
    url, found = f"{job['pairs_url']}", []
    answer = lab.organiser.get(url, params=query)
    while True:
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        if answer.json()["next_cursor"] is None:
            return found
        answer = lab.organiser.get(url, params=query | {"cursor": answer.json()["next_cursor"]})


def listed(result):
    return [{"metric": metric["metric"], **pair} for metric in result["metrics"] for pair in metric["pairs"]]


@pytest.fixture(scope="module")
def job(still):
    return worked(still)


@pytest.fixture(scope="module")
def pairs(still, job):
    return listed(still[0].organiser.get(job["result_url"]).json())


@pytest.mark.parametrize("limit", [1, 10, PAIRS, 500])
def test_pages_have_all_pairs_of_the_result_in_its_order(still, job, pairs, limit):
    assert len(pairs) == 3 * PAIRS
    assert pages(still[0], job, limit=limit) == pairs


@pytest.mark.parametrize("limit", [2, 500])
@pytest.mark.parametrize(
    "query",
    [{"run": "run-3"}, {"metric": "RR"}, {"significant": 0.9}, {"run": "run-0", "metric": "AP", "significant": 0.9}],
)
def test_pairs_are_chosen_by_run_metric_and_significance(still, job, pairs, query, limit):
    wanted = [
        pair
        for pair in pairs
        if query.get("run", pair["runs"][0]) in pair["runs"]
        and query.get("metric", pair["metric"]) == pair["metric"]
        and pair["asl_corrected"] < query.get("significant", 2)
    ]
    assert 0 < len(wanted) < len(pairs)
    assert pages(still[0], job, limit=limit, **query) == wanted


def test_many_pairs_are_not_listed_but_have_pages_and_csv(still, job, pairs, monkeypatch):
    lab, organiser = still[0], still[0].organiser
    monkeypatch.setattr("gainboard.jobs.results.MOST_LISTED", 3 * PAIRS - 1)
    monkeypatch.setattr("gainboard.analyses.bootstrap_sensitivity.MOST_POINTS", 5)
    many = worked(still, runs=[f"run-{number}" for number in range(7)])
    result = organiser.get(many["result_url"]).json()
    assert [metric["pairs"] for metric in result["metrics"]] == [None] * 3
    first = urljoin(f"http://host/root{many['result_url']}", result["metrics"][1]["pairs_url"])
    assert first.startswith(f"http://host/root{many['pairs_url']}?metric=Q")
    own = organiser.get(first.removeprefix("http://host/root") + "&limit=500").json()["items"]
    assert own == pairs[PAIRS : 2 * PAIRS]
    assert pages(lab, many) == pairs

    before = {table["name"]: table for table in job["tables"]}["pairs"]
    now = {table["name"]: table for table in many["tables"]}["pairs"]
    assert organiser.get(now["csv"]).text == organiser.get(before["csv"]).text
    assert (now["latex"], before["latex"]) == (None, before["csv"].replace(".csv", ".tex"))
    answer = organiser.get(now["csv"].replace(".csv", ".tex"))
    assert refused(answer) == (404, "not-found")
    assert "Get it as CSV" in answer.json()["detail"]

    curve, ranks = result["metrics"][0]["asl_curve"], result["asl_curve_ranks"]
    assert (ranks[0], ranks[-1], len(ranks)) == (1, PAIRS, 5)
    whole = organiser.get(job["result_url"]).json()["metrics"][0]["asl_curve"]
    assert curve == [whole[rank - 1] for rank in ranks]
    rows = list(csv.DictReader(StringIO(organiser.get(now["csv"]).text)))
    assert [float(row["asl"]) for row in rows] == [pair["asl"] for pair in pairs]
