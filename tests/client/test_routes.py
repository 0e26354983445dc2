"""Every route of the API is one that a call of the client asks for, or is left out for a reason."""

import inspect
import re
from contextlib import suppress

import httpx
import pytest

from gainboard.client import AsyncGainboard, Gainboard, Job, Problem, Report
from gainboard.client.calling import Both
from tests.outside import ROOT
from tests.world.campaigns import OTHER_QRELS, QRELS, RUN
from tests.world.laboratories import REPORT, SHORT, Laboratory
from tests.world.servers import ADMIN

ROUTES = re.findall(r"^### ([A-Z]+ /.*)$", (ROOT / "docs/api.md").read_text(encoding="utf-8"), re.MULTILINE)
LEFT_OUT = {
    "GET /v1/collections/{collection}/pool": "it leads to the list of jobs, which the client asks for itself",
    "GET /": "it leads people, and programs that know no route, to the others",
    "GET /v1/collections/{collection}/feed": "it is for feed readers",
    "GET /v1/jobs/{job}/events": "`wait` asks with `?wait=`, which needs no stream to be kept open",
    "GET /v1/reports/{report}/events": "as of a job",
}


class Noting(httpx.HTTPTransport):
    """The network, with note of what goes over it."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_request(self, request):
        self.seen.add(f"{request.method} {request.url.path}")
        return super().handle_request(request)


def calls(of):
    """The names of the calls of a class."""
    return {name for base in of.__mro__ for name, value in vars(base).items() if isinstance(value, Both)}


class Used:
    """A client or job, with note of which calls were done."""

    def __init__(self, of, done):
        self._of, self._done = of, done

    def __getattr__(self, name):
        self._done.add(name)

        def use(*args, **kwargs):
            found = getattr(self._of, name)(*args, **kwargs)
            return list(found) if inspect.isgenerator(found) else found

        return use


def use_all(gb, of_work, lab, folder):
    """Each call once at least, in an order in which each is carried out."""
    gb.health(), gb.readiness(), gb.telemetry(), gb.problem_page("faulty-file"), gb.metrics(), gb.me(), gb.limits()
    gb.design("t-test", difference=0.1, variance=0.05)
    gb.revoke_organiser(gb.organiser(gb.create_organiser("R. Mokoena").id).id), gb.organisers()
    gb.create_collection("web", 2), gb.collection("web"), gb.change_collection("web", title="Web"), gb.collections()
    gb.survey(QRELS), gb.put_qrels("web", QRELS), gb.put_qrels("web", OTHER_QRELS, draft=True)
    gb.qrels("web"), gb.impact("web", 2)
    gb.qrels_version("web", 1), gb.qrels_file("web", 1), gb.save_qrels_file("web", 1, folder / "qrels.txt")
    gb.put_qrels("web", OTHER_QRELS, judgments="second"), gb.judgment_sets("web")
    gb.change_judgment_set("web", "second", "released"), gb.delete_judgment_set("web", "second")
    gb.publish_qrels("web", 2), gb.discard_qrels("web", gb.put_qrels("web", QRELS + "3 0 d 1\n", draft=True).version)
    gb.create_team("web", "lemur"), gb.team("web", "lemur"), gb.teams("web")
    gb.put_topic_group("web", "easy", ["1"]), gb.topic_group("web", "easy"), gb.delete_topic_group("web", "easy")
    gb.put_topic_groups("web", b"topic,group\n1,easy\n"), gb.topic_groups("web"), gb.topic_groups_text("web")
    token = gb.rotate_token("web", gb.create_token("web", "reader").id)
    gb.token("web", token.id), gb.tokens("web"), gb.revoke_token("web", token.id)
    gb.submit("web", RUN, team="lemur"), gb.run("web", "tag"), gb.prioritise("web", "tag", 1), gb.runs("web")
    gb.receipt("web", "tag"), gb.put_run_metadata("web", "tag", b"method: {}\n")
    gb.run_metadata("web", "tag"), gb.run_metadata_file("web", "tag")
    gb.run_file("web", "tag"), gb.save_run_file("web", "tag", folder / "run.txt"), gb.withdraw("web", "tag")
    gb.submit("web", RUN, team="lemur", name="again")
    gb.put_score_matrix("web", "nuggets", b'{"again": {"1": 0.5}}', low=0, high=1), gb.score_matrices("web")
    gb.score_matrix("web", "nuggets"), gb.score_matrix_text("web", "nuggets"), gb.delete_score_matrix("web", "nuggets")
    gb.audit(), gb.audit("web"), gb.save_audit(folder / "audit"), gb.save_audit(folder / "of-one", "web")
    gb.scores(lab), gb.scores_text(lab), gb.leaderboard(lab), gb.sweep(lab)
    gb.leaderboard_text(lab, format="latex")
    gb.compare(lab, "run-1", "run-2"), gb.compare_with(lab, ["run-1"], margin=0.1)
    gb.topic_rankings(lab, "1"), gb.run_profile(lab, "run-1", rel=2), gb.judged_shares(lab), gb.pool(lab, depth=2)
    gb.delete_collection("web")
    gb.change_collection(lab, policy={"phase": "released"})
    gb.release(lab, gb.freeze(lab, title="Web").number), gb.releases(lab)
    gb.save_archive(lab, 1, folder / "release.tar")
    with suppress(Problem):  # it is there already
        gb.import_release(folder / "release.tar")
    gb.job_kinds(), gb.report_kinds(), gb.jobs(), gb.reports()
    job, report = gb.job(lab, "stability", **SHORT), gb.report(REPORT, lab)
    tested = gb.job(lab, "bootstrap-sensitivity", metrics=["AP"], resamples=20)
    tested.wait(), gb.pairs(tested.id, run="run-1", significant=1)
    for work in (of_work(gb.find_job(job.id)), of_work(gb.find_report(report.id))):
        shown = work.wait()
        work.refresh(), work.result(), work.result_json(), work.table(), work.latex(), work.cancel()
        work.dependencies(), work.uploaded_scores(), of_work(gb.find_job(work.verify().id))
        work.latex(shown.tables[0].name), work.figure(shown.figures[0].name) if shown.figures else None


def test_every_route_is_reached_by_a_call_or_left_out_for_a_reason(shared, tmp_path):
    network, done, done_with_work = Noting(), set(), set()
    lab = Laboratory(shared).name
    with Gainboard(shared.url, ADMIN, transport=network) as gb:
        use_all(Used(gb, done), lambda work: Used(work, done_with_work), lab, tmp_path)
        report = gb.report("reliability-of-graded-metrics", lab)
        shown = report.wait()
        report.figure((shown.figures or [])[0].name)
    templates = {*ROUTES}
    patterns = {each: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(each))) for each in templates}
    missed = {each for each, pattern in patterns.items() if not any(map(pattern.fullmatch, network.seen))}
    assert missed == LEFT_OUT.keys()
    assert done == calls(Gainboard)
    assert done_with_work == calls(Job)


@pytest.mark.parametrize(("of", "alike"), [(Gainboard, AsyncGainboard), (Job, Report)])
def test_both_kinds_have_the_same_calls_with_a_text_and_a_signature(of, alike):
    assert calls(of) == calls(alike)
    for name in calls(of):
        now, later = getattr(of, name), getattr(alike, name)
        assert inspect.getdoc(now) == inspect.getdoc(later) is not None
        assert list(inspect.signature(now).parameters.values()) == list(inspect.signature(later).parameters.values())


def test_help_shows_what_a_call_gives():
    assert str(inspect.signature(Gainboard.run)) == "(self, collection: 'str', name: 'str') -> 'RunAnswer'"
    assert inspect.signature(Gainboard.runs).return_annotation == "Iterator[RunAnswer]"
    assert inspect.signature(AsyncGainboard.runs).return_annotation == "AsyncIterator[RunAnswer]"
    assert inspect.iscoroutinefunction(AsyncGainboard.run)
    assert inspect.signature(Gainboard.job_kinds).return_annotation == "list[KindAnswer]"
