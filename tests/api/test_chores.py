"""What the service makes of results by itself: layouts of reports and figures, by jobs that nobody sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete

from gainboard.errors import InvalidRequest
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store import claims
from gainboard.store.job_records import CHORES, chore_id
from gainboard.store.job_tables import jobs, report_chapters, report_jobs, reports
from gainboard.work.worker import Worker
from tests.api.campaign import refused
from tests.api.laboratory import Laboratory
from tests.conftest import ADMIN, Service, running

pytestmark = pytest.mark.outer


@pytest.fixture
def still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Laboratory, Workspace]]:
    """A laboratory where nobody works jobs but the tests, and nobody waits for a chore."""
    monkeypatch.setattr("gainboard.api.work.MOST_SECONDS", 0.01)
    settings = Settings.read({}, data=tmp_path, admin_token=ADMIN, job_slots=0)
    workspace, _ = open_workspace(settings)
    with running(create_app(workspace, settings)) as service:
        yield Laboratory(service), workspace


def work(workspace: Workspace) -> int:
    """Work all chunks that there are; return how many there were."""
    worker, count = Worker(workspace), 0
    while True:
        with workspace.database.writing() as tx:
            held = claims.claim(tx, "the tests", workspace.now())
        if held is None:
            return count
        try:
            worker.work(held)
        except InvalidRequest as error:  # as the engine does
            with workspace.database.writing() as tx:
                claims.give_back(tx, held, workspace.now(), error.message, is_final=True)
        count += 1


def test_nobody_sees_a_chore(shared: Service) -> None:
    lab = Laboratory(shared)
    job = lab.finished(lab.ask())
    report = lab.organiser.get(lab.report().headers["location"], params={"wait": 30}).json()
    for work in (job, report):
        assert lab.organiser.get(work["figures"][0]["svg"]).status_code == 200
    listed = lab.organiser.get("/v1/jobs", params={"limit": 500}).json()["items"]
    assert {each["kind"] for each in listed}.isdisjoint(CHORES)
    for chore, of in (("figures", job), ("layout", report), ("figures", report)):
        url = f"/v1/jobs/{chore_id(chore, of['id'])}"  # type: ignore[arg-type]
        for path in ("", "/result", "/events", "/tables/curves.csv", "/pairs"):
            assert refused(lab.organiser.get(f"{url}{path}")) == (404, "not-found")
        assert refused(lab.organiser.delete(url)) == (404, "not-found")


def test_figures_are_drawn_when_one_is_first_asked_for_and_once(still: tuple[Laboratory, Workspace]) -> None:
    lab, workspace = still
    location = lab.ask().headers["location"]
    assert work(workspace) > 0
    assert work(workspace) == 0, "nobody has asked for a figure"
    job = lab.organiser.get(location).json()
    urls = [figure["svg"] for figure in job["figures"]]
    for url in urls * 2:
        answer = lab.organiser.get(url)
        assert refused(answer) == (409, "job-not-finished")
        assert answer.headers["retry-after"] == "1"
    assert work(workspace) == 1
    assert [lab.organiser.get(url).headers["content-type"] for url in urls] == ["image/svg+xml"] * len(urls)
    assert work(workspace) == 0


def test_a_report_is_laid_out_before_it_has_succeeded(still: tuple[Laboratory, Workspace]) -> None:
    lab, workspace = still
    location = lab.report().headers["location"]
    claimed = []
    while True:
        with workspace.database.writing() as tx:
            held = claims.claim(tx, "the tests", workspace.now())
        if held is None:
            break
        claimed.append(lab.organiser.get(location).json())
        Worker(workspace).work(held)
    last = claimed[-1]
    assert (last["state"], last["tables"], {job["state"] for job in last["jobs"]}) == ("running", None, {"succeeded"})
    report = lab.organiser.get(location).json()
    assert (report["state"], bool(report["tables"])) == ("succeeded", True)


def test_a_report_whose_jobs_are_there_is_laid_out_at_once(still: tuple[Laboratory, Workspace]) -> None:
    lab, workspace = still
    lab.report()
    assert work(workspace) > 1
    with workspace.database.writing() as tx:  # only the report and its layout are forgotten
        for table in (report_jobs, report_chapters, reports):
            tx.execute(delete(table))
        tx.execute(delete(jobs).where(jobs.c.kind == "layout"))
    asked = lab.report()
    assert (asked.json()["state"], work(workspace)) == ("running", 1)
    assert lab.organiser.get(asked.headers["location"]).json()["state"] == "succeeded"


def test_a_layout_that_fails_fails_the_report_and_is_made_again_when_it_is_asked_for(
    still: tuple[Laboratory, Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, workspace = still
    location = lab.report().headers["location"]

    def fail(*_: object) -> None:
        raise InvalidRequest("There is no room on the page.")

    with monkeypatch.context() as patched:
        patched.setattr("gainboard.work.chores.lay_out", fail)
        work(workspace)
    report = lab.organiser.get(location).json()
    assert report["state"] == "failed"
    assert "could not be laid out" in report["error"]
    assert "no room on the page" in report["error"]
    assert refused(lab.organiser.get(f"{location}/result")) == (409, "no-result")
    assert lab.report().status_code == 202
    assert work(workspace) == 1
    assert lab.organiser.get(location).json()["state"] == "succeeded"
