"""Tokens: made once, shown once, ended for good."""

from datetime import UTC, datetime, timedelta

import httpx

from gainboard.evaluation.access.principals import TOKEN_PREFIX
from gainboard.main import open_workspace
from gainboard.settings import Settings
from tests.waiting import until
from tests.world.campaigns import Campaign, refused
from tests.world.servers import serving


def test_a_token_ends_when_it_expires(shared):
    campaign = Campaign(shared)
    soon = datetime.now(UTC) + timedelta(seconds=2)
    client = shared.client(campaign.new_token(role="reader", expires_at=soon.isoformat())["token"])
    until(lambda: client.get(campaign.path).status_code != 200)
    answer = client.get(campaign.path)
    assert refused(answer) == (401, "not-authenticated")
    assert "expired" in answer.json()["detail"]


def test_the_token_of_another_collection_is_not_revoked_from_here(shared):
    here, there = Campaign(shared), Campaign(shared)
    made = there.new_token(role="reader")
    assert refused(here.organiser.delete(f"{here.path}/tokens/{made['id']}")) == (404, "not-found")
    assert shared.client(made["token"]).get("/v1/me").status_code == 200


def test_a_token_in_the_address_is_no_token(campaign):
    made = campaign.new_token(role="reader")
    answer = campaign.service.anonymous.get("/v1/me", params={"access_token": made["token"]})
    assert refused(answer) == (422, "unknown-parameter")
    assert made["token"] not in answer.text


def test_the_tokens_of_a_deleted_collection_open_nothing_of_its_successor(shared):
    campaign = Campaign(shared)
    reader = campaign.client("reader")
    assert shared.organiser.delete(campaign.path).status_code == 204
    successor = Campaign(shared, name=campaign.name)
    assert refused(reader.get(successor.path)) == (404, "not-found")


def test_an_admin_token_may_be_of_any_alphabet(tmp_path):
    chosen = "schlüssel-für-die-größte-übung"
    with serving(Settings.read({}, admin_token=chosen, data=tmp_path)) as service:
        sent = {b"Authorization": f"Bearer {chosen}".encode()}
        assert httpx.get(f"{service.url}/v1/me", headers=sent, timeout=60).json()["role"] == "organiser"
        assert (
            httpx.get(f"{service.url}/v1/me", headers={b"Authorization": b"Bearer \xff\xfe"}, timeout=60).status_code
            == 401
        )


def test_the_first_start_makes_one_organiser_and_the_second_none(tmp_path):
    made = []
    for _ in range(2):
        workspace, token = open_workspace(Settings.read({}, data=tmp_path))
        workspace.database.close()
        made.append(token)
    assert made[0] is not None
    assert made[0].startswith(TOKEN_PREFIX)
    assert made[1] is None
