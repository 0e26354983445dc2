"""Tokens in use: who holds them, when they were used, another secret for the same token, and where none stands."""

import hashlib
import logging
from datetime import UTC, datetime, timedelta

from sqlalchemy import text

from gainboard.evaluation.audit import verify
from gainboard.store.audit import NOTHING
from gainboard.store.tables import metadata, tokens
from tests.api.changes import CHANGES, log, prepared
from tests.world.campaigns import Campaign, judged, refused
from tests.world.laboratories import Laboratory
from tests.world.servers import ADMIN


def rotate(campaign, token, **sent):
    return campaign.organiser.post(f"{campaign.path}/tokens/{token['id']}/rotate", **sent)


def test_what_has_ended_is_not_rotated(idle, database):
    campaign = Campaign(idle)
    revoked, expired = campaign.new_token(), campaign.new_token()
    campaign.organiser.delete(f"{campaign.path}/tokens/{revoked['id']}")
    with database.writing() as tx:
        past = datetime.now(UTC) - timedelta(hours=1)
        tx.execute(tokens.update().where(tokens.c.id == expired["id"]).values(expires_at=past))
    for token, word in ((revoked, "revoked"), (expired, "expired")):
        answer = rotate(campaign, token, json={"expires_at": "2999-01-01T00:00:00Z"})
        assert refused(answer) == (409, "conflict")
        assert f"The token {'was ' * (word == 'revoked')}{word} " in answer.json()["detail"]
    assert rotate(campaign, {"id": "absent"}).status_code == 404


def test_the_use_of_a_token_is_noted_once_a_minute(idle, database):
    campaign = Campaign(idle)
    made = campaign.new_token()
    client = idle.client(made["token"])
    begun = datetime.now(UTC)
    assert made["last_used_at"] is None
    client.get("/v1/me")
    used = campaign.get(f"/tokens/{made['id']}").json()["last_used_at"]
    assert begun <= datetime.fromisoformat(used) <= datetime.now(UTC)
    client.get("/v1/me")
    assert campaign.get(f"/tokens/{made['id']}").json()["last_used_at"] == used


def test_a_busy_database_keeps_nobody_who_uses_a_token_waiting(idle, database, caplog):
    campaign = Campaign(idle)
    made = campaign.new_token()
    with database.writing() as tx:
        # Of SQLite the only writer; elsewhere the one of this row.
        tx.execute(text("UPDATE tokens SET holder = 'x'"))
        assert idle.client(made["token"]).get("/v1/me").status_code == 200
    assert campaign.get(f"/tokens/{made['id']}").json()["last_used_at"] is None
    assert "did not answer" not in caplog.text


def test_after_every_change_no_token_stands_anywhere_no_hash_outside_its_column_and_the_chain_holds(
    idle, database, caplog
):
    caplog.set_level(logging.DEBUG, "gainboard")
    caplog.set_level(logging.DEBUG, "uvicorn")
    campaign, secrets = judged(idle), [ADMIN]
    for sent in ({"role": "reader"}, {"role": "participant", "team": "lemur"}, {"role": "organiser"}):
        made = campaign.organiser.post(
            f"{campaign.path}/tokens", json=sent, headers={"Idempotency-Key": sent["role"]}
        ).json()
        secrets += [made["token"], rotate(campaign, made).json()["token"]]
    secrets.append(idle.organiser.post("/v1/tokens", json={}, headers={"Idempotency-Key": "k"}).json()["token"])
    lab = Laboratory(idle)
    for route in CHANGES:
        if route != "DELETE /v1/collections/{collection}":
            prepared(lab, route)(idle.organiser)
    hashes = [hashlib.sha256(secret.encode()).hexdigest() for secret in secrets]
    dump, stored = _dump(database)
    assert set(hashes) - set(stored) == {hashlib.sha256(old.encode()).hexdigest() for old in secrets[1:7:2]}
    assert [each for each in (*secrets, *hashes, *stored) if each in dump or each in caplog.text] == []
    assert "request" in caplog.text
    entries = log(idle.organiser)
    assert {action for action, _ in CHANGES.values()} - {"collection-deleted"} <= {each["action"] for each in entries}
    assert (verify(entries).entries, verify(entries).fault, entries[0]["previous"]) == (len(entries), None, NOTHING)
    assert {idle.client(each).get("/v1/me").status_code for each in stored} == {401}


def _dump(database):
    """Every value of every table but the hashes of tokens, and those."""
    values, stored = [], []
    with database.reading() as tx:
        for table in metadata.sorted_tables:
            for row in tx.execute(table.select()).mappings():
                kept = {name: value for name, value in row.items() if (table.name, name) != ("tokens", "hash")}
                stored += [row["hash"]] if table.name == "tokens" else []
                values += [
                    value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in kept.values()
                ]
    return "\n".join(values), stored
