"""Collections: made, changed and deleted."""

import pytest

from tests.world.campaigns import Campaign, codes, judged, refused

JSON = {"Content-Type": "application/json"}
POLICY = {
    "phase": "released", "opens_at": "2026-01-01T00:00:00Z", "closes_at": "2026-02-01T00:00:00Z", "releases_at": None,
    "scores": "own-per-topic", "parameters": "free", "presets": ["Q", "AP"], "decimals": 2, "coverage": 0.5,
    "answers": 10, "quotas": {"per_day": 1, "total": 2, "concurrent": 3, "bytes": 4}, "late": "marked",
}  # fmt: skip


def test_a_collection_comes_back_as_it_was_made(service):
    sent = {
        "title": "Web", "levels": ["B", "A", "S"], "gains": "3:2:1", "depth": 100, "order_by": "rank",
        "topics": ["2", "1"], "metrics": ["Q", "AP(rel=3)"], "policy": POLICY, "public": True,
    }  # fmt: skip
    campaign = Campaign(service, **sent)
    found = campaign.get("").json()
    assert {key: found[key] for key in sent} == sent
    assert found["created_at"].endswith("Z")


def test_a_name_is_taken_until_its_collection_is_deleted(service):
    campaign = judged(service)
    sent = {"name": campaign.name, "levels": 1}
    assert refused(service.organiser.post("/v1/collections", json=sent)) == (409, "collection-exists")
    assert service.organiser.delete(campaign.path).status_code == 204
    assert refused(campaign.get("")) == (404, "not-found")
    assert service.organiser.post("/v1/collections", json=sent).status_code == 201
    assert campaign.get("/runs").json()["items"] == []


BAD = [
    ({"levels": 0}, "greater-than-equal"),
    ({"levels": 128}, "less-than-equal"),
    ({"levels": True}, "int-type"),
    ({"levels": []}, "too-short"),
    ({"levels": [f"x{n}" for n in range(128)]}, "too-long"),
    ({"levels": ["a", "a"]}, "repeated-level"),
    ({"levels": ["L2", "L1"]}, "misleading-level"),
    ({"levels": ["0", "1", "2"]}, "misleading-level"),
    ({"levels": ["a b"]}, "string-pattern-mismatch"),
    ({"depth": 0}, "greater-than-equal"),
    ({"order_by": "tag"}, "literal-error"),
    ({"topics": []}, "too-short"),
    ({"topics": ["all"]}, "reserved-topic"),
    ({"topics": ["1", "1"]}, "repeated-topic"),
    ({"topics": ["a b"]}, "bad-topic"),
    ({"topics": [""]}, "bad-topic"),
    ({"metrics": ["Nonsense"]}, "bad-expression"),
    ({"metrics": ["Q(gains=1:1)"]}, "bad-gains"),
    ({"name": "-x"}, "string-pattern-mismatch"),
    ({"name": "x\n"}, "string-pattern-mismatch"),
    ({"name": "x" * 129}, "string-pattern-mismatch"),
    ({"policy": {"phase": "open"}}, "literal-error"),
    ({"policy": {"marks": "all"}}, "extra-forbidden"),
    ({"colour": "red"}, "extra-forbidden"),
    ({"public": "perhaps"}, "bool-type"),
    ({"public": "yes"}, "bool-type"),
    ({"public": 1}, "bool-type"),
    ({"depth": "10"}, "int-type"),
    ({"depth": 10.0}, "int-type"),
    ({"depth": True}, "int-type"),
    ({"title": 2026}, "string-type"),
]


@pytest.mark.parametrize(("sent", "code"), BAD, ids=lambda value: str(value)[:40])
def test_settings_that_cannot_be_are_refused_each_at_its_place(shared, sent, code):
    answer = shared.organiser.post("/v1/collections", json={"name": "bad", "levels": 3} | sent)
    assert answer.status_code == 422
    assert code in codes(answer)
    assert all(each["location"].startswith("body.") for each in answer.json()["errors"])


def test_a_topic_that_files_may_name_may_be_declared(shared):
    campaign = Campaign(shared, topics=["a\u00a0b", "c\u2028d"])
    answer = campaign.submit("a\u00a0b Q0 x 1 1 t\nc\u2028d Q0 x 1 1 t\n")
    assert (answer.status_code, answer.json()["warnings"]) == (201, [])


def test_what_a_change_does_not_name_stays(shared):
    campaign = Campaign(shared, title="old", gains="2:1", metrics=["Q"], policy={"phase": "released"})
    before = campaign.get("").json()
    assert campaign.change().json() == before
    assert campaign.change(policy={}).json() == before
    assert campaign.change(title="new").json() == before | {"title": "new"}
    assert campaign.change(metrics=None).json()["metrics"] is None


def test_what_a_sender_has_only_read_stays_as_somebody_else_has_changed_it(shared):
    campaign = Campaign(shared, title="Old")
    read = {"title": "Old", "policy": {"decimals": 3, "quotas": {"total": None}}}
    campaign.change(policy={"decimals": 1, "quotas": {"total": 9}})
    answer = campaign.organiser.patch(campaign.path, json=read | {"title": "New", "seen": read})
    assert answer.status_code == 200
    now = answer.json()
    assert (now["title"], now["policy"]["decimals"], now["policy"]["quotas"]["total"]) == ("New", 1, 9)


