"""A POST that is repeated under its Idempotency-Key is answered as the first time."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import false, text

from gainboard.store import idempotency
from gainboard.store.database import Database
from gainboard.store.idempotency import Scope
from gainboard.store.processes import sweep
from tests.world.campaigns import RUN, WORSE, Campaign, refused
from tests.world.laboratories import REPORT, SHORT, Laboratory, qrels_text, rotated

KEY = {"Idempotency-Key": "key-1"}
IN_USE = "idempotency-key-in-use"


def _submit(campaign, content, client=None, **query):
    client = client or campaign.organiser
    query = {"team": "lemur"} | query
    return client.post(f"{campaign.path}/runs", content=content, params=query, headers=KEY)


def test_a_repetition_is_answered_as_the_first_success_though_things_changed(service):
    campaign = Campaign(service)
    assert refused(_submit(campaign, "nonsense\n")) == (422, "faulty-file")  # which gives the key back
    first = _submit(campaign, RUN)
    campaign.organiser.delete(f"{campaign.path}/runs/tag")
    second = _submit(campaign, RUN)
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert first.headers["location"] == second.headers["location"]
    assert campaign.read("/runs")["items"] == []


def test_a_form_sent_again_is_the_same_though_its_boundary_is_another(campaign):
    url = f"{campaign.path}/runs?team=lemur"
    answers = [campaign.organiser.post(url, files={"file": RUN}, headers=KEY) for _ in range(2)]
    assert answers[0].request.headers["content-type"] != answers[1].request.headers["content-type"]
    assert [answer.status_code for answer in answers] == [201, 201]
    other = campaign.organiser.post(url, files={"file": RUN}, data={"name": "other"}, headers=KEY)
    assert refused(other) == (422, "idempotency-key-reused")


def test_the_same_key_of_another_principal_or_route_is_another_key(shared):
    campaign = Campaign(shared)
    _submit(campaign, RUN)
    assert _submit(campaign, WORSE, campaign.client("participant", "lemur")).status_code == 201
    assert _submit(Campaign(shared), WORSE).status_code == 201
    sent = {"json": {"role": "reader"}, "headers": KEY}
    assert campaign.organiser.post(f"{campaign.path}/tokens", **sent).status_code == 201


def test_a_key_whose_request_is_under_way_is_in_use_until_its_process_is_dead(service, migrated_url):
    campaign = Campaign(service)
    _submit(campaign, RUN)
    database = Database(migrated_url)
    with database.writing() as tx:
        tx.execute(text("UPDATE idempotency_keys SET status = NULL"))
        sweep(tx, false())
    assert refused(_submit(campaign, RUN)) == (409, "idempotency-key-in-use")
    with database.writing() as tx:
        tx.execute(text("UPDATE idempotency_keys SET process = 'dead'"))
        sweep(tx, false())
    assert _submit(campaign, RUN).status_code == 200
    database.close()


def test_an_answer_is_kept_for_a_day(migrated_url, service):
    scope, now = Scope("who", "where", "key"), datetime.now(UTC)
    database = Database(migrated_url)
    with database.writing() as tx:
        assert idempotency.claim(tx, scope, "print", now, "a process") is None
        idempotency.keep(tx, scope, 201, {}, b"answer")
        kept = idempotency.claim(tx, scope, "print", now + timedelta(hours=23, minutes=59), "another")
        assert kept is not None
        assert kept.body == b"answer"
        assert idempotency.claim(tx, scope, "print", now + timedelta(hours=24, minutes=1), "another") is None
    database.close()


# What each route that takes a key is sent: its body, and its query.
SENT = {
    "/v1/collections": ({"name": "NEW", "levels": 1}, {}),
    "/v1/collections/{collection}/jobs": ({"kind": "stability", "params": SHORT}, {}),
    "/v1/collections/{collection}/releases": ({}, {}),
    "/v1/collections/{collection}/runs": (rotated(9), {"team": "team-0", "name": "again"}),
    "/v1/collections/{collection}/teams": ({"name": "new"}, {}),
    "/v1/collections/{collection}/tokens": ({"role": "reader"}, {}),
    "/v1/collections/{collection}/tokens/{token}/rotate": ({}, {}),
    "/v1/reports": ({"name": REPORT, "collections": ["NAME"]}, {}),
    "/v1/tokens": ({}, {}),
}
OF_THE_INSTANCE = {"/v1/collections", "/v1/tokens"}


@dataclass
class Keyed:
    lab: Laboratory

    def __post_init__(self):
        self.lab.release(public=True)
        self.token = self.lab.new_token()["id"]

    def send(self, path, client):
        body, query = SENT[path]
        filled = path.format(collection=self.lab.name, token=self.token)
        body = json.loads(json.dumps(body).replace("NAME", self.lab.name).replace("NEW", f"{self.lab.name}-new"))
        sent = {"content": body} if isinstance(body, str) else {"json": body}
        return client.post(filled, params=query, headers={"Idempotency-Key": self.lab.name}, **sent)


def test_every_route_with_a_key_is_tried(shared):
    paths = shared.organiser.get("/openapi.json").json()["paths"]
    keyed = {
        path
        for path, operations in paths.items()
        for operation in operations.values()
        if any(parameter["name"] == "idempotency-key" for parameter in operation.get("parameters", ()))
    }
    assert keyed == SENT.keys()


@pytest.mark.parametrize("path", SENT)
def test_a_kept_answer_is_given_only_to_who_might_send_the_request_now(shared, path):
    keyed = Keyed(Laboratory(shared))
    organiser = shared.organiser
    first = keyed.send(path, organiser)
    assert first.is_success, first.text
    again = keyed.send(path, organiser)
    assert again.content == first.content or (refused(again)[1], again.json()["id"]) == (IN_USE, first.json()["id"])
    organiser.delete(keyed.lab.path).raise_for_status()
    if path not in OF_THE_INSTANCE:
        assert refused(keyed.send(path, organiser)) == (404, "not-found")
        Campaign(shared, name=keyed.lab.name, levels=3)
        assert keyed.send(path, organiser).content != first.content


@pytest.mark.parametrize("role", ["reader", "participant"])
@pytest.mark.parametrize("path", ["/v1/collections/{collection}/jobs", "/v1/reports"])
def test_who_may_no_longer_see_the_judgments_is_told_so_again(shared, path, role):
    keyed = Keyed(Laboratory(shared))
    own, other = keyed.lab.client(role, "team-0" if role == "participant" else None), Campaign(shared).client("reader")
    firsts = [keyed.send(path, client) for client in (own, other)]
    assert [answer.status_code for answer in firsts] == [202, 202] or firsts[1].status_code == 200
    keyed.lab.change(policy={"phase": "hidden"})
    assert refused(keyed.send(path, own)) == (403, "judgments-hidden")
    assert refused(keyed.send(path, other)) == (404, "not-found")


def test_a_job_about_judgments_that_were_hidden_since_is_not_shown_again(shared):
    lab = Laboratory(shared)
    lab.release()
    lab.put_qrels(qrels_text(1), judgments="second")
    lab.organiser.patch(f"{lab.path}/judgments/second", json={"state": "released"}).raise_for_status()
    sent = {"kind": "stability", "params": {**SHORT, "judgments": "second"}}
    reader = lab.client("reader")
    assert reader.post(f"{lab.path}/jobs", json=sent, headers=KEY).is_success
    lab.organiser.patch(f"{lab.path}/judgments/second", json={"state": "hidden"}).raise_for_status()
    assert refused(reader.post(f"{lab.path}/jobs", json=sent, headers=KEY)) == (404, "not-found")


def test_an_upload_is_answered_again_only_while_the_team_may_upload(shared):
    lab = Laboratory(shared)
    lab.change(policy={"phase": "released", "late": "marked"})
    own, path = lab.client("participant", "team-0"), f"{lab.path}/runs"
    first = own.post(path, content=rotated(9), headers=KEY)
    assert first.json()["unjudged_share"] is not None
    assert own.post(path, content=rotated(9), headers=KEY).content == first.content
    lab.change(policy={"phase": "hidden"})
    hidden = own.post(path, content=rotated(9), headers=KEY)
    assert (hidden.status_code, hidden.headers["location"]) == (201, first.headers["location"])
    assert hidden.json() == first.json() | {"unjudged_share": None, "warnings": []}
    lab.change(policy={"phase": "released", "late": "closed"})
    assert refused(own.post(path, content=rotated(9), headers=KEY)) == (403, "upload-after-release")


def test_what_cannot_be_done_now_is_not_said_to_be_done(shared):
    keyed = Keyed(Laboratory(shared))
    rotate, release = (f"/v1/collections/{{collection}}/{rest}" for rest in ("tokens/{token}/rotate", "releases"))
    for path in (rotate, release):
        assert keyed.send(path, shared.organiser).status_code == 201
    shared.organiser.delete(f"{keyed.lab.path}/tokens/{keyed.token}").raise_for_status()
    keyed.lab.change(policy={"phase": "hidden"}).raise_for_status()
    for path in (rotate, release):
        assert refused(keyed.send(path, shared.organiser)) == (409, "conflict")


def test_a_token_that_was_revoked_repeats_nothing(shared):
    keyed = Keyed(Laboratory(shared))
    made = keyed.lab.new_token("organiser")
    client = shared.client(made["token"])
    paths = [path for path in SENT if path not in OF_THE_INSTANCE]
    assert all(keyed.send(path, client).is_success for path in paths)
    keyed.lab.organiser.delete(f"{keyed.lab.path}/tokens/{made['id']}").raise_for_status()
    assert {refused(keyed.send(path, client)) for path in paths} == {(401, "not-authenticated")}
