"""Collections: made, changed and deleted."""

import pytest

from tests.world.campaigns import Campaign, codes, judged, refused


def test_numbers_words_and_truths_are_taken_as_they_are_meant_and_bounded(shared):
    for sent, code in (
        ({"levels": 128}, "less-than-equal"),
        ({"levels": True}, "int-type"),
        ({"levels": [f"x{n}" for n in range(128)]}, "too-long"),
        ({"levels": ["0", "1", "2"]}, "misleading-level"),
        ({"topics": ["1", "1"]}, "repeated-topic"),
        ({"topics": ["a b"]}, "bad-topic"),
        ({"topics": [""]}, "bad-topic"),
        ({"name": "x\n"}, "string-pattern-mismatch"),
        ({"policy": {"marks": "all"}}, "extra-forbidden"),
        ({"colour": "red"}, "extra-forbidden"),
        ({"public": "yes"}, "bool-type"),
        ({"public": 1}, "bool-type"),
        ({"depth": "10"}, "int-type"),
        ({"depth": 10.0}, "int-type"),
        ({"title": 2026}, "string-type"),
    ):
        assert code in codes(shared.organiser.post("/v1/collections", json={"name": "bad", "levels": 3} | sent)), sent


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
    campaign.organiser.delete(campaign.path)
    assert campaign.name not in listed(shared.anonymous)


def test_the_texts_of_queries_stay_until_somebody_changes_them_and_are_shown_to_a_team(shared):
    texts = {"2": "why do cats purr", "10": "=1+1 <b>"}
    campaign = Campaign(shared, topics=["2", "10"], queries=texts)
    assert campaign.read("", campaign.client("participant", "lemur"))["queries"] == texts
    seen = {"queries": texts}
    assert campaign.change(topics=["10", "2"], queries=texts, seen=seen).json()["queries"] == texts
    assert campaign.change(queries={"2": "eels"}).json()["topics"] == ["10", "2"]
    # Whoever read the texts before somebody else changed them changes nothing unawares.
    assert refused(campaign.change(queries={"2": "owls"}, seen=seen)) == (409, "settings-changed")
    assert campaign.read("")["queries"] == {"2": "eels"}
    assert refused(campaign.change(queries={"2": "\0"})) == (422, "invalid-request")
    assert campaign.change(queries=None).json()["queries"] is None
    changes = [entry["details"]["settings"] for entry in campaign.read("/audit", action="collection-changed")["items"]]
    assert [each.get("queries") for each in changes] == [
        None,
        {"old": texts, "new": {"2": "eels"}},
        {"old": {"2": "eels"}, "new": None},
    ]
