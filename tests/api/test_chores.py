"""What the service makes of results by itself: layouts of reports and figures, by jobs that nobody sees."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import delete, text, update

from gainboard.errors import InvalidRequest, NotFound
from gainboard.jobs.worker import Worker
from gainboard.settings import Settings
from gainboard.store import claims
from gainboard.store import reports as stored_reports
from gainboard.store.job_records import DERIVED_KINDS, derived_id
from gainboard.store.tables import job_file_parts, job_files, jobs, report_chapters, report_jobs, reports
from tests.waiting import until
from tests.world.campaigns import refused
from tests.world.laboratories import SHORT, Laboratory, work
from tests.world.servers import ADMIN, new_settings, serving


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A laboratory where nobody works jobs but the tests, and nobody waits for a chore."""
    monkeypatch.setattr("gainboard.api.job_answers.MOST_SECONDS", 0.01)
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        yield Laboratory(service), service.application.state.workspace


def test_nobody_sees_a_chore(alone):
    lab, workspace = alone
    places = lab.ask().headers["location"], lab.report().headers["location"]
    work(workspace)
    job, report = (lab.organiser.get(place).json() for place in places)
    for each in (job, report):
        lab.organiser.get(each["figures"][0]["svg"])
    assert work(workspace) == 2
    listed = lab.organiser.get("/v1/jobs", params={"limit": 500}).json()["items"]
    assert {each["kind"] for each in listed}.isdisjoint(DERIVED_KINDS)
    for chore, of in (("figures", job), ("layout", report), ("figures", report)):
        url = f"/v1/jobs/{derived_id(chore, of['id'])}"
        for path in ("", "/result", "/events", "/tables/curves.csv", "/pairs"):
            assert refused(lab.organiser.get(f"{url}{path}")) == (404, "not-found")
        assert refused(lab.organiser.delete(url)) == (404, "not-found")


def test_a_report_is_laid_out_before_it_has_succeeded_at_once_if_its_jobs_are_there(alone):
    lab, workspace = alone
    location = lab.report().headers["location"]
    while (held := _claim(workspace)) is not None:
        last = lab.organiser.get(location).json()
        Worker(workspace).work(held)
    assert (last["state"], last["tables"], {job["state"] for job in last["jobs"]}) == ("running", None, {"succeeded"})
    assert lab.organiser.get(location).json()["state"] == "succeeded"
    with workspace.database.writing() as tx:  # only the report and its layout are forgotten
        for table in (report_jobs, report_chapters, reports):
            tx.execute(delete(table))
        tx.execute(delete(jobs).where(jobs.c.kind == "layout"))
    assert (lab.report().json()["state"], work(workspace)) == ("running", 1)
    report = lab.organiser.get(location).json()
    assert (report["state"], bool(report["tables"])) == ("succeeded", True)


def test_a_layout_that_fails_fails_the_report_and_is_made_again_when_it_is_asked_for(alone, monkeypatch):
    lab, workspace = alone
    location = lab.report().headers["location"]

    def fail(*_):
        raise InvalidRequest("There is no room on the page.")

    with monkeypatch.context() as patched:
        patched.setattr("gainboard.jobs.derived_files.lay_out", fail)
        work(workspace)
    report = lab.organiser.get(location).json()
    assert (report["state"], "no room on the page" in report["error"]) == ("failed", True)
    assert refused(lab.organiser.get(f"{location}/result")) == (409, "no-result")
    assert lab.report().status_code == 202
    assert work(workspace) == 1
    assert lab.organiser.get(location).json()["state"] == "succeeded"