def test_a_change_is_checked_against_what_stays(shared):
    campaign = Campaign(shared, gains="2:1", metrics=["AP(rel=2)"])
    assert refused(campaign.change(levels=3)) == (422, "bad-gains")
    assert refused(campaign.change(gains="1:2")) == (422, "bad-gains")
    assert refused(campaign.change(levels=1, gains="1")) == (422, "invalid-request")
    assert campaign.change(levels=1, gains="1", metrics=["AP"]).status_code == 200
    assert refused(campaign.change(title=None)) == (422, "invalid-request")


@pytest.mark.parametrize("field", ["opens_at", "closes_at", "releases_at"])
def test_digits_and_dates_are_no_times_so_they_release_nothing(shared, field):
    campaign = Campaign(shared)
    others = [20261231, 2026, 0, -1, 3.5, 1e9, True, [], "20261231", "2026", "0", "-1", "3.5", "1e9", ""]
    for time in [*others, "2026-12-01", "2026-12-01T12:00Z", "2026-12-01 12:00:00Z"]:
        new = {"name": "bad", "levels": 1, "policy": {field: time}}
        for answer in (campaign.change(policy={field: time}), shared.organiser.post("/v1/collections", json=new)):
            assert refused(answer) == (422, "invalid-request"), time
            (fault,) = answer.json()["errors"]
            assert fault["location"] == f"body.policy.{field}"
            assert "2026-12-01T12:00:00Z" in fault["message"]
    policy = campaign.get("").json()["policy"]
    assert (policy["phase"], policy[field]) == ("hidden", None)


@pytest.mark.parametrize(("share", "shown"), [("1", "1"), ("1.0", "1"), ("0.1", "0.1"), ("0", "0"), ("0.925", "0.925")])
def test_a_share_is_shown_as_it_was_set(shared, share, shown):
    campaign = Campaign(shared)
    answer = campaign.organiser.patch(campaign.path, content=f'{{"policy": {{"coverage": {share}}}}}', headers=JSON)
    assert f'"coverage":{shown},' in answer.text
    assert f'"coverage":{shown},' in campaign.get("").text


def test_new_gains_change_the_scores_of_stored_runs(shared):
    campaign = judged(shared)
    campaign.change(gains="5:1")
    assert campaign.scores("Q")["metrics"] == ["Q(beta=1,gains=5:1)"]


def test_links_lead_to_what_belongs_to_a_collection(shared):
    def statuses(client):
        return {name: client.get(link).status_code for name, link in links.items()}

    campaign = judged(shared)
    links = campaign.get("").json()["links"]
    assert links.keys() == {"self", "leaderboard", "scores", "runs", "teams", "qrels", "jobs", "reports"}
    assert set(statuses(campaign.organiser).values()) == {200}
    assert campaign.organiser.get(links["self"]).json() == campaign.get("").json()
    hidden = dict.fromkeys(("leaderboard", "scores", "qrels", "jobs", "reports"), 403)
    assert statuses(campaign.client("participant", "gnu")) == dict.fromkeys(links, 200) | hidden
    assert set(statuses(shared.anonymous).values()) == {401}
    campaign.release(public=True)
    assert set(statuses(shared.anonymous).values()) == {200}
    (shown,) = [each for each in _items(shared.anonymous) if each["name"] == campaign.name]
    assert shown["links"] == links


def test_everybody_finds_public_collections_once_they_are_released(shared):
    def listed(client):
        pages, names = ["/v1/collections?limit=500"], []
        for page in pages:
            answer = client.get(page)
            names += [each["name"] for each in answer.json()["items"]]
            pages += [answer.links["next"]["url"]] if "next" in answer.links else []
        return names

    campaign, other = judged(shared), Campaign(shared)
    reader = other.client("reader")
    for settings, is_listed in (
        ({"public": True}, False),
        ({"policy": {"phase": "released"}}, True),
        ({"public": False}, False),
        ({"public": True, "policy": {"phase": "hidden", "releases_at": "2199-01-01T00:00:00Z"}}, False),
        ({"policy": {"releases_at": "2026-01-01T00:00:00Z"}}, True),
    ):
        assert campaign.change(**settings).status_code == 200
        assert (campaign.name in listed(shared.anonymous)) is is_listed
        assert (campaign.name in listed(reader)) is is_listed
        assert other.name not in listed(shared.anonymous)
    shown = next(each for each in _items(shared.anonymous) if each["name"] == campaign.name)
    assert shown == campaign.get("", shared.anonymous).json()
    assert refused(shared.client("gainboard_unknown").get("/v1/collections")) == (401, "not-authenticated")
    answer = shared.anonymous.get("/v1/collections")
    assert answer.headers["cache-control"] == "public, max-age=5"
    campaign.organiser.delete(campaign.path)
    assert campaign.name not in listed(shared.anonymous)


def _items(client):
    return client.get("/v1/collections?limit=500").json()["items"]


def test_a_collection_that_is_no_longer_public_is_closed_at_once(shared):
    campaign = judged(shared)
    campaign.release(public=True)
    assert campaign.get("/scores", shared.anonymous).status_code == 200
    campaign.change(policy={"phase": "hidden"})
    assert refused(campaign.get("/scores", shared.anonymous)) == (401, "not-authenticated")
