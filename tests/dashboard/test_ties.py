"""The page of a run with ties shows what other orders of them would score, to those who may see the judgments."""

import pytest

from tests.api.test_ties import CLEAR, QRELS, TIED
from tests.world.campaigns import judged
from tests.world.people import Person
from tests.world.servers import ADMIN

HEADING = "Other orders of ties"


def page_of(campaign, run, token):
    """The page of a run, as somebody with this token sees it."""
    person = Person(campaign.service, token)
    found = person.get(f"/c/{campaign.path.rsplit('/', 1)[1]}/runs/{run}?metric=AP&metric=Pplus")
    assert found.status_code == 200
    return str(found.text)


@pytest.fixture
def campaign(shared):
    return judged(shared, TIED, CLEAR, qrels=QRELS)


def test_a_run_with_ties_has_the_range_of_its_means(campaign):
    page = page_of(campaign, "tied", ADMIN)
    ties = campaign.get("/scores", run="tied", metric="AP", ties="range").json()["runs"][0]["ties"]
    assert HEADING in page
    assert f"{ties['worst']['mean']['AP']:.4f} to {ties['best']['mean']['AP']:.4f}" in page
    assert HEADING not in page_of(campaign, "clear", ADMIN)


def test_while_judgments_are_hidden_a_participant_sees_no_range(campaign):
    assert campaign.change(topics="from-qrels", policy={"scores": "all", "parameters": "free"}).status_code == 200
    token = campaign.token("participant", "lemur")
    assert HEADING not in page_of(campaign, "tied", token)
    campaign.release()
    assert HEADING in page_of(campaign, "tied", token)