def test_a_chore_that_fails_says_why_and_is_not_tried_at_every_request(alone, monkeypatch):
    lab, workspace = alone
    location = lab.ask().headers["location"]
    work(workspace)
    figure = lab.organiser.get(location).json()["figures"][0]["svg"]

    def fail(*_):
        raise NotFound("Figures cannot be drawn.")

    with monkeypatch.context() as patched:
        patched.setattr("gainboard.jobs.derived_files.write_figures", fail)
        assert refused(lab.organiser.get(figure)) == (409, "job-not-finished")
        assert work(workspace) == 1
    for _ in range(2):
        answer = lab.organiser.get(figure)
        assert refused(answer) == (409, "no-result")
        assert "could not be made: Figures cannot be drawn. They are tried again" in answer.json()["detail"]
        assert work(workspace) == 0
    monkeypatch.setattr("gainboard.jobs.derived_files.TRIED_AGAIN_AFTER", timedelta())
    lab.organiser.get(figure)
    assert work(workspace) == 1
    assert lab.organiser.get(figure).status_code == 200


def test_of_a_result_of_another_engine_what_is_stored_stays_and_nothing_is_made_anew(alone):
    lab, workspace = alone
    drawn, plain = (lab.ask(**SHORT, seed=seed).headers["location"] for seed in (1, 2))
    report, lost = lab.report().headers["location"], lab.ask(**SHORT, seed=3).headers["location"]
    work(workspace)
    made = {each: lab.organiser.get(each).json() for each in (drawn, plain, report, lost)}
    lab.organiser.get(made[drawn]["figures"][0]["svg"])
    assert work(workspace) == 1
    lab.organiser.get(made[lost]["figures"][0]["svg"])  # it is asked for before the upgrade, and not drawn yet
    with workspace.database.writing() as tx:
        tx.execute(update(jobs).where(jobs.c.engine_version.is_not(None)).values(engine_version=99))
    for url, then in made.items():
        assert lab.organiser.get(url).json() == then
        for place in (f"{url}/result", *(table["csv"] for table in then["tables"])):
            assert lab.organiser.get(place).status_code == 200
    assert lab.organiser.get(made[drawn]["figures"][0]["svg"]).status_code == 200
    for url in (plain, report):
        answer = lab.organiser.get(made[url]["figures"][0]["svg"])
        assert refused(answer) == (409, "outdated")
        assert "engine version 99, here" in answer.json()["detail"]
    with workspace.database.writing() as tx:  # a table that this version has and the other one did not
        tx.execute(delete(job_file_parts))
        tx.execute(delete(job_files))
    assert refused(lab.organiser.get(made[drawn]["tables"][0]["csv"])) == (409, "outdated")
    assert work(workspace) == 1
    why = lab.organiser.get(made[lost]["figures"][0]["svg"]).json()["detail"]
    assert "could not be made: Another version of Gainboard computed" in why


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_report_is_cancelled_or_asked_for_while_one_of_its_jobs_ends(migrated_url, method):
    settings = Settings.read({}, database_url=migrated_url, admin_token=ADMIN, job_slots=0)
    with serving(settings) as service, ThreadPoolExecutor(1) as aside:
        lab, workspace = Laboratory(service), service.application.state.workspace
        location = lab.report().headers["location"]
        ending = _last_chunk(workspace)
        _fail_another(workspace, ending)
        with workspace.database.writing() as tx:
            assert claims.holds(tx, ending)
            answer = aside.submit(lab.report) if method == "POST" else aside.submit(lab.organiser.delete, location)
            if migrated_url.startswith("postgresql"):
                until(lambda: answer.done() or _somebody_waits(workspace))
            stored_reports.list_needing(tx, ending.job_number)
        assert answer.result().status_code in (200, 202)


def _claim(workspace):
    with workspace.database.writing() as tx:
        return claims.claim(tx, "the tests", workspace.now())


def _last_chunk(workspace):
    """Work until a chunk is claimed that puts a result together."""
    while not (held := _claim(workspace)).is_last:
        Worker(workspace).work(held)
    return held


def _fail_another(workspace, ending):
    """Have another job of the report fail: it is over then, and may be asked for again."""
    with workspace.database.writing() as tx:
        others = (jobs.c.number != ending.job_number) & (jobs.c.state != "succeeded")
        tx.execute(update(jobs).where(others).values(state="failed", error="It does not work out."))


def _somebody_waits(workspace):
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with workspace.database.reading() as tx:
        return bool(tx.execute(query).scalar_one())
