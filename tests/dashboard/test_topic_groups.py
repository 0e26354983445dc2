"""Topic groups on pages: their list, a board over one of them, and a board with a column for each."""

import csv
import re

import pytest

from tests.world.laboratories import Laboratory
from tests.world.people import Person
from tests.world.servers import ADMIN

HARD = ["2", "4", "5", "99"]


@pytest.fixture(scope="module")
def lab(shared):
    lab = Laboratory(shared, name="web")
    for name, topics in (("hard", HARD), ("easy", ["1", "6"])):
        assert lab.organiser.put(f"{lab.path}/topic-groups/{name}", json=topics).status_code == 201
    return lab


@pytest.fixture(scope="module")
def organiser(lab):
    return Person(lab.service, ADMIN)


def cells(page, run):
    """The numbers in the row of a run."""
    row = re.findall(rf'<tr id="run-{run}".*?</tr>', page, re.DOTALL)[0]
    return re.findall(r'<td class="num(?: other)?">([^<]*)</td>', row)


def test_a_board_over_a_group_shows_the_means_of_the_api(lab, organiser):
    page = organiser.get("/c/web?metric=AP&topics=hard").text
    for row in lab.get("/leaderboard", metric="AP", topics="hard").json()["rows"]:
        assert cells(page, row["name"])[0] == f"{row['mean']['AP']:.4f}"
    assert "topics: hard, 1 of its 4 without judgments" in page
    assert "<option selected>hard</option>" in page


def test_a_board_has_a_column_for_each_group_if_so_wanted(lab, organiser):
    page = organiser.get("/c/web?metric=AP&by_group=all").text
    for row in lab.get("/leaderboard", metric="AP", by_group="all").json()["rows"]:
        means = [row["mean"]["AP"], row["by_group"]["easy"]["AP"], row["by_group"]["hard"]["AP"]]
        assert cells(page, row["name"]) == [f"{mean:.4f}" for mean in means]
    assert len(cells(organiser.get("/c/web?metric=AP").text, "run-0")) == 1
    table = list(csv.reader(organiser.get("/c/web/board.csv?metric=AP&by_group=all").text.splitlines()))
    assert table[0][-2:] == ["mean:easy", "mean:hard"]


def test_the_page_of_topics_lists_the_groups_and_shows_one(organiser):
    page = organiser.get("/c/web/topics?metric=AP").text
    assert re.findall(
        r'<th scope="row">(easy|hard)</th>\s*<td class="num">(\d)</td><td class="num">(\d)</td>', page
    ) == [("easy", "2", "2"), ("hard", "4", "3")]
    of_one = organiser.get("/c/web/topics?metric=AP&topics=hard").text
    assert "Of the group hard, 3 of 4 topics have judgments." in of_one
    assert re.findall(r'topics/(\d)\?metric=AP&amp;topics=hard"', of_one) == HARD[:3]
    assert organiser.get("/c/web/topics/1?metric=AP&topics=hard").status_code == 200


def test_the_pages_of_a_run_and_of_a_pair_keep_the_group(lab, organiser):
    (run,) = lab.scores("AP", run="run-1", topics="hard")["runs"]
    assert f"{run['mean']['AP']:.4f}" in organiser.get("/c/web/runs/run-1?metric=AP&topics=hard").text
    assert organiser.get("/c/web/compare?run=run-1&run=run-2&metric=AP&topics=hard").status_code == 200


def test_while_judgments_are_hidden_a_participant_has_no_choice_of_topics(lab):
    lab.change(topics=["1", "2", "4", "5", "6"], policy={"presets": ["AP"]})
    person = Person(lab.service, lab.token("participant", "team-0"))
    assert 'name="topics"' not in person.get("/c/web").text
    for query in ("topics=hard", "by_group=all"):
        assert person.get(f"/c/web?{query}").status_code == 403
