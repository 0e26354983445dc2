"""A POST that is repeated under its Idempotency-Key is answered as the first time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
from sqlalchemy import text

from gainboard.store import idempotency
from gainboard.store.database import Database
from gainboard.store.idempotency import Scope
from gainboard.store.tables import idempotency_keys
from tests.api.campaign import RUN, WORSE, Campaign, refused
from tests.conftest import Service

KEY = {"Idempotency-Key": "key-1"}


def _submit(campaign: Campaign, content: str, client: httpx.Client | None = None, **query: str) -> httpx.Response:
    client = client or campaign.organiser
    query = {"team": "lemur"} | query
    return client.post(f"{campaign.path}/runs", content=content, params=query, headers=KEY)


def test_a_repetition_is_answered_as_the_first_time_though_things_changed(service: Service) -> None:
    campaign = Campaign(service)
    first = _submit(campaign, RUN)
    campaign.organiser.delete(f"{campaign.path}/runs/tag")
    second = _submit(campaign, RUN)
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert first.headers["location"] == second.headers["location"]
    assert campaign.get("/runs").json()["items"] == []


def test_another_body_or_query_under_the_same_key_is_refused(service: Service) -> None:
    campaign = Campaign(service)
    _submit(campaign, RUN)
    assert refused(_submit(campaign, WORSE)) == (422, "idempotency-key-reused")
    assert refused(_submit(campaign, RUN, name="other")) == (422, "idempotency-key-reused")


def test_a_form_sent_again_is_the_same_though_its_boundary_is_another(campaign: Campaign) -> None:
    url = f"{campaign.path}/runs?team=lemur"
    answers = [campaign.organiser.post(url, files={"file": RUN}, headers=KEY) for _ in range(2)]
    assert answers[0].request.headers["content-type"] != answers[1].request.headers["content-type"]
    assert [answer.status_code for answer in answers] == [201, 201]
    other = campaign.organiser.post(url, files={"file": RUN}, data={"name": "other"}, headers=KEY)
    assert refused(other) == (422, "idempotency-key-reused")


def test_the_same_key_of_another_principal_or_route_is_another_key(shared: Service) -> None:
    campaign = Campaign(shared)
    _submit(campaign, RUN)
    assert _submit(campaign, WORSE, campaign.client("participant", "lemur")).status_code == 201
    assert _submit(Campaign(shared), WORSE).status_code == 201
    sent = {"json": {"role": "reader"}, "headers": KEY}
    assert campaign.organiser.post(f"{campaign.path}/tokens", **sent).status_code == 201  # type: ignore[arg-type]


def test_a_repeated_token_creation_tells_the_id_and_never_the_token(service: Service) -> None:
    campaign = Campaign(service)
    first, *again = [
        campaign.organiser.post(f"{campaign.path}/tokens", json={"role": "reader"}, headers=KEY) for _ in range(3)
    ]
    for answer in again:
        assert refused(answer) == (409, "idempotency-key-in-use")
        assert answer.json()["id"] == first.json()["id"]
        assert first.json()["token"] not in answer.text
    assert len(campaign.get("/tokens").json()["items"]) == 1


def test_a_refused_request_gives_its_key_back(service: Service) -> None:
    campaign = Campaign(service)
    assert refused(_submit(campaign, "nonsense\n")) == (422, "faulty-file")
    assert _submit(campaign, RUN).status_code == 201


def test_a_collection_is_made_once(shared: Service) -> None:
    sent = {"name": "once", "levels": 1}
    answers = [shared.organiser.post("/v1/collections", json=sent, headers=KEY) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].content == answers[1].content
    assert refused(shared.organiser.post("/v1/collections", json=sent)) == (409, "collection-exists")


def test_a_key_that_is_no_key_is_refused(campaign: Campaign) -> None:
    for key in ("", "a b", "x" * 256, "é"):
        headers = {b"Idempotency-Key": key.encode()}
        answer = campaign.organiser.post(f"{campaign.path}/runs?team=t", content=RUN, headers=headers)
        assert refused(answer) == (422, "invalid-request")


def test_a_key_whose_request_is_under_way_is_in_use_until_it_is_abandoned(service: Service, migrated_url: str) -> None:
    campaign = Campaign(service)
    _submit(campaign, RUN)
    database = Database(migrated_url)
    with database.writing() as tx:
        tx.execute(text("UPDATE idempotency_keys SET status = NULL"))
    assert refused(_submit(campaign, RUN)) == (409, "idempotency-key-in-use")
    before = datetime.now(UTC).replace(tzinfo=None) - idempotency.ABANDONED - timedelta(seconds=1)
    with database.writing() as tx:
        tx.execute(idempotency_keys.update().values(created_at=before.replace(tzinfo=UTC)))
    assert _submit(campaign, RUN).status_code == 200
    database.close()


def test_an_answer_is_kept_for_a_day(migrated_url: str, service: Service) -> None:
    scope, now = Scope("who", "where", "key"), datetime.now(UTC)
    database = Database(migrated_url)
    with database.writing() as tx:
        assert idempotency.claim(tx, scope, "print", now) is None
        idempotency.keep(tx, scope, 201, {}, b"answer")
        kept = idempotency.claim(tx, scope, "print", now + timedelta(hours=23, minutes=59))
        assert kept is not None
        assert kept.body == b"answer"
        assert idempotency.claim(tx, scope, "print", now + timedelta(hours=24, minutes=1)) is None
    database.close()
