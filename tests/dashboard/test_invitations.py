"""Invitations: a link that gives a team its token, once."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from gainboard.evaluation import invitations
from tests.world.campaigns import RUN, judged
from tests.world.people import Person
from tests.world.servers import ADMIN


@pytest.fixture
def campaign(sqlite_service):
    """A hidden campaign with judgments and a run."""
    return judged(sqlite_service, name="web", title="Web track")


@pytest.fixture
def organiser(campaign):
    """The organiser, signed in."""
    return Person(campaign.service, ADMIN)


@pytest.fixture
def guest(campaign):
    """Somebody who has a link."""
    return Person(campaign.service)


def links(organiser):
    """The links on the page of teams, by team."""
    text = organiser.get("/c/web/teams").text
    return dict(re.findall(r"<b>([\w.-]+)</b>: the link.*?>(http[^<]+/join#[^<]+)</code>", text, re.DOTALL))


def invite(organiser, names):
    """Invites teams. Returns the links that the page then shows."""
    answer = organiser.post("/c/web/teams", csrf=organiser.csrf, teams=names)
    assert (answer.status_code, answer.headers["location"]) == (303, "/c/web/teams")
    return links(organiser)


def code_of(link):
    return link.partition("#")[2]


def accepted(guest, link):
    """The token that the page shows after the button was pressed."""
    answer = guest.post("/join/accept", code=code_of(link))
    assert (answer.status_code, answer.headers["location"]) == (303, "/c/web/joined"), answer.text
    (token,) = re.findall(r'<code id="token">(gainboard_[^<]+)</code>', guest.get("/c/web/joined").text)
    return str(token)


def revoke(organiser, identity):
    answer = organiser.post(f"/c/web/tokens/{identity}/revoke", csrf=organiser.csrf, back="teams")
    assert (answer.status_code, answer.headers["location"]) == (303, "/c/web/teams")


def tokens(campaign):
    """The team of each token, whether it is an invitation, and whether it was revoked."""
    items = campaign.get("/tokens").json()["items"]
    of_teams = [each for each in items if each["team"]]
    return sorted((each["team"], each["is_invitation"], each["revoked_at"] is not None) for each in of_teams)


def test_a_link_gives_a_token_and_a_session_and_nothing_happens_before(campaign, organiser, guest):
    shown = invite(organiser, "otter\nnewt, lemur")
    assert list(shown) == ["lemur", "newt", "otter"]
    code = code_of(shown["otter"])
    # Opened, and looked at as often as one likes, it shows whose invitation it is.
    assert "Code" in guest.get("/join").text
    for _ in range(2):
        text = guest.post("/join", code=code).text
        assert "Web track" in text
        assert "Join as otter" in text
    assert not guest.is_signed_in
    token = accepted(guest, shown["otter"])
    client = campaign.service.client(token)
    assert (client.get("/v1/me").json()["team"], client.get("/v1/me").json()["expires_at"]) == ("otter", None)
    assert campaign.submit(RUN, client, name="otters").status_code == 201
    assert "participant of otter" in guest.get("/c/web/submissions").text
    # The token is shown once, and the code is used up.
    assert token not in guest.get("/c/web/joined").text
    assert guest.post("/join/accept", code=code).status_code == 404
    assert "otter" not in links(organiser)
    assert tokens(campaign) == [("lemur", True, False), ("newt", True, False), ("otter", False, False)]


def test_a_code_is_no_token_and_is_stored_nowhere(campaign, organiser, guest):
    code = code_of(invite(organiser, "otter")["otter"])
    assert campaign.service.client(code).get("/v1/me").status_code == 401
    assert guest.sign_in(code).status_code == 401
    assert code.encode() not in database_of(campaign)
    assert campaign.get("/teams/otter").json()["tokens"] == 0


def database_of(campaign):
    path = campaign.service.application.state.workspace.database.path
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


def test_the_next_invitation_of_a_team_ends_the_one_before(campaign, organiser, guest):
    first = invite(organiser, "otter")["otter"]
    second = invite(organiser, "otter")["otter"]
    assert first != second
    assert guest.post("/join", code=code_of(first)).status_code == 404
    accepted(guest, second)
    # A team may have several tokens: a second person is invited, and the first one stays.
    accepted(guest, invite(organiser, "otter")["otter"])
    assert tokens(campaign) == [("otter", False, False), ("otter", False, False), ("otter", True, True)]


def test_an_invitation_ends_with_its_time_its_withdrawal_or_its_collection(campaign, organiser, guest, monkeypatch):
    monkeypatch.setattr(invitations, "LIFETIME", timedelta(0))
    late = invite(organiser, "late")
    assert late == {}
    monkeypatch.undo()
    code = code_of(invite(organiser, "otter")["otter"])
    (identity,) = (each["id"] for each in campaign.get("/tokens").json()["items"] if each["team"] == "otter")
    revoke(organiser, identity)
    assert guest.post("/join/accept", code=code).status_code == 404
    code = code_of(invite(organiser, "otter")["otter"])
    assert campaign.organiser.delete(campaign.path).status_code == 204
    assert guest.post("/join/accept", code=code).status_code == 404


@pytest.mark.parametrize("of", ["collection", "instance"])
def test_an_invitation_ends_with_the_token_that_made_it(campaign, guest, of):
    """Whoever had the token would still get in through it; what was accepted stays."""
    path = f"{campaign.path}/tokens" if of == "collection" else "/v1/tokens"
    made = campaign.organiser.post(path, json={"role": "organiser"} if of == "collection" else {}).json()
    former = Person(campaign.service, made["token"])
    code = code_of(invite(former, "otter")["otter"])
    accepted(guest, invite(former, "lynx")["lynx"])
    assert campaign.organiser.delete(f"{path}/{made['id']}").status_code == 204
    assert guest.post("/join/accept", code=code).status_code == 404
    assert ("lynx", False, False) in tokens(campaign)


@pytest.mark.parametrize("host", ["evil.example", "user@127.0.0.1:1", "[", "127.0.0.1.evil.example"])
def test_links_lead_to_no_host_that_a_request_names(organiser, host):
    invite(organiser, "otter")
    text = organiser.client.get("/c/web/teams", headers={"Host": host}).text
    assert re.findall(r">(http[^<]+)/join#", text) == [organiser.url]


def test_only_the_session_that_invited_sees_the_link(campaign, organiser):
    assert links(organiser) == {}
    invite(organiser, "otter")
    other = Person(campaign.service, ADMIN)
    assert links(other) == {}
    assert "was shown in another session" in other.get("/c/web/teams").text
    assert list(links(organiser)) == ["otter"]


def test_two_who_press_the_button_at_once_get_one_token(service):
    judged(service, name="web")
    organiser = Person(service, ADMIN)
    organiser.post("/c/web/teams", csrf=organiser.csrf, teams="otter")
    (code,) = re.findall(r"/join#([\w-]+)</code>", organiser.get("/c/web/teams").text)
    guests = [Person(service) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda guest: guest.post("/join/accept", code=code).status_code, guests))
    assert sorted(answers) == [303, 404, 404, 404]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("the/otters", "cannot be the name of a team"),
        ("otter otter", "is named twice"),
        (" , ", "Name at least one"),
        (" ".join(f"t{number}" for number in range(201)), "at most 200"),
    ],
)
def test_wrong_names_are_refused_beside_the_field_and_nobody_is_invited(campaign, organiser, names, said):
    answer = organiser.post("/c/web/teams", csrf=organiser.csrf, teams=names)
    assert (answer.status_code, said in answer.text) == (422, True)
    assert "Nobody was invited" in answer.text
    assert tokens(campaign) == []


def test_a_token_of_a_team_is_rotated_and_revoked_on_the_page(campaign, organiser, guest):
    before = campaign.service.client(accepted(guest, invite(organiser, "otter")["otter"]))
    (identity,) = (each["id"] for each in campaign.get("/tokens").json()["items"])
    answer = organiser.post(f"/c/web/teams/{identity}/rotate", csrf=organiser.csrf)
    (token,) = re.findall(r'<code id="token">([^<]+)</code>', organiser.get(answer.headers["location"]).text)
    assert token not in organiser.get("/c/web/teams").text
    after = campaign.service.client(token)
    assert (before.get("/v1/me").status_code, after.get("/v1/me").status_code) == (401, 200)
    revoke(organiser, identity)
    assert after.get("/v1/me").status_code == 401


def test_an_invitation_that_is_rotated_is_a_token_like_any_other(campaign, organiser):
    code = code_of(invite(organiser, "otter")["otter"])
    (identity,) = (each["id"] for each in campaign.get("/tokens").json()["items"])
    made = campaign.organiser.post(f"{campaign.path}/tokens/{identity}/rotate", json={}).json()
    assert (made["expires_at"], made["is_invitation"]) == (None, False)
    assert campaign.service.client(made["token"]).get("/v1/me").json()["team"] == "otter"
    assert organiser.post("/join/accept", code=code).status_code == 404


def test_who_guesses_codes_is_stopped_as_who_guesses_tokens(campaign, guest):
    statuses = [guest.post("/join", code=f"guess-{number}").status_code for number in range(25)]
    assert (statuses[0], statuses[-1]) == (404, 429)


def test_the_page_of_a_code_takes_it_from_no_other_site(campaign, organiser, guest):
    code = code_of(invite(organiser, "otter")["otter"])
    assert guest.post("/join/accept", origin="https://example.org", code=code).status_code == 403
    assert guest.client.get(f"/join/accept?code={code}").status_code == 405
    accepted(guest, f"#{code}")


def test_what_may_be_sent_until_when_is_said_before_and_after(campaign, organiser, guest):
    policy = {"closes_at": "2099-12-24T18:00:00Z", "quotas": {"per_day": 5, "total": 20}}
    assert campaign.change(policy=policy).status_code == 200
    link = invite(organiser, "otter")["otter"]
    before = guest.post("/join", code=code_of(link)).text
    accepted(guest, link)
    for text in (before, guest.get("/c/web/joined").text):
        said = re.sub(r"<[^>]+>|\s+", " ", text)
        for fact in ("2099-12-24 18:00 UTC", "Runs a day 5", "Runs in total 20"):
            assert fact in re.sub(r" +", " ", said)
