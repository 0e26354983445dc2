"""The audit log: every change leaves one entry, and what changes nothing leaves none."""

import re
from typing import get_args

import pytest

from gainboard.evaluation.audit import verify
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.vocabulary import Action
from tests.api.changes import CHANGES, log, prepared
from tests.api.routes import every_route
from tests.world.campaigns import Campaign, judged
from tests.world.laboratories import Laboratory
from tests.world.pages import DOCS
from tests.world.servers import ADMIN, new_settings, serving


def test_every_route_that_changes_something_is_in_the_table():
    changing = [route.title for route in every_route() if route.method != "GET"]
    elsewhere = ["POST /v1/imports"]  # in tests/jobs/test_importing.py
    nothing_stored = ["POST /v1/design", "POST /v1/survey"]
    assert sorted(changing) == sorted([*CHANGES, *elsewhere, *nothing_stored])


@pytest.mark.parametrize("route", CHANGES)
def test_a_change_leaves_one_entry_that_says_who_made_it_and_a_refused_one_none(shared, lab, route):
    lab = Laboratory(shared) if route.startswith("DELETE /v1/collections") else lab
    send = prepared(lab, route)
    others = [lab.client("reader"), shared.stranger(), Campaign(shared).client("organiser")]
    before = log(shared.organiser)
    assert {send(client).status_code for client in others} <= {401, 403, 404}
    assert send(shared.organiser).status_code < 300
    *earlier, entry = log(shared.organiser)
    assert earlier == before
    me = shared.organiser.get("/v1/me").json()["id"]
    assert (entry["action"], entry["token"], entry["role"]) == (CHANGES[route][0], me, "organiser")
    assert (entry["collection"] is None) == ("/v1/tokens" in route)


def test_what_fails_or_changes_nothing_leaves_none(shared):
    campaign = judged(shared, title="t")
    token = campaign.new_token()["id"]
    shared.organiser.delete(f"{campaign.path}/tokens/{token}")
    before = log(shared.organiser)
    answers = [
        campaign.submit("nonsense\n"),
        campaign.submit("1 Q0 other 1 1 tag\n"),
        campaign.submit(),
        campaign.put_qrels("nonsense\n"),
        campaign.put_qrels(),
        campaign.change(levels=5),
        campaign.change(title="t"),
        shared.organiser.post("/v1/collections", json={"name": campaign.name, "levels": 1}),
        shared.organiser.post(f"{campaign.path}/teams", json={"name": "lemur"}),
        shared.organiser.post(f"{campaign.path}/tokens/{token}/rotate"),
        shared.organiser.delete(f"{campaign.path}/tokens/{token}"),
    ]
    assert [each.status_code for each in answers] == [422, 409, 200, 422, 200, 409, 200, 409, 409, 409, 204]
    assert log(shared.organiser) == before


def test_an_equal_request_for_a_job_and_a_second_end_of_it_leave_none(lab):
    job = lab.worked(lab.ask())["id"]
    before = log(lab.organiser)
    assert (lab.ask().status_code, lab.organiser.delete(f"/v1/jobs/{job}").status_code) == (200, 200)
    assert log(lab.organiser) == before


def test_a_release_is_told_from_other_changes_with_what_was_and_what_is(campaign):
    campaign.release(public=True)
    campaign.change(topics=[f"topic-{number}" for number in range(500)])
    released, changed = log(campaign.organiser, campaign.path)[-2:]
    assert (released["action"], changed["action"]) == ("collection-released", "collection-changed")
    settings = released["details"]["settings"]
    assert settings["phase"] == {"old": "hidden", "new": "released"}
    assert settings["public"] == {"old": False, "new": True}
    assert set(changed["details"]["settings"]["topics"]["new"]) == {"sha256"}


def test_an_export_is_known_by_its_last_hash(campaign):
    def asked(**held):
        headers = {"Accept": "application/x-ndjson", **held}
        return campaign.organiser.get(f"{campaign.path}/audit", headers=headers)

    etag = asked().headers["etag"]
    assert etag.strip('"') == log(campaign.organiser, campaign.path)[-1]["hash"]
    assert asked(**{"If-None-Match": etag}).status_code == 304
    campaign.change(title="new")
    assert asked(**{"If-None-Match": etag}).status_code == 200


def test_the_log_of_a_deleted_collection_stays_with_the_instance(shared):
    campaign = Campaign(shared)
    shared.organiser.delete(campaign.path)
    successor = Campaign(shared, name=campaign.name)
    assert [entry["action"] for entry in log(shared.organiser, successor.path)] == ["collection-created"]
    actions = [entry["action"] for entry in log(shared.organiser) if entry["collection"] == campaign.name]
    assert actions == ["collection-created", "collection-deleted", "collection-created"]


def test_a_start_says_when_it_made_or_set_an_organiser_and_only_then(tmp_path):
    for admin in (None, None, ADMIN, ADMIN, "another-admin-token-now", ADMIN):
        workspace, _ = open_workspace(Settings.read({}, data=tmp_path, admin_token=admin))
        workspace.database.close()
    with serving(new_settings(tmp_path)) as service:
        entries = log(service.organiser)
    assert [entry["action"] for entry in entries] == ["first-token-made", *["admin-token-set"] * 3]
    assert {(entry["role"], entry["token"]) for entry in entries} == {("operator", None)}
    assert verify(entries).fault is None


def test_the_page_describes_every_action_and_no_other():
    page = DOCS["security.md"]
    table = page.split("\n## Audit log")[1].split("\n### ")[0]
    named = [
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall("`([a-z-]+)`", row)
    ]
    assert sorted(named) == sorted(["action", *get_args(Action)])
