"""What a result looks like in each form, and what is said where there is none."""

import hashlib

import pytest

from tests.world.laboratories import Laboratory, rotated, work


@pytest.fixture
def alone(still):
    lab, workspace = Laboratory(still), still.application.state.workspace
    yield lab, workspace
    lab.organiser.delete(lab.path).raise_for_status()


def test_a_large_result_comes_in_pieces_and_whole(shared):
    lab = Laboratory(shared)
    for number in range(4, 9):
        lab.submit(rotated(number))
    fuzziness = [number / 100 for number in range(100)]
    asked = lab.ask(metrics=[f"P@{cutoff}" for cutoff in range(1, 181)], trials=1, per_pair=True, fuzziness=fuzziness)
    answer = lab.organiser.get(lab.worked(asked)["result_url"], headers={"Accept-Encoding": "identity"})
    assert len(answer.content) > 4 << 20
    assert "content-length" not in answer.headers
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    assert len(answer.json()["metrics"]) == 180


def test_a_figure_that_is_opened_by_itself_loads_nothing(alone):
    lab, workspace = alone
    url = lab.worked(lab.ask())["figures"][0]["svg"]
    lab.organiser.get(url)
    work(workspace)
    figure = lab.organiser.get(url)
    policy = figure.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "base-uri 'none'; frame-ancestors 'none'" in policy


def test_no_request_parses_a_result(alone, monkeypatch):
    lab, workspace = alone
    url = lab.ask().headers["location"]
    report = lab.report().headers["location"]
    work(workspace)
    monkeypatch.setattr("gainboard.jobs.results.from_json", None)
    for place in (url, report):
        shown = lab.organiser.get(place).json()
        assert shown["state"] == "succeeded"
        tables = [table[form] for table in shown["tables"] for form in ("csv", "latex")]
        for each in (f"{place}/result", *tables):
            assert lab.organiser.get(each).status_code == 200
