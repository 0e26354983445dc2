"""What happens at once: requests, publications, and processes that start."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest

from tests.waiting import until
from tests.world.campaigns import OTHER_QRELS, QRELS, RUN, Campaign, judged, run_text

TOO_MANY = 429


def at_once(acts):
    """The answers to requests that all begin at the same moment, each from a client of its own thread.

    An upload that is one too many at once is sent again, as clients do.
    """
    barrier = Barrier(len(acts), timeout=60)

    def act(each):
        barrier.wait()
        found = until(lambda: None if (answer := each()).status_code == TOO_MANY else answer)
        assert found is not None
        return found

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(act, acts))


def _statuses(answers):
    return dict(Counter(answer.status_code for answer in answers))


def test_of_many_uploads_of_one_file_one_makes_a_run(service):
    campaign = Campaign(service)
    campaign.put_qrels()
    answers = at_once([campaign.submit] * 20)
    assert _statuses(answers) == {201: 1, 200: 19}
    assert len({answer.text for answer in answers}) == 1


def test_of_many_files_under_one_name_one_is_stored(service):
    campaign = Campaign(service)
    texts = [run_text({"1": [f"d{number}"]}) for number in range(20)]
    answers = at_once([partial(campaign.submit, each) for each in texts])
    assert _statuses(answers) == {201: 1, 409: 19}
    assert len(campaign.get("/runs").json()["items"]) == 1


def test_one_file_for_many_collections_is_stored_once_for_all(service):
    campaigns = [Campaign(service) for _ in range(12)]
    assert _statuses(at_once([each.submit for each in campaigns])) == {201: 12}
    assert {
        each.organiser.get(f"{each.path}/runs/tag", headers={"Accept": "text/plain"}).text for each in campaigns
    } == {RUN}


def test_of_many_collections_of_one_name_one_is_made(service):
    sent = {"name": "wanted", "levels": 1}
    answers = at_once([lambda: service.organiser.post("/v1/collections", json=sent)] * 10)
    assert _statuses(answers) == {201: 1, 409: 9}


def test_uploads_under_one_key_are_answered_once(service):
    campaign = Campaign(service)
    url, key = f"{campaign.path}/tokens", {"Idempotency-Key": "k"}
    answers = at_once([lambda: service.organiser.post(url, json={"role": "reader"}, headers=key)] * 10)
    assert _statuses(answers) == {201: 1, 409: 9}
    assert len(campaign.get("/tokens").json()["items"]) == 1


def test_runs_that_race_with_publications_are_all_judged_by_the_newest_version(service):
    campaign = Campaign(service)
    campaign.put_qrels()
    texts = [run_text({"1": ["good", f"d{number}"], "2": ["good"]}, f"r{number}") for number in range(12)]
    versions = [OTHER_QRELS, QRELS + "1 0 d1 1\n", OTHER_QRELS + "2 0 d2 1\n"]
    uploads = [partial(campaign.submit, each) for each in texts]
    publications = [partial(campaign.put_qrels, each) for each in versions]
    assert _statuses(at_once([*uploads[:6], *publications, *uploads[6:]])) == {201: 15}
    newest = campaign.scores("AP", topics="all")
    assert newest["qrels_version"] == 4
    assert len(newest["runs"]) == 12
    campaign.put_qrels(campaign.organiser.get(f"{campaign.path}/qrels/4", headers={"Accept": "text/plain"}).text + "\n")
    assert campaign.scores("AP", topics="all")["runs"] == newest["runs"]


def test_participants_see_one_consistent_state_while_versions_change(service):
    campaign = judged(service)
    versions = [partial(campaign.put_qrels, text) for text in (OTHER_QRELS, QRELS + "1 0 d 1\n")]
    answers = at_once([*[lambda: campaign.get("/scores", metric="AP")] * 8, *versions])
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert all(len(answer.json()["runs"]) == 1 for answer in answers[:8])


def test_a_run_withdrawn_twice_at_once_is_withdrawn_once(service):
    campaign = Campaign(service)
    campaign.submit()
    answers = at_once([lambda: service.organiser.delete(f"{campaign.path}/runs/tag")] * 8)
    assert _statuses(answers) == {204: 1, 404: 7}


OPEN = """
import sys
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.store.database import Database
from gainboard.store.schema import migrate
before, after = migrate(Database(sys.argv[1]))
workspace, token = open_workspace(Settings.read({}, database_url=sys.argv[1]))
print("migrated" if before != after else "waited", "made" if token else "found")
"""


@pytest.mark.proof
def test_of_several_processes_that_start_on_an_empty_database_one_migrates_it(database_url):
    started = [
        subprocess.Popen([sys.executable, "-c", OPEN, database_url], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=60)[0].split() for process in started]
    assert [process.returncode for process in started] == [0] * 3
    assert sorted(migrated for migrated, _ in said) == ["migrated", "waited", "waited"]
    assert sorted(made for _, made in said) == ["found", "found", "made"]
