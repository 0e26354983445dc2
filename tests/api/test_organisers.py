"""Organisers of the instance: one makes further ones, and there is always one left."""

from functools import partial

import pytest

from gainboard.errors import Conflict
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from tests.api.test_races import at_once
from tests.world.campaigns import Campaign, refused
from tests.world.servers import ADMIN, running, serving


@pytest.fixture
def first(migrated_url):
    """A service whose only organiser is that of the first start."""
    workspace, token = open_workspace(Settings.read({}, database_url=migrated_url))
    with running(create_app(workspace)) as service:
        service.organiser = service.client(token)
        yield service


def made(service, **sent):
    """A new organiser's token."""
    answer = service.organiser.post("/v1/tokens", json=sent)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_an_organiser_makes_another_who_may_do_the_same(service):
    new = made(service, holder="R. Mokoena")
    other = service.client(new["token"])
    assert other.post("/v1/collections", json={"name": "c", "levels": 1}).status_code == 201
    assert other.get(f"/v1/tokens/{new['id']}").json()["holder"] == "R. Mokoena"
    listed = other.get("/v1/tokens").json()["items"]
    assert {(each["origin"], each["role"]) for each in listed} == {
        ("environment", "organiser"),
        ("created", "organiser"),
    }
    assert other.delete(f"/v1/tokens/{new['id']}").status_code == 204
    assert refused(other.get("/v1/me")) == (401, "not-authenticated")


def test_the_last_organiser_is_not_revoked(first):
    own = first.organiser.get("/v1/me").json()["id"]
    assert refused(first.organiser.delete(f"/v1/tokens/{own}")) == (409, "conflict")
    other = made(first)
    assert first.organiser.delete(f"/v1/tokens/{own}").status_code == 204
    client = first.client(other["token"])
    assert refused(client.delete(f"/v1/tokens/{other['id']}")) == (409, "conflict")
    assert client.delete(f"/v1/tokens/{own}").status_code == 204


def test_of_two_last_organisers_who_revoke_each_other_one_is_left(first):
    own = first.organiser.get("/v1/me").json()["id"]
    other = made(first)
    client = first.client(other["token"])
    acts = [partial(first.organiser.delete, f"/v1/tokens/{other['id']}"), partial(client.delete, f"/v1/tokens/{own}")]
    answers = at_once(acts)
    assert [answer.status_code for answer in answers].count(204) == 1
    assert [each.get("/v1/me").status_code for each in (first.organiser, client)].count(200) == 1


def test_the_admin_token_is_not_revoked_here_and_the_answer_says_where(service):
    made(service)
    own = service.organiser.get("/v1/me").json()["id"]
    answer = service.organiser.delete(f"/v1/tokens/{own}")
    assert refused(answer) == (409, "conflict")
    assert "GAINBOARD_ADMIN_TOKEN" in answer.json()["detail"]


def test_another_admin_token_leaves_the_organisers_that_were_made(tmp_path):
    with serving(Settings.read({}, data=tmp_path, admin_token=ADMIN)) as service:
        token = made(service)["token"]
    with serving(Settings.read({}, data=tmp_path, admin_token="another-admin-token-now")) as service:
        assert service.client(token).get("/v1/me").status_code == 200
        assert service.organiser.get("/v1/me").status_code == 401
    with pytest.raises(Conflict, match="Choose another value"):
        open_workspace(Settings.read({}, data=tmp_path, admin_token=token))


def test_tokens_of_collections_and_of_organisers_are_not_found_in_each_others_place(shared):
    campaign = Campaign(shared)
    of_collection = shared.organiser.post(f"{campaign.path}/tokens", json={"role": "organiser"}).json()
    of_instance = made(shared)
    for act in (shared.organiser.get, shared.organiser.delete):
        assert refused(act(f"/v1/tokens/{of_collection['id']}")) == (404, "not-found")
        assert refused(act(f"{campaign.path}/tokens/{of_instance['id']}")) == (404, "not-found")
    assert refused(shared.client(of_collection["token"]).get("/v1/tokens")) == (403, "forbidden")


def test_an_organiser_who_could_never_act_is_not_made(shared):
    for sent in ({"expires_at": "2020-01-01T00:00:00Z"}, {"role": "reader"}, {"holder": "a\u0000b"}):
        assert refused(shared.organiser.post("/v1/tokens", json=sent)) == (422, "invalid-request")


def test_a_repeated_request_for_an_organiser_tells_the_id_and_never_the_token(shared):
    key = {"Idempotency-Key": "organiser"}
    one, again = (shared.organiser.post("/v1/tokens", json={}, headers=key) for _ in range(2))
    assert refused(again) == (409, "idempotency-key-in-use")
    assert again.json()["id"] == one.json()["id"]
    assert one.json()["token"] not in again.text
