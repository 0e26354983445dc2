"""Qrels versions: read in each layout, published, given back."""

import pytest

from tests.world.campaigns import OTHER_QRELS, QRELS, WORSE, Campaign, codes, judged, refused


def test_the_bytes_of_the_newest_version_make_no_new_one_those_of_an_older_do(on_both):
    campaign = Campaign(on_both)
    answers = [campaign.put_qrels(text) for text in (QRELS, QRELS, OTHER_QRELS, QRELS)]
    assert [(each.status_code, each.json()["version"]) for each in answers] == [(201, 1), (200, 1), (201, 2), (201, 3)]


def test_the_fields_of_a_form_are_those_of_the_query(shared):
    campaign = Campaign(shared, levels=["A", "B"])
    url, qrels = f"{campaign.path}/qrels", {"file": b"1 d A\n1 e B\n"}
    form = {"columns": "topic-document-level", "draft": "true"}
    answer = campaign.organiser.put(url, data=form, files=qrels)
    assert (answer.status_code, answer.json()["state"], answer.json()["columns"]) == (201, "draft", form["columns"])
    assert refused(campaign.organiser.put(url, data={"columns": "mine"}, files=qrels)) == (422, "invalid-request")
    assert refused(campaign.organiser.put(url, data={"team": "t"}, files=qrels)) == (422, "unknown-parameter")
    assert refused(campaign.client("participant", "t").put(url, data=form, files=qrels)) == (403, "forbidden")
    assert len(campaign.get("/qrels").json()["items"]) == 1


def test_a_new_version_judges_the_stored_runs_and_the_old_one_still_answers(on_both):
    campaign = judged(on_both)
    campaign.put_qrels(OTHER_QRELS)
    newest, old = campaign.scores("AP"), campaign.scores("AP", qrels=1)
    assert (newest["qrels_version"], newest["runs"][0]["mean"]["AP"]) == (2, 0.75)
    assert (old["qrels_version"], old["runs"][0]["mean"]["AP"]) == (1, 0.75)
    assert campaign.scores("AP", topics="all")["runs"][0]["topics"]["AP"] == {"1": 0.5, "2": 1.0}
    assert campaign.scores("AP", topics="all", qrels=1)["runs"][0]["topics"]["AP"] == {"1": 1.0, "2": 0.5}


def test_a_run_that_came_after_a_version_was_replaced_is_judged_by_it_when_asked(on_both):
    campaign = judged(on_both)
    campaign.put_qrels(OTHER_QRELS)
    campaign.submit(WORSE)
    for _ in range(2):
        old = campaign.scores("AP", "ADM", qrels=1)
        assert [run["name"] for run in old["runs"]] == ["tag", "worse"]
        assert old["runs"][1]["mean"]["AP"] == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_a_version_that_is_not_there_is_not_found(shared):
    campaign = judged(shared)
    for answer in (campaign.get("/qrels/2"), campaign.get("/scores", qrels=2), campaign.get("/leaderboard", qrels=2)):
        assert refused(answer) == (404, "not-found")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("1 good A\n1 bad L0\n2 good B\n", "topic-document-level"),
        ("1 L2 good\n1 L0 bad\n2 B good\n", "topic-level-document"),
        ("1 A good 1\n1 C bad 0\n2 B good 0\n", "topic-level-document"),
        ("1\t0 good  2\n1 0 bad 0\n2 0 good 1", "trec"),
    ],
)
def test_every_layout_says_the_same(shared, text, columns):
    campaign = Campaign(shared, levels=["B", "A"])
    found = campaign.put_qrels(text).json()
    assert (found["columns"], found["per_level"]) == (columns, {"L0": 1, "B": 1, "A": 1})
    campaign.submit()
    assert campaign.scores("AP")["runs"][0]["mean"]["AP"] == 0.75


def test_columns_that_fit_both_ways_are_ambiguous_until_settled(shared):
    campaign = Campaign(shared, levels=["B", "A"])
    text = "1 A B\n"
    assert codes(campaign.put_qrels(text)) == ["ambiguous-columns"]
    assert campaign.put_qrels(text, columns="topic-document-level").json()["per_level"] == {"B": 1}
    again = campaign.put_qrels(text, columns="topic-level-document")
    assert (again.status_code, again.json()["per_level"]) == (201, {"A": 1})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1 0 d 3\n", "bad-level"),
        ("1 0 d x\n1 0 e 1\n", "bad-level"),
        ("1 0 d 1\n1 0 d 2\n", "conflicting-judgment"),
        ("", "empty-file"),
        ("# nothing\n", "empty-file"),
        ("all 0 d 1\n", "reserved-topic"),
        ("1 0 d\x00 1\n", "bad-encoding"),
        ("1 0 d 1 1\n1 0 e 1\n", "bad-columns"),
    ],
)
def test_a_faulty_file_publishes_nothing(campaign, text, code):
    answer = campaign.put_qrels(text)
    assert refused(answer) == (422, "faulty-file")
    assert code in codes(answer)
    assert campaign.get("/qrels").json()["items"] == []


def test_settings_that_files_were_read_under_stay(on_both):
    for fill in (Campaign.put_qrels, Campaign.submit):
        campaign = Campaign(on_both, levels=["B", "A"])
        assert campaign.change(levels=["C1", "B1", "A1"], depth=10).status_code == 200
        assert campaign.change(levels=["B", "A"], depth=1000).status_code == 200
        fill(campaign)
        for setting in ({"levels": 2}, {"levels": ["A", "B"]}, {"depth": 10}, {"depth": 10, "order_by": "rank"}):
            assert refused(campaign.change(**setting)) == (409, "setting-fixed")
        assert campaign.change(levels=["B", "A"], depth=1000, title="new", gains="3:1").status_code == 200


def test_an_organiser_sees_how_much_there_is_to_find(shared):
    campaign = Campaign(shared, levels=["B", "A"])
    assert campaign.get("").json()["relevant"] is None
    campaign.put_qrels(QRELS + "1 0 more 1\n1 0 most 2\n")
    found = campaign.get("").json()
    assert found["qrels_version"] == 1
    assert found["relevant"] == {"mean": 2.0, "minimum": 1, "per_level": {"B": 2, "A": 2}}


def test_qrels_are_held_against_the_declared_topics(shared):
    campaign = Campaign(shared, topics=["1", "2", "3"])
    assert codes(campaign.put_qrels("001 0 good 1\n")) == ["no-common-topics"]
    warnings = campaign.put_qrels("1 0 good 1\n2 0 good 1\n4 0 good 1\n").json()["warnings"]
    assert {each["code"]: each["count"] for each in warnings} == {"undeclared-topics": 1, "unjudged-topics": 1}
    assert all(topic in each["message"] for each, topic in zip(warnings, ("'4'", "'3'"), strict=True))


def test_every_answer_about_a_collection_says_what_its_judgments_amount_to(shared):
    campaign = judged(shared)
    read = campaign.get("").json()
    assert (read["qrels_version"], read["relevant"]["mean"]) == (1, 1.0)
    assert campaign.change(title="").json() == read
    listed = campaign.organiser.get("/v1/collections", params={"limit": 500}).json()["items"]
    assert read in listed
