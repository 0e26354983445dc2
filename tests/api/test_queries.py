"""Queries are declared once, and the parameters of metrics fit into each of them."""

from dataclasses import replace

import pytest

from gainboard.api import queries
from gainboard.dashboard.board import BoardQuery
from gainboard.metrics import query_parameters


@pytest.mark.parametrize("name", ["find", "pin", "team", "by", "wanted"])
def test_a_metric_cannot_have_a_parameter_that_a_board_means_otherwise(name, monkeypatch):
    more = {name: replace(query_parameters()["beta"], name=name)}
    monkeypatch.setattr(queries, "query_parameters", lambda: {**query_parameters(), **more})
    with pytest.raises(TypeError, match=f"'{name}'"):
        queries.asked_by(BoardQuery)


def test_all_faults_of_a_query_are_told_at_once_also_those_of_the_page(shared):
    answer = shared.organiser.get("/v1/jobs", params={"state": "lost", "kind": "verify", "limit": 0})
    assert answer.status_code == 422
    assert [fault["location"] for fault in answer.json()["errors"]] == ["query.state", "query.limit"]
