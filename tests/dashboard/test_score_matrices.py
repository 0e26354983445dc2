"""Scores from elsewhere on pages: listed beside the judgments, and a metric on the board."""

import pytest

from tests.api.test_score_matrices import put, table
from tests.world.laboratories import Laboratory
from tests.world.people import Person
from tests.world.servers import ADMIN


@pytest.fixture(scope="module")
def lab(shared):
    lab = Laboratory(shared, name="web")
    assert put(lab, table(), low=0, high=1).status_code == 201
    assert put(lab, table(), "seconds", direction="down").status_code == 201
    return lab


@pytest.fixture(scope="module")
def organiser(lab):
    return Person(lab.service, ADMIN)


def test_the_page_of_judgments_lists_uploaded_scores(organiser):
    page = organiser.get("/c/web/judgments").text
    assert "<code>custom:nuggets</code>" in page
    assert "0.0 to 1.0" in page
    assert "<td>lower</td>" in page


def test_the_board_and_the_page_of_a_run_take_uploaded_scores(lab, organiser):
    board = organiser.get("/c/web?metric=custom:nuggets&metric=AP").text
    assert '<option value="custom:seconds">' in board
    (run,) = lab.scores("custom:nuggets", run="run-3")["runs"]
    assert f"{run['mean']['custom:nuggets(version=1)']:.4f}" in board
    page = organiser.get("/c/web/runs/run-0?metric=custom:seconds").text
    assert "custom:seconds(version=1)" in page
    assert "/help/metrics/custom" not in page
    assert organiser.get("/c/web/topics?metric=custom:nuggets").status_code == 200
    assert organiser.get("/c/web/compare?run=run-1&run=run-2&metric=custom:seconds").status_code == 200


def test_while_judgments_are_hidden_a_participant_sees_no_uploaded_scores(lab):
    lab.change(policy={"scores": "all", "parameters": "free", "decimals": 15, "coverage": 0})
    person = Person(lab.service, lab.token("participant", "team-0"))
    assert "custom:" not in person.get("/c/web?metric=AP").text
    assert person.get("/c/web?metric=custom:nuggets").status_code == 403
