"""Invitations: a link that gives a team its token, once."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from gainboard.evaluation.access import invitations
from tests.world.campaigns import RUN, judged
from tests.world.people import Person
from tests.world.servers import ADMIN


@pytest.fixture
def campaign(sqlite_service):
    return judged(sqlite_service, name="web", title="Web track")


@pytest.fixture
def organiser(campaign):
    return Person(campaign.service, ADMIN)


@pytest.fixture
def guest(campaign):
    return Person(campaign.service)


def links(organiser):
    text = organiser.get("/c/web/teams").text
    return dict(
        re.findall(r'class="invited"><th scope="row">([\w.-]+)</th>.*?>(http[^<]+/join#[^<]+)</code>', text, re.DOTALL)
    )


def invite(organiser, names):
    answer = organiser.post("/c/web/teams", csrf=organiser.csrf, teams=names)
    assert (answer.status_code, answer.headers["location"]) == (303, "/c/web/teams")
    return links(organiser)


def code_of(link):
    return link.partition("#")[2]


def accepted(guest, link):
    answer = guest.post("/join/accept", code=code_of(link))
    assert (answer.status_code, answer.headers["location"]) == (303, "/c/web/joined"), answer.text
    (token,) = re.findall(r'<code id="token">(gainboard_[^<]+)</code>', guest.get("/c/web/joined").text)
    return str(token)


def tokens(campaign):
    """The team of each token, whether it is an invitation, and whether it was revoked."""
    items = campaign.get("/tokens").json()["items"]
    of_teams = [each for each in items if each["team"]]
    return sorted((each["team"], each["is_invitation"], each["revoked_at"] is not None) for each in of_teams)


def test_a_link_gives_its_session_alone_a_token_once_and_nothing_happens_before(campaign, organiser, guest):
    shown = invite(organiser, "otter\nnewt, lemur")
    assert list(shown) == ["lemur", "newt", "otter"]
    other = Person(campaign.service, ADMIN)
    assert (links(other), "was shown in another session" in other.get("/c/web/teams").text) == ({}, True)
    for host in ("evil.example", "user@127.0.0.1:1", "[", "127.0.0.1.evil.example"):
        text = organiser.client.get("/c/web/teams", headers={"Host": host}).text
        assert set(re.findall(r">(http[^<]+)/join#", text)) == {organiser.url}
    # A code is no token, and is stored nowhere.
    code = code_of(shown["otter"])
    assert campaign.service.client(code).get("/v1/me").status_code == 401
    assert guest.sign_in(code).status_code == 401
    path = campaign.service.application.state.workspace.database.path
    assert code.encode() not in b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
    # Opened, and looked at as often as one likes, it shows whose invitation it is.
    for _ in range(2):
        text = guest.post("/join", code=code).text
        assert ("Web track" in text, "Join as otter" in text) == (True, True)
    assert guest.post("/join/accept", origin="https://example.org", code=code).status_code == 403
    assert guest.client.get(f"/join/accept?code={code}").status_code == 405
    assert (guest.is_signed_in, campaign.get("/teams/otter").json()["tokens"]) == (False, 0)
    token = accepted(guest, f"#{code}")
    client = campaign.service.client(token)
    assert (client.get("/v1/me").json()["team"], client.get("/v1/me").json()["expires_at"]) == ("otter", None)
    assert campaign.submit(RUN, client, name="otters").status_code == 201
    assert "participant of otter" in guest.get("/c/web/submissions").text
    # The token is shown once, and the code is used up.
    assert token not in guest.get("/c/web/joined").text
    assert guest.post("/join/accept", code=code).status_code == 404
    assert "otter" not in links(organiser)
    assert tokens(campaign) == [("lemur", True, False), ("newt", True, False), ("otter", False, False)]


def test_an_invitation_ends_with_the_next_one_its_time_its_withdrawal_or_its_collection(
    campaign, organiser, guest, monkeypatch
):
    first, second = (invite(organiser, "otter")["otter"] for _ in range(2))
    assert guest.post("/join", code=code_of(first)).status_code == 404
    accepted(guest, second)
    # A team may have several tokens: a second person is invited, and the first one stays.
    accepted(guest, invite(organiser, "otter")["otter"])
    assert tokens(campaign) == [("otter", False, False), ("otter", False, False), ("otter", True, True)]
    monkeypatch.setattr(invitations, "LIFETIME", timedelta(0))
    assert invite(organiser, "late") == {}
    monkeypatch.undo()
    code = code_of(invite(organiser, "lynx")["lynx"])
    (identity,) = (each["id"] for each in campaign.get("/tokens").json()["items"] if each["team"] == "lynx")
    organiser.post(f"/c/web/tokens/{identity}/revoke", csrf=organiser.csrf, back="teams")
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
    former.post("/c/web/teams/organisers", csrf=former.csrf, holder="Ada")
    colleague = code_of(links(former)["Ada"])
    assert campaign.organiser.delete(f"{path}/{made['id']}").status_code == 204
    assert [guest.post("/join/accept", code=each).status_code for each in (code, colleague)] == [404, 404]
    assert ("lynx", False, False) in tokens(campaign)


def test_two_who_press_the_button_at_once_get_one_token(service):
    judged(service, name="web")
    organiser = Person(service, ADMIN)
    organiser.post("/c/web/teams", csrf=organiser.csrf, teams="otter")
    (code,) = re.findall(r"/join#([\w-]+)</code>", organiser.get("/c/web/teams").text)
    guests = [Person(service) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda guest: guest.post("/join/accept", code=code).status_code, guests))
    assert sorted(answers) == [303, 404, 404, 404]


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


def test_a_name_with_a_space_is_one_mistake_and_not_two_teams(campaign, organiser):
    refused = organiser.post("/c/web/teams", csrf=organiser.csrf, teams="Golf Team\nnewt")
    assert refused.status_code == 422
    assert "&#39;Golf Team&#39; cannot be the name of a team" in refused.text
    assert links(organiser) == {}


def test_a_mail_has_its_time_in_plain_text_and_all_links_are_a_csv(organiser):
    shown = invite(organiser, "otter\nnewt")
    page = organiser.get("/c/web/teams").text
    mails = re.findall(r"<textarea id=\"mail[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert all(re.search(r"until \d{4}-\d\d-\d\d \d\d:\d\d UTC, and press", mail) for mail in mails)
    assert not [mail for mail in mails if "time" in mail.partition("Open")[0]]
    answer = organiser.get("/c/web/teams/invitations.csv")
    assert "no-store" in answer.headers["cache-control"]
    rows = [line.split(",")[:2] for line in answer.text.splitlines()[1:]]
    assert rows == sorted(map(list, shown.items()))


def test_a_team_that_was_invited_by_mistake_is_removed_with_its_link(campaign, organiser, guest):
    link = invite(organiser, "golf")["golf"]
    assert organiser.post("/c/web/teams/golf/delete", csrf=organiser.csrf).status_code == 303
    assert "golf" not in organiser.get("/c/web/teams").text
    assert guest.post("/join/accept", code=code_of(link)).status_code == 404
    assert campaign.get("/audit").json()["items"][-1]["action"] == "team-deleted"
    # Its name may be used again, and a team with runs stays.
    invite(organiser, "golf")
    assert (
        "it stays"
        in organiser.post(
            f"/c/web/teams/{campaign.get('/runs').json()['items'][0]['team']}/delete", csrf=organiser.csrf
        ).text
    )


def test_an_organiser_is_invited_as_a_team_is_and_the_page_says_what_it_gives(campaign, organiser, guest):
    nobody = organiser.post("/c/web/teams/organisers", csrf=organiser.csrf, holder=" ")
    assert (nobody.status_code, "Name the person" in nobody.text) == (422, True)
    assert organiser.post("/c/web/teams/organisers", csrf=organiser.csrf, holder="Ada").status_code == 303
    link = links(organiser)["Ada"]
    assert "delete the collection" in guest.post("/join", code=code_of(link)).text
    assert link not in organiser.get("/c/web/teams/invitations.csv").text
    client = campaign.service.client(accepted(guest, link))
    assert guest.get("/c/web/settings").status_code == 200
    me = client.get("/v1/me").json()
    assert (me["role"], me["collection"]) == ("organiser", "web")
    assert client.post("/v1/collections", json={"name": "mine", "levels": 1}).status_code == 403
    assert guest.post("/join/accept", code=code_of(link)).status_code == 404
    entries = campaign.get("/audit").json()["items"]
    (entry,) = [entry for entry in entries if entry["details"].get("accepted")]
    assert (entry["role"], entry["details"]["of_role"]) == ("organiser", "organiser")
