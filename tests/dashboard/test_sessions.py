"""The life of sessions: how many a token has, what keeps one alive, what ends it, and what the audit log says of it."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from playwright.sync_api import expect

from gainboard.evaluation.access.principals import MOST_FAILURES
from gainboard.evaluation.access.sessions import IDLE, LIFETIME, MOST
from gainboard.evaluation.audit import verify
from gainboard.evaluation.workspace import Workspace
from tests.api.changes import log
from tests.world.campaigns import judged
from tests.world.people import Person
from tests.world.servers import ADMIN

A_MINUTE = timedelta(minutes=1)
BY_PAGES = {"Accept": "*/*", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"}
"""What a browser says of a request that a page makes by itself."""
BY_PEOPLE = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}


class Clock:
    def __init__(self, monkeypatch):
        self.moved, now = timedelta(0), Workspace.now
        monkeypatch.setattr(Workspace, "now", lambda workspace: now(workspace) + self.moved)

    def move(self, time):
        self.moved += time


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def campaign(sqlite_service):
    return judged(sqlite_service, name="web")


@pytest.fixture
def people(sqlite_service):
    return partial(Person, sqlite_service)


def made(campaign, role="reader", **settings):
    new = campaign.new_token(role, **settings)
    return new["id"], new["token"]


def listed(person):
    return re.findall(r'name="session" value="(\w+)"', person.get("/me").text.partition("End all other")[0])[:-1]


def rows(person):
    return person.get("/me").text.count('<th scope="row">')


def entries(campaign, token_id):
    about = [each for each in log(campaign.organiser, campaign.path) if each["token"] == token_id]
    assert {each["subject"] for each in about} <= {token_id}
    return [(each["action"], each["details"]) for each in about]


def test_the_eleventh_session_of_a_token_ends_the_oldest(people, campaign):
    _, token = made(campaign)
    bystander = people(ADMIN)
    signed_in = [people(token) for _ in range(MOST + 1)]
    assert [person.is_signed_in for person in signed_in] == [False] + [True] * MOST
    assert bystander.is_signed_in


def test_sign_ins_at_once_leave_ten(service):
    token = judged(service, name="web").token("reader")
    everybody = [Person(service) for _ in range(2 * MOST)]
    with ThreadPoolExecutor(len(everybody)) as pool:
        assert {answer.status_code for answer in pool.map(lambda each: each.sign_in(token), everybody)} == {303}
    assert sum(person.is_signed_in for person in everybody) == MOST


@pytest.mark.parametrize("other_token", [False, True])
def test_signing_in_again_ends_the_session_before(people, campaign, other_token):
    identity, token = made(campaign)
    person, copy, elsewhere = people(token), people(), people(token)
    copy.client.cookies.update(dict(person.client.cookies))
    assert copy.is_signed_in
    assert person.sign_in(ADMIN if other_token else token).status_code == 303
    assert (person.is_signed_in, copy.is_signed_in, elsewhere.is_signed_in) == (True, False, True)
    assert ("signed-out", {"sessions": 1}) in entries(campaign, identity)


def test_two_hours_without_use_end_a_session_and_use_does_not_prolong_it_beyond_its_life(people, clock):
    person = people(ADMIN)
    clock.move(IDLE - A_MINUTE)
    assert person.is_signed_in  # which is a use
    clock.move(IDLE - A_MINUTE)
    assert person.is_signed_in
    clock.move(IDLE)
    assert not person.is_signed_in
    person.sign_in(ADMIN)
    for _ in range(int(LIFETIME / timedelta(hours=1)) - 1):
        clock.move(timedelta(hours=1))
        assert person.is_signed_in
    clock.move(timedelta(hours=1))
    assert not person.is_signed_in


@pytest.mark.parametrize(
    ("method", "path", "headers", "is_use"),
    [
        ("GET", "/c/web", BY_PEOPLE, True),
        ("GET", "/c/web/board.csv", BY_PEOPLE, True),
        ("POST", "/c/web/settings", {"Sec-Fetch-Dest": "document"}, True),
        ("POST", "/c/web/check", BY_PAGES, True),
        ("GET", "/c/web", BY_PAGES, False),
        ("GET", "/c/web/board.json", BY_PAGES, False),
        ("GET", "/c/web/board.json", {"Accept": "*/*"}, False),
        ("GET", "/jobs/none/events", {"Accept": "text/event-stream"}, False),
        ("GET", "/c/web", {"Sec-Fetch-Dest": "iframe"}, False),
    ],
)
def test_what_a_person_does_is_a_use_and_what_a_page_loads_is_none(
    people, campaign, clock, method, path, headers, is_use
):
    person = people(ADMIN)
    clock.move(IDLE / 2)
    person.client.request(method, path, headers=headers)
    clock.move(IDLE / 2)
    assert person.is_signed_in == is_use


def test_a_page_lists_the_sessions_of_the_token_and_ends_one_or_all_others(people, campaign):
    identity, token = made(campaign)
    stranger, (person, *others) = people(ADMIN), [people(token) for _ in range(4)]
    assert 'href="/me" title="Your sessions">reader<' in person.get("/").text
    assert (rows(person), rows(stranger)) == (4, 1)
    text = person.get("/me").text
    assert [secret for secret in (token, *dict(person.client.cookies).values()) if secret in text] == []
    first, *rest = listed(person)
    assert person.post("/me", csrf=person.csrf, session=first).status_code == 303
    assert sorted(each.is_signed_in for each in others) == [False, True, True]
    answer = person.client.post("/me", data={"csrf": person.csrf, "session": rest}, headers={"Origin": person.url})
    assert answer.status_code == 303
    assert [each.is_signed_in for each in (person, stranger, *others)] == [True, True, False, False, False]
    assert entries(campaign, identity)[-2:] == [("signed-out", {"sessions": 1}), ("signed-out", {"sessions": 2})]


def test_nobody_ends_sessions_of_another_token_or_without_the_text_of_the_session(people, campaign):
    _, token = made(campaign)
    victim, attacker, _ = people(ADMIN), people(token), people(token)
    # The address of the page is all that an attacker can guess; suppose that the id is known, too.
    database = campaign.service.application.state.workspace.database
    with database.reading() as tx:
        every = list(tx.exec_driver_sql("SELECT id FROM sessions ORDER BY began_at").scalars())
    fields = {"csrf": attacker.csrf, "session": every[0]}
    assert attacker.post("/me", **fields).status_code == 303
    assert victim.is_signed_in
    assert attacker.post("/me", session=every[2]).status_code == 403
    assert attacker.post("/me", origin="https://evil.example", csrf=attacker.csrf, session=every[2]).status_code == 403
    assert rows(attacker) == 2


def test_sign_ins_and_sign_outs_are_in_the_audit_log_of_the_tokens_collection(people, campaign):
    identity, token = made(campaign, "participant", team="lemur")
    person = people(token)
    csrf = person.csrf
    for _ in range(2):  # the second ends nothing
        person.post("/signout", csrf=csrf)
    of_team = {"team": "lemur"}
    assert entries(campaign, identity) == [("signed-in", of_team), ("signed-out", of_team | {"sessions": 1})]
    people(ADMIN)
    newest = log(campaign.organiser)[-1]
    assert (newest["action"], newest["collection"], newest["role"]) == ("signed-in", None, "organiser")
    assert verify(log(campaign.organiser)).fault is None
    assert token not in str(log(campaign.organiser))


def test_refused_sign_ins_are_in_the_audit_log_if_the_token_was_one(people, campaign, clock):
    soon = campaign.service.application.state.workspace.now() + timedelta(hours=1)
    revoked, expired = made(campaign), made(campaign, expires_at=soon.isoformat())
    campaign.organiser.delete(f"{campaign.path}/tokens/{revoked[0]}")
    clock.move(timedelta(hours=1))
    before = len(log(campaign.organiser))
    for token in (revoked[1], expired[1], "gainboard_guessed", ""):
        assert people().sign_in(token).status_code == 401
    assert entries(campaign, revoked[0]) == [("sign-in-refused", {"why": "revoked"})]
    assert entries(campaign, expired[0]) == [("sign-in-refused", {"why": "expired"})]
    assert len(log(campaign.organiser)) == before + 2
    assert verify(log(campaign.organiser)).fault is None
    # Nobody fills the log with them.
    person = people()
    statuses = [person.sign_in(revoked[1]).status_code for _ in range(2 * MOST_FAILURES)]
    assert (statuses[0], statuses[-MOST_FAILURES:]) == (401, [429] * MOST_FAILURES)
    assert len(entries(campaign, revoked[0])) <= MOST_FAILURES


def test_whoever_sends_a_form_after_the_session_has_ended_signs_in_over_it(open_page, campaign):
    watched = open_page(campaign.service)
    page = watched.page
    watched.sign_in(ADMIN)
    watched.visit("/c/web/teams")
    page.context.clear_cookies()
    page.get_by_label("Invite teams").fill("otter\nnewt")
    page.get_by_role("button", name="Invite", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Token").fill("wrong")
    dialog.get_by_role("button", name="Sign in and send").click()
    expect(dialog.get_by_role("alert")).to_have_text("This token is not valid.")
    dialog.get_by_label("Token").fill(ADMIN)
    dialog.get_by_role("button", name="Sign in and send").click()
    expect(page.locator(".invited th")).to_have_text(["newt", "otter"])


def test_a_draft_that_somebody_else_discarded_says_who_did(people, campaign):
    campaign.draft()
    organiser, other = people(ADMIN), people(made(campaign, "organiser", holder="Ann")[1])
    address = "/c/web/judgments/2/discard"
    assert other.post(address, csrf=other.csrf).status_code == 303
    page = organiser.post(address, csrf=organiser.csrf)
    assert page.status_code == 404
    assert "The last change: <code>qrels-discarded</code> of 2 by organiser Ann" in page.text
