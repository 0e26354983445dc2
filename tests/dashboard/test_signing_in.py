"""Sessions: a cookie in place of a token, for pages alone."""

import pytest

from tests.world.campaigns import QRELS, Campaign, judged
from tests.world.people import Person
from tests.world.servers import ADMIN


@pytest.fixture
def person(sqlite_service):
    return Person(sqlite_service)


def test_behind_https_the_cookie_is_secure_and_of_this_host_alone(person):
    host = person.url.removeprefix("http://")
    headers = {"X-Forwarded-Proto": "https", "Origin": f"https://{host}"}
    cookie = person.client.post("/signin", data={"token": ADMIN}, headers=headers).headers["set-cookie"]
    assert cookie.startswith("__Host-gainboard=")
    assert "Secure" in cookie.split("; ")
    assert "Domain" not in cookie


def test_over_http_nobody_signs_in_from_elsewhere(person):
    headers = {"X-Forwarded-For": "192.0.2.7", "Origin": person.url}
    answer = person.client.post("/signin", data={"token": ADMIN}, headers=headers)
    assert answer.status_code == 403
    assert "needs https" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:1", ""])
def test_nobody_is_sent_to_another_site(person, target):
    assert person.sign_in(ADMIN, next=target).headers["location"] == "/"


def test_the_form_of_another_site_is_refused(person):
    assert person.post("/signin", origin="https://evil.example", token=ADMIN).status_code == 403
    assert person.post("/signin", origin="null", token=ADMIN).status_code == 403
    person.client.headers["Sec-Fetch-Site"] = "cross-site"
    assert person.post("/signin", token=ADMIN).status_code == 403


def test_signing_out_needs_the_text_of_the_session_and_ends_it_for_every_copy_of_the_cookie(person):
    person.sign_in(ADMIN)
    copy = dict(person.client.cookies)
    for wrong in ({"csrf": "0" * 64}, {}):
        assert person.post("/signout", **wrong).status_code == 403
    assert person.is_signed_in
    assert person.post("/signout", csrf=person.csrf).status_code == 303
    person.client.cookies.update(copy)
    assert not person.is_signed_in


def test_the_api_never_reads_the_cookie(person, sqlite_service):
    Campaign(sqlite_service, name="secret")
    person.sign_in(ADMIN)
    assert person.get("/c/secret").status_code == 200
    assert person.get("/v1/collections/secret").status_code == 401


@pytest.mark.parametrize("end", ["rotate", "revoke"])
def test_a_session_ends_with_its_token(person, sqlite_service, end):
    campaign = Campaign(sqlite_service, name="web")
    made = sqlite_service.organiser.post(f"{campaign.path}/tokens", json={"role": "reader"}).json()
    person.sign_in(made["token"])
    assert person.is_signed_in
    token = f"{campaign.path}/tokens/{made['id']}"
    ended = sqlite_service.organiser
    assert (ended.post(f"{token}/rotate") if end == "rotate" else ended.delete(token)).is_success
    assert not person.is_signed_in


def test_nothing_secret_is_logged(person, caplog):
    person.sign_in(ADMIN)
    person.get("/")
    secrets = [ADMIN, *dict(person.client.cookies).values()]
    assert [secret for secret in secrets if secret in caplog.text] == []


def test_a_form_of_a_session_that_has_ended_leads_back_to_its_page(person):
    answer = person.post("/c/web/settings", csrf="0" * 64)
    assert answer.status_code == 401
    assert 'href="/signin?next=%2Fc%2Fweb"' in answer.text


def test_files_about_a_campaign_are_taken_from_its_organisers_own_pages_alone(person, sqlite_service):
    campaign = judged(sqlite_service, name="web")
    person.sign_in(ADMIN)
    member = Person(sqlite_service, campaign.token("participant", "lemur"))
    for path in ("qrels", "declared-topics", "topic-groups", "score-matrices?name=n"):
        for each, csrf in ((person, "another"), (member, member.csrf)):
            headers = {"X-CSRF-Token": csrf, "Origin": each.url, "Accept": "application/json"}
            assert each.client.post(f"/c/web/{path}", content=QRELS, headers=headers).status_code == 403, path
    assert len(campaign.get("/qrels").json()["items"]) == 1
