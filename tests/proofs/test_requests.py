"""Requests made from the OpenAPI description: a few here, as many as one likes with tests/proofs/requests.py."""

import pytest

from tests.proofs.requests import ROLES, send, world
from tests.world.servers import description


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with world(tmp_path_factory.mktemp("data")) as made:
        yield made


def test_a_description_that_is_not_true_would_be_noticed(made):
    path = "/v1/collections/{collection}/teams/{team}"
    operation = description()["paths"][path]["get"]
    wrong = {status: each for status, each in operation["responses"].items() if status not in ("401", "404")}
    described = {**description(), "paths": {path: {"get": {**operation, "responses": wrong}}}}
    found = send(made, 2 * len(ROLES), described=described)
    assert f"GET {path}: Undocumented status code" in found.faults


def test_every_operation_answers_every_role_as_described(made):
    operations = sum(map(len, description()["paths"].values()))
    found = send(made, operations * len(ROLES))
    assert found.faults == {}
    assert len(found.operations) == operations
    assert max(found.statuses) < 500
    assert {200, 401, 403, 404, 422} <= found.statuses.keys()
