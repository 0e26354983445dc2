"""A check of a file answers what its upload would answer, and so confirms nothing about another team's files."""

import pytest

from tests.world.campaigns import RUN, WORSE, judged, refused
from tests.world.people import Person

NAMES = ("theirs", "own", "free")


class Uploader(Person):
    """A participant in a browser, and what its scripts send."""

    def __init__(self, service, campaign, team):
        super().__init__(service, campaign.token("participant", team))
        self.collection = campaign.name
        self._text = self.csrf

    def send(self, action, text, name=None):
        headers = {"Origin": self.url, "X-CSRF-Token": self._text, "Accept": "application/json"}
        query = {"name": name} if name else {}
        return self.client.post(f"/c/{self.collection}/{action}", params=query, content=text, headers=headers)


@pytest.fixture
def campaign(shared):
    campaign = judged(shared)
    campaign.submit(WORSE, team="rival", name="theirs")
    campaign.submit(RUN, team="lemur", name="own")
    return campaign


@pytest.fixture
def uploader(campaign, shared):
    return Uploader(shared, campaign, "lemur")


def _said(answer):
    return refused(answer) if answer.is_error else answer.json()["name"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [RUN, WORSE, RUN + "2 Q0 other 9 0.01 tag\n"], ids=["own", "theirs", "new"])
def test_a_check_answers_as_the_upload(uploader, text, name):
    checked = uploader.send("check", text, name)
    assert _said(checked) == _said(uploader.send("runs", text, name))


def test_a_check_does_not_tell_whether_a_guess_is_a_rivals_file(uploader):
    right, wrong = (uploader.send("check", text, "theirs") for text in (WORSE, WORSE.replace("other", "guess")))
    assert (right.status_code, right.text) == (wrong.status_code, wrong.text)
    assert refused(right) == (409, "run-exists")


def test_a_check_takes_a_place_among_the_uploads_of_its_team(uploader, campaign):
    campaign.change(policy={"quotas": {"concurrent": 0}})
    assert refused(uploader.send("check", RUN)) == (403, "quota-exceeded")
