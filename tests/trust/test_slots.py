"""Slots of uploads end with the server that received them, however it ends."""

import socket
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select

from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.store import teams
from gainboard.store.tables import collections
from gainboard.store.tables import uploads as table
from tests.waiting import until
from tests.world.campaigns import WORSE, Campaign, refused
from tests.world.processes import Server, answers, server
from tests.world.servers import ADMIN, Service

FREE_WITHIN = 20
"""Seconds until a team has its slots back."""
BODY = "1 Q0 the beginning of a file"


@contextmanager
def served(migrated_url):
    with server(migrated_url, slots=0) as process:
        service = Service(process.url)
        until(lambda: answers(service.url))
        try:
            yield process, service
        finally:
            service.close()


def _used(service, token):
    return service.client(token).get("/v1/me/limits").json()["team"]["runs"]["concurrent"]["used"]


@contextmanager
def upload(service, campaign, token):
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = f"POST {campaign.path}/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        connection.sendall(f"{head}Content-Length: 999\r\n\r\n{BODY}".encode())
        until(lambda: _used(service, token) == 1)
        yield


def _limited(service):
    campaign = Campaign(service, policy={"quotas": {"concurrent": 1}})
    return campaign, campaign.token("participant", "own")


ENDS = [
    ("sqlite", Server.kill),
    pytest.param("postgresql", Server.kill, marks=pytest.mark.postgresql),
    ("sqlite", Server.terminate),
]
"""A server that is terminated gives its slots back by itself, in the same way on each database."""


@pytest.mark.proof
@pytest.mark.parametrize(("migrated_url", "end"), ENDS, indirect=["migrated_url"])
def test_another_server_counts_an_upload_until_its_server_ends(migrated_url, end):
    with served(migrated_url) as (process, first), served(migrated_url) as (_, second):
        campaign, token = _limited(first)
        own = second.client(token)
        with upload(first, campaign, token):
            assert _used(second, token) == 1
            assert refused(campaign.submit(WORSE, own)) == (403, "quota-exceeded")
            end(process)
            until(lambda: _used(second, token) == 0, FREE_WITHIN)
        assert campaign.submit(WORSE, own).status_code == 201


@pytest.mark.proof
def test_a_server_that_starts_frees_the_slots_of_one_that_was_killed(migrated_url, tmp_path):
    with served(migrated_url) as (process, first):
        campaign, token = _limited(first)
        with upload(first, campaign, token):
            process.kill()
    with served(migrated_url) as (_, second):
        until(lambda: _used(second, token) == 0, FREE_WITHIN)
        if migrated_url.startswith("sqlite"):
            assert len(list(tmp_path.glob("*-process-*"))) == 1
        assert campaign.submit(WORSE, second.client(token)).status_code == 201


@pytest.fixture
def workspace(migrated_url):
    made, _ = open_workspace(Settings.read({}, database_url=migrated_url, admin_token=ADMIN))
    made.lease.begin("server", "0.2.0")
    yield made
    made.lease.end()
    made.database.close()


def _team(workspace):
    fixed = {"title": "", "highest_level": 1, "gains": "linear", "depth": 9, "order_by": "score", "phase": "hidden"}
    with workspace.database.writing() as tx:
        now = workspace.now()
        row = {"uuid": "u", "name": "c", "public": False, "revision": 0, "created_at": now, **fixed}
        tx.execute(collections.insert().values(row))
        return teams.create(tx, tx.execute(select(collections.c.id)).scalar_one(), "own", now).id


def _rows(database, of):
    with database.reading() as tx:
        return list(tx.execute(select(of)).scalars())


def test_a_slot_that_is_given_back_is_free_even_if_its_row_cannot_be_deleted_yet(workspace):
    team_id, slots = _team(workspace), workspace.upload_slots
    with workspace.database.writing() as tx:
        slot = slots.take(tx, team_id)
    with workspace.database.writing() as tx:  # no other writer of SQLite gets in
        assert slots.count(tx, team_id) == 1
        slots.leave(slot)
        assert slots.count(tx, team_id) == 0
    until(lambda: _rows(workspace.database, table.c.id) == [])


def test_slots_are_given_back_by_a_process_that_leaves(workspace):
    team_id = _team(workspace)
    with workspace.database.writing() as tx:
        workspace.upload_slots.take(tx, team_id)
    workspace.lease.end()
    assert _rows(workspace.database, table.c.id) == []
