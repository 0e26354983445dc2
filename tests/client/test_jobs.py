"""Jobs and reports as objects of the client: asked for, waited for, cancelled, read."""

import json
import pickle

import pytest

from gainboard.analyses.stability import StabilityResult
from gainboard.client import NoAnswer, Problem, WorkFailed
from gainboard.store import claims
from tests.world.laboratories import LONG, REPORT, SHORT, Laboratory
from tests.world.servers import ADMIN, new_settings, serving


@pytest.fixture
def idle(tmp_path, connect):
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        yield connect(service.url, ADMIN), Laboratory(service).name, service.application.state.workspace


@pytest.fixture
def job(organiser, lab):
    job = organiser.job(lab.name, "stability", **SHORT)
    job.wait()
    return job


def test_a_job_is_asked_for_waited_for_and_read(organiser, shared):
    lab = Laboratory(shared)
    seen = []
    job = organiser.job(lab.name, "stability", **SHORT)
    assert job.wait(progress=seen.append).state == "succeeded"
    assert (seen[-1].progress.done, job.is_over) == (job.progress.total, True)
    assert len(seen) >= 2
    result, shown = job.result(), lab.organiser.get(f"/v1/jobs/{job.id}/result").json()
    assert isinstance(result, StabilityResult)
    assert result.metrics[0].curve[0].fuzziness == shown["metrics"][0]["curve"][0]["fuzziness"]
    assert json.loads(result.model_dump_json(exclude_unset=True)) == job.result_json() == shown
    assert organiser.job(lab.name, "stability", **SHORT).id == job.id
    assert [each.id for each in organiser.jobs(collection=lab.name, state="succeeded")] == [job.id]


def test_the_tables_and_figures_of_a_job_are_read(organiser, lab, job):
    shown = (job.latest.tables or [])[0]
    table = job.table(shown.name)
    assert table.csv == lab.organiser.get(shown.csv).text == organiser.find_job(job.id).table().csv
    assert table.to_dict().keys() == table.columns().keys()
    assert table.to_numpy().values.shape[0] == table.csv.count("\r\n") - 1
    assert shown.latex is not None
    assert job.latex(shown.name) == job.latex() == lab.organiser.get(shown.latex).text
    assert job.figure((job.latest.figures or [])[0].name).rstrip().endswith("</svg>")


def test_a_report_is_asked_for_waited_for_and_read(organiser, lab):
    report = organiser.report(REPORT, lab.name)
    shown = report.wait().tables or []
    assert [table.name for table in report.result().tables] == [table.name for table in shown]
    assert report.table().csv == lab.organiser.get(shown[0].csv).text
    assert report.latex(shown[0].name) in report.latex()
    assert [each.id for each in organiser.reports(name=REPORT, collection=lab.name)] == [report.id]
    assert (organiser.find_report(report.id).state, report.cancel().state) == ("succeeded", "succeeded")
    assert organiser.report(REPORT, [lab.name]).id == report.id


def test_a_long_job_is_cancelled_and_waiting_for_it_says_so(organiser, lab):
    job = organiser.job(lab.name, "stability", **LONG)
    assert job.cancel().state == "cancelled"
    with pytest.raises(WorkFailed, match="The job was cancelled") as failed:
        job.wait()
    assert (failed.value.state, job.refresh().state) == ("cancelled", "cancelled")


def test_waiting_ends_with_the_time(idle):
    gb, collection, _ = idle
    job = gb.job(collection, "stability", **SHORT)
    with pytest.raises(NoAnswer, match=r"The job is still queued after 0\.01 seconds"):
        job.wait(timeout=0.01)
    with pytest.raises(Problem) as refused:
        job.result()
    assert refused.value.type == "job-not-finished"
    with pytest.raises(Problem, match="queued"):
        job.table()


def test_a_job_that_fails_says_why(idle):
    gb, collection, workspace = idle
    job = gb.job(collection, "stability", **SHORT)
    with workspace.database.writing() as tx:
        claim = claims.claim(tx, "somebody", workspace.now())
        assert claim is not None
        claims.give_back(tx, claim, workspace.now(), "It does not work out.", is_final=True)
    with pytest.raises(WorkFailed, match=r"The job failed: It does not work out\.") as failed:
        job.wait()
    assert failed.value.state == "failed"
    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


def test_what_a_result_depends_on_may_be_gone_or_not_told(organiser, shared):
    name = Laboratory(shared).name
    organiser.put_score_matrix(name, "nuggets", b"run,1,2\nrun-0,0.5,1e-1\nrun-1,0.25,0\n")
    runs = ["run-0", "run-1"]
    job = organiser.job(name, "rank-correlation", metrics=["custom:nuggets", "AP"], runs=runs)
    job.wait()
    rows = "run,1,2", "run-0,0.5,0.1", "run-1,0.25,0.0", ""
    assert job.uploaded_scores() == {"custom:nuggets(version=1)": "\r\n".join(rows)}
    organiser.delete_score_matrix(name, "nuggets")
    assert job.uploaded_scores() == {}
    verification = organiser.find_job(job.verify().id)
    verification.wait()
    assert verification.dependencies() is None
