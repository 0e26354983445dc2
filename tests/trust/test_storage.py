"""What teams store is bounded, and what they withdrew is deleted in the end."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, update

from gainboard.cli import main
from gainboard.evaluation.runs import pruning
from gainboard.evaluation.runs.pruning import KEPT_DAYS, Pruned, find_prunable, prune
from gainboard.evaluation.workspace import Workspace
from gainboard.settings import Settings
from gainboard.store import inspection
from gainboard.store.database import Database
from gainboard.store.tables import blob_parts, judged_runs, runs
from tests.operations.test_backup import restored, taken
from tests.waiting import until
from tests.world.campaigns import RUN, WORSE, Campaign, refused, run_text
from tests.world.servers import ADMIN, new_settings, serving

EXCEEDED = (403, "quota-exceeded")
DAY = timedelta(days=1)


def numbered(number):
    """A run like `RUN` in its length, with content of its own."""
    return RUN.replace("tag", f"t{number:02}")


def team(service, **policy):
    campaign = Campaign(service, topics=["1", "2"], policy=policy)
    campaign.put_qrels()
    return campaign, campaign.client("participant", "own")


def stored(client):
    return client.get("/v1/me/limits").json()["team"]["bytes"]


@pytest.fixture
def database(service, migrated_url):
    with closing(Database(migrated_url)) as found:
        yield found


def move(database, campaign, **times):
    names = [each["subject"] for each in campaign.get("/audit", action="run-withdrawn").json()["items"]]
    with database.writing() as tx:
        tx.execute(update(runs).where(runs.c.withdrawn_at.is_not(None), runs.c.name.in_(names)).values(**times))


def rows(database, table):
    with database.reading() as tx:
        return tx.execute(select(func.count()).select_from(table)).scalar_one()


def test_twelve_rounds_of_upload_and_withdrawal_store_no_more_than_the_quota(service):
    campaign, own = team(service, quotas={"total": 1, "bytes": 3 * len(RUN)})
    answers = []
    for number in range(12):
        answers.append(campaign.submit(numbered(number), own))
        if answers[-1].status_code == 201:
            assert own.delete(f"{campaign.path}/runs/t{number:02}").status_code == 204
    assert [answer.status_code for answer in answers] == [201] * 3 + [403] * 9
    assert refused(answers[-1]) == EXCEEDED
    problem = answers[-1].json()
    assert (problem["quota"], problem["limit"], problem["used"]) == ("bytes", 3 * len(RUN), 3 * len(RUN))
    assert "Ask the organisers" in problem["detail"]
    assert stored(own) == {"limit": 3 * len(RUN), "used": 3 * len(RUN), "left": 0, "resets_at": None}


def test_what_was_withdrawn_long_ago_is_deleted_and_room_again(service, database):
    campaign, own = team(service, quotas={"bytes": 2 * len(RUN)})
    for number in range(2):
        assert campaign.submit(numbered(number), own).status_code == 201
        assert own.delete(f"{campaign.path}/runs/t{number:02}").status_code == 204
    assert refused(campaign.submit(numbered(2), own)) == EXCEEDED
    workspace, parts = Workspace(database), rows(database, blob_parts)
    now = datetime.now(UTC)
    move(database, campaign, withdrawn_at=now - KEPT_DAYS * DAY + timedelta(minutes=5))
    assert prune(workspace) == Pruned(0, 0)
    move(database, campaign, withdrawn_at=now - KEPT_DAYS * DAY)
    expected = Pruned(2, 2 * len(RUN))
    assert find_prunable(workspace) == expected
    assert rows(database, blob_parts) == parts
    assert prune(workspace) == expected
    assert (rows(database, blob_parts), rows(database, judged_runs)) == (parts - 2, 0)
    assert prune(workspace) == find_prunable(workspace) == Pruned(0, 0)
    assert stored(own)["used"] == 0
    assert service.organiser.get("/v1/audit", params={"action": "runs-pruned"}).json()["items"][-1]["details"] == {
        "runs": 2,
        "bytes": 2 * len(RUN),
    }
    with database.reading() as tx:
        assert list(inspection.broken_files(database, tx)) == []
    # The same content is stored again where it comes again.
    assert campaign.submit(numbered(0), own).status_code == 201
    answer = own.get(f"{campaign.path}/runs/t00", headers={"Accept": "text/plain"})
    assert answer.text == numbered(0)
    assert stored(own)["used"] == len(RUN)


def test_a_backup_of_pruned_runs_restores(service, database, tmp_path):
    campaign, own = team(service)
    for text in (RUN, WORSE):
        assert campaign.submit(text, own).status_code == 201
    assert own.delete(f"{campaign.path}/runs/tag").status_code == 204
    assert prune(Workspace(database), 0).runs == 1
    file, url = tmp_path / "a.backup", f"sqlite:///{tmp_path / 'restored.db'}"
    taken(database.url, file)
    restored(url, file)
    with closing(Database(url)) as other, inspection.looking(other) as tx:
        assert list(inspection.broken_files(other, tx)) == []
    with serving(Settings.read({}, database_url=url, admin_token=ADMIN)) as again:
        assert again.organiser.post(f"{campaign.path}/runs", params={"team": "own"}, content=RUN).status_code == 201
        for name, text in (("tag", RUN), ("worse", WORSE)):
            found = again.organiser.get(f"{campaign.path}/runs/{name}", headers={"Accept": "text/plain"})
            assert found.text == text


def test_content_that_anything_else_has_is_kept(service, database):
    campaign, own = team(service)
    other = Campaign(service)
    assert {campaign.submit(RUN, own).status_code, other.submit(RUN).status_code} == {201}
    assert own.delete(f"{campaign.path}/runs/tag").status_code == 204
    move(database, campaign, withdrawn_at=datetime.now(UTC) - 31 * DAY)
    assert find_prunable(Workspace(database)) == prune(Workspace(database)) == Pruned(1, 0)
    assert other.organiser.get(f"{other.path}/runs/tag", headers={"Accept": "text/plain"}).text == RUN
    with database.reading() as tx:
        assert list(inspection.broken_files(database, tx)) == []


def test_uploads_at_once_never_exceed_the_bytes(service):
    campaign, own = team(service, quotas={"bytes": 3 * len(RUN)})
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda number: campaign.submit(numbered(number), own).status_code, range(12)))
    assert codes.count(201) == 3
    assert stored(own)["used"] == 3 * len(RUN)


def test_uploads_and_pruning_at_once_lose_no_content(service, database):
    campaign, own = team(service)
    workspace = Workspace(database)
    for _ in range(8):
        assert campaign.submit(RUN, own).status_code == 201
        assert own.delete(f"{campaign.path}/runs/tag").status_code == 204
        move(database, campaign, withdrawn_at=datetime.now(UTC) - 31 * DAY)
        with ThreadPoolExecutor(2) as pool:
            pruned, sent = pool.submit(prune, workspace), pool.submit(campaign.submit, RUN, own)
            assert (pruned.result().runs, sent.result().status_code) == (1, 201)
        assert own.get(f"{campaign.path}/runs/tag", headers={"Accept": "text/plain"}).text == RUN
        assert own.delete(f"{campaign.path}/runs/tag").status_code == 204
        prune(workspace, 0)


@pytest.mark.parametrize(("minutes", "used"), [(9, 0), (11, 1)])
def test_a_run_withdrawn_late_counts(service, database, minutes, used):
    campaign, own = team(service, quotas={"total": 1, "per_day": 1})
    assert campaign.submit(RUN, own).status_code == 201
    assert own.delete(f"{campaign.path}/runs/tag").status_code == 204
    now = datetime.now(UTC)
    move(database, campaign, withdrawn_at=now + timedelta(minutes=minutes), created_at=now)
    assert own.get("/v1/me/limits").json()["team"]["runs"]["total"]["used"] == used
    answer = campaign.submit(WORSE, own)
    assert answer.status_code == (403 if used else 201)


def test_nothing_is_deleted_while_the_collection_has_open_jobs(migrated_url):
    with serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN, job_slots=0)) as service:
        campaign, own = team(service)
        for text in (RUN, WORSE, run_text({"1": ["good"], "2": ["good"]}, "third")):
            assert campaign.submit(text, own).status_code == 201
        job = {"kind": "rank-correlation", "params": {"metrics": ["AP", "Q"]}}
        location = campaign.organiser.post(f"{campaign.path}/jobs", json=job).headers["location"]
        assert own.delete(f"{campaign.path}/runs/tag").status_code == 204
        with closing(Database(migrated_url)) as database:
            assert prune(Workspace(database), 0) == find_prunable(Workspace(database), 0) == Pruned(0, 0)
            assert campaign.organiser.delete(location).status_code == 202
            assert prune(Workspace(database), 0) == Pruned(1, len(RUN))


def test_a_server_prunes_by_itself(migrated_url, monkeypatch):
    monkeypatch.setattr(pruning, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(pruning, "EVERY_SECONDS", 0.05)
    with (
        serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN)) as service,
        closing(Database(migrated_url)) as database,
    ):
        campaign, own = team(service)
        campaign.submit(RUN, own)
        own.delete(f"{campaign.path}/runs/tag")
        move(database, campaign, withdrawn_at=datetime.now(UTC) - 31 * DAY)
        until(lambda: stored(own)["used"] == 0)


def test_the_command_says_what_it_deletes(tmp_path, capsys):
    with serving(new_settings(tmp_path)) as service:
        campaign, own = team(service)
        campaign.submit(RUN, own)
        own.delete(f"{campaign.path}/runs/tag")
        said = f"delete the content of 1 withdrawn run: {len(RUN)} bytes\n"
        for options, expected in (
            ([], "deleted the content of 0 withdrawn runs: 0 bytes\n"),
            (["--days", "0", "--dry-run"], f"would {said}"),
            (["--days", "0"], said.replace("delete", "deleted", 1)),
        ):
            assert main(["prune", "--data", str(tmp_path), *options]) == 0
            assert capsys.readouterr().out == expected
    assert main(["doctor", "--data", str(tmp_path), "--thorough", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)["findings"]
    assert next(each for each in found if each["check"] == "files")["verdict"] == "ok"


def test_new_collections_have_two_gibibytes_a_team_and_organisers_are_not_bound(shared):
    campaign, own = team(shared)
    assert stored(own)["limit"] == 2 << 30
    campaign.change(policy={"quotas": {"bytes": 0}})
    assert refused(campaign.submit(RUN, own)) == EXCEEDED
    assert campaign.submit(RUN, team="own").status_code == 201
    campaign.change(policy={"quotas": {"bytes": None}})
    assert stored(own) == {"limit": None, "used": len(RUN), "left": None, "resets_at": None}
