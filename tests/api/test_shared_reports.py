"""Reports on several collections: jobs that are shared, and judgments that only some may see."""

from tests.world.campaigns import refused
from tests.world.laboratories import DOCUMENTS, TOPICS, Laboratory


def test_jobs_are_queued_in_one_order_however_the_collections_are_named(sqlite_service):
    lab, *others = (Laboratory(sqlite_service) for _ in range(4))
    names = [lab.name, *(other.name for other in others)]
    asked = lab.report("controlling-late-arrival-penalty", collections=names).json()
    listed = lab.organiser.get("/v1/jobs", params={"limit": 100}).json()["items"]
    assert len(listed) == 3 * len(names)
    newest_first = [job["id"] for job in listed]
    assert newest_first == sorted((job["id"] for job in asked["jobs"]), reverse=True)


def test_a_draft_is_hidden_even_where_a_report_has_nothing_to_show_of_it(shared):
    lab, other = Laboratory(shared), Laboratory(shared)
    for each in (lab, other):
        each.release(public=True)
    draft = lab.draft(f"{TOPICS[0]} 0 {DOCUMENTS[0]} 0\n")["version"]
    asked = lab.report(collections=[lab.name, other.name], qrels={lab.name: draft})
    assert [job["collection"] for job in asked.json()["jobs"]] == [other.name]
    location = asked.headers["location"]
    assert lab.organiser.get(location).status_code == 200
    assert refused(lab.client("reader").get(location)) == (404, "not-found")
    assert shared.anonymous.get("/v1/reports", params={"collection": other.name}).json()["items"] == []
    lab.discard(draft)
    assert refused(lab.organiser.get(location)) == (404, "not-found")
