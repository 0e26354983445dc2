"""What is dropped on the page of judgments: judgments, sets, declared topics, topic groups and score matrices."""

import pytest

from tests.world.campaigns import OTHER_QRELS, QRELS, codes, judged, refused
from tests.world.people import Person
from tests.world.servers import ADMIN


@pytest.fixture
def campaign(sqlite_service):
    """A hidden campaign with judgments and the run `tag`."""
    return judged(sqlite_service, name="web")


@pytest.fixture
def organiser(campaign):
    """The organiser, signed in."""
    return Person(campaign.service, ADMIN)


def drop(person, path, content, csrf=None, **query):
    """Sends a file as the script of the page does."""
    sent = {"X-CSRF-Token": person.csrf if csrf is None else csrf, "Origin": person.url, "Accept": "application/json"}
    return person.client.post(f"/c/web/{path}", content=content, params=query, headers=sent)


def test_topics_are_declared_by_a_file_or_by_the_judgments(campaign, organiser):
    answer = drop(organiser, "declared-topics", "2 1\n3\r\n")
    assert (answer.status_code, answer.json()) == (200, {"topics": 3})
    assert campaign.get("").json()["topics"] == ["2", "1", "3"]
    for wrong, code in (("1 1", "repeated-topic"), ("1 all", "reserved-topic"), ("", "bad-topics")):
        assert codes(drop(organiser, "declared-topics", wrong)) == [code]
    assert codes(drop(organiser, "declared-topics", b"\xff\xfe1\x00")) == ["bad-topics"]
    assert campaign.get("").json()["topics"] == ["2", "1", "3"]
    assert "3 topics are declared: 2, 1, 3" in organiser.get("/c/web/judgments").text
    organiser.post("/c/web/declared-topics/from-qrels", csrf=organiser.csrf)
    assert campaign.get("").json()["topics"] == ["1", "2"]


def test_a_warning_about_topics_goes_once_they_are_declared(campaign, organiser):
    drop(organiser, "declared-topics", "1 3")

    def warned():
        return [each["code"] for each in campaign.get("/qrels/1").json()["warnings"]]

    assert warned() == ["undeclared-topics", "unjudged-topics"]
    drop(organiser, "declared-topics", "1 2")
    assert warned() == []
    assert "does not declare" not in organiser.get("/c/web/judgments").text


def test_groups_and_scores_are_those_of_the_api(campaign, organiser):
    assert drop(organiser, "topic-groups", "topic,group\n1,easy\n").status_code == 200
    assert campaign.get("/topic-groups").json()["items"] == [{"name": "easy", "topics": 1, "judged": 1}]
    assert refused(drop(organiser, "topic-groups", "topic,team\n1,easy\n")) == (422, "faulty-file")
    assert drop(organiser, "score-matrices", "run,1,2\ntag,0.5,0.25\n", name="nuggets").status_code == 201
    assert campaign.scores("custom:nuggets")["runs"][0]["mean"]["custom:nuggets(version=1)"] == 0.375
    assert refused(drop(organiser, "score-matrices", "run,1\ntag,x\n", name="nuggets")) == (422, "faulty-file")
    assert refused(drop(organiser, "score-matrices", "run,1,2\ntag,0.5,0.25\n", name="a b"))[0] == 422
    text = organiser.get("/c/web/judgments").text
    assert "custom:nuggets" in text
    assert "<b>easy</b> (1)" in text


def test_a_version_is_kept_compared_published_and_published_again(campaign, organiser):
    made = drop(organiser, "qrels", OTHER_QRELS, draft=True)
    assert (made.status_code, made.json()["state"]) == (201, "draft")
    page = organiser.get("/c/web/judgments/2").text
    for said in (
        "Judgments changed",
        "Which judgments",
        "Publish version 2",
        "Keep it as a draft",
        "Discard version 2",
    ):
        assert said in page
    organiser.post("/c/web/judgments/2/publish", csrf=organiser.csrf)
    assert campaign.get("").json()["qrels_version"] == 2
    assert "Publish version 1 again" in organiser.get("/c/web/judgments/1").text
    assert organiser.get("/c/web/judgments/1/file.txt").text == QRELS
    assert "Compared with version" in organiser.get("/c/web/judgments/2?against=1").text
    organiser.post("/c/web/judgments/1/publish", csrf=organiser.csrf)
    assert campaign.get("").json()["qrels_version"] == 1


def test_judgments_of_another_assessor_are_a_set(campaign, organiser):
    assert drop(organiser, "qrels", OTHER_QRELS, draft=True, judgments="second").json()["judgments"] == "second"
    assert "Version 1 of second (draft)" in organiser.get("/c/web/judgments/1?judgments=second").text.replace("  ", " ")
    organiser.post("/c/web/judgments/1/publish?judgments=second", csrf=organiser.csrf)
    assert campaign.get("/qrels", judgments="second").json()["items"][0]["in_use"]
    assert campaign.get("").json()["qrels_version"] == 1


@pytest.mark.parametrize("path", ["qrels", "declared-topics", "topic-groups", "score-matrices"])
def test_only_organisers_send_these_and_from_their_own_page(campaign, organiser, path):
    query = {"name": "n"} if path == "score-matrices" else {}
    assert drop(organiser, path, QRELS, csrf="another", **query).status_code == 403
    member = Person(campaign.service, campaign.token("participant", "lemur"))
    assert drop(member, path, QRELS, **query).status_code == 403
    assert len(campaign.get("/qrels").json()["items"]) == 1


def test_the_page_of_a_new_collection_reads_judgments_and_stores_nothing(campaign, organiser):
    headers = {"X-CSRF-Token": organiser.csrf, "Origin": organiser.url, "Accept": "application/json"}
    found = organiser.client.post("/new/qrels", content=QRELS, headers=headers).json()
    assert found == {"levels": 2, "topics": ["1", "2"], "judged": 3, "relevant": 2}
    faulty = organiser.client.post("/new/qrels", content="1 0 d x\n", headers=headers)
    assert refused(faulty) == (422, "faulty-file")
    assert len(campaign.organiser.get("/v1/collections").json()["items"]) == 1
