"""The page that says how many topics are needed."""

import re

import pytest

from tests.world.people import Person
from tests.world.servers import ADMIN


@pytest.fixture
def organiser(demo_service):
    """Somebody who is signed in."""
    return Person(demo_service, ADMIN)


def said(person, query=""):
    """The status, and the number of topics or the message."""
    answer = person.get(f"/help/design{query}")
    found = re.search(r'<p class="(?:said-score|message.*?)".*?>(.*?)</p>', answer.text)
    assert found is not None
    return answer.status_code, re.sub(r"</?b>", "", found[1])


def test_the_page_says_what_the_api_does_to_whom_the_api_does(organiser, demo_service):
    sent = {"method": "interval", "width": 0.15, "difference_variance": 0.1, "correlation": 0.8, "topics": 200}
    topics = demo_service.organiser.post("/v1/design", json=sent).json()["topics"]
    assert said(organiser) == (200, f"{topics} topics of people")
    query = "?method=t-test&difference=0.5&difference_variance=1&width=&correlation=&topics=&power="
    assert said(organiser, query) == (200, "34 topics")
    assert said(organiser, "?method=anova&difference=0.1&runs=100&variance=0.05") == (200, "405 topics")
    assert said(organiser, "?method=t-test&difference=0.5&variance=0.5") == (200, "34 topics")
    stranger = Person(demo_service)
    assert said(stranger) == (200, "Sign in to compute a design.")


def test_a_design_that_cannot_be_is_refused_beside_the_form(organiser):
    status, message = said(organiser, "?method=interval&width=0.1&variance=1&correlation=2")
    assert (status, message) == (422, "correlation is 2. Give a number from 0 to 1.")
    assert organiser.get("/help/design?width=wide").status_code == 422
