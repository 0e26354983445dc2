"""Organisers of the instance: one makes further ones, and there is always one left."""

from functools import partial

import pytest

from gainboard.errors import Conflict
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from tests.api.test_races import at_once
from tests.world.campaigns import refused
from tests.world.servers import ADMIN, running, serving


@pytest.fixture
def first(migrated_url):
    """A service whose only organiser is that of the first start."""
    workspace, token = open_workspace(Settings.read({}, database_url=migrated_url))
    with running(create_app(workspace)) as service:
        service.organiser = service.client(token)
        yield service


def made(service, **sent):
    answer = service.organiser.post("/v1/tokens", json=sent)
    assert answer.status_code == 201, answer.text
    return answer.json()


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


def test_another_admin_token_leaves_the_organisers_that_were_made(tmp_path):
    with serving(Settings.read({}, data=tmp_path, admin_token=ADMIN)) as service:
        token = made(service)["token"]
    with serving(Settings.read({}, data=tmp_path, admin_token="another-admin-token-now")) as service:
        assert service.client(token).get("/v1/me").status_code == 200
        assert service.organiser.get("/v1/me").status_code == 401
    with pytest.raises(Conflict, match="Choose another value"):
        open_workspace(Settings.read({}, data=tmp_path, admin_token=token))
