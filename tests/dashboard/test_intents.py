"""Pages of a collection with judgments by intent."""

import pytest

from tests.api.test_intents import QRELS, RUN
from tests.world.campaigns import judged
from tests.world.people import Person
from tests.world.servers import ADMIN


@pytest.fixture(scope="module")
def organiser(shared):
    judged(shared, RUN, qrels=QRELS, intents=True, name="diverse")
    return Person(shared, ADMIN)


def test_the_pages_say_what_levels_and_files_are(organiser):
    assert "highest over the intents" in organiser.get("/c/diverse/topics/1?metric=alpha-nDCG@5").text
    assert "gainboard qrels put qrels.txt -c diverse --iprob iprob.txt" in organiser.get("/c/diverse/judgments").text
    assert organiser.get("/c/diverse?metric=NRBP&metric=AP(ia=equal)").status_code == 200


def test_only_graded_metrics_are_tried_with_gains(organiser):
    for name, are_graded in (("alphanDCG", False), ("NRBP", False), ("AP", False), ("DnDCG", True), ("RnDCG", True)):
        page = organiser.get(f"/help/metrics/{name}").text
        assert ("Cumulated gain" in page) == are_graded, name


def test_an_alias_is_shown_with_what_it_stands_for(organiser):
    assert "gm_map (with mean=geometric)" in organiser.get("/help/metrics/AP").text
