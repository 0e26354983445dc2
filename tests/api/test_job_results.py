"""What a result looks like in each form, and what is said where there is none."""

import hashlib

import pytest

from gainboard.main import create_app, open_workspace
from gainboard.store import claims
from tests.world.campaigns import refused
from tests.world.laboratories import FEW, SHORT, Laboratory, rotated, work
from tests.world.servers import new_settings, running, serving

FORMS = ("result", "tables/curves.csv", "tables/curves.tex", "figures/curves.svg")


@pytest.fixture(scope="module")
def job(lab):
    return lab.finished(lab.ask())


@pytest.fixture
def alone(still):
    """A laboratory where nobody works jobs, and no other is open."""
    lab, workspace = Laboratory(still), still.application.state.workspace
    yield lab, workspace
    lab.organiser.delete(lab.path).raise_for_status()


def _accepting(lab, job, accept, **query):
    return lab.organiser.get(job["result_url"], headers={"Accept": accept}, params=query)


def test_accept_and_format_choose_the_form(lab, job):
    def form(accept, **query):
        return _accepting(lab, job, accept, **query).headers["content-type"].split(";")[0]

    assert form("*/*") == form("application/json, text/csv;q=0.5") == "application/json"
    assert form("text/csv") == form("*/*", format="csv") == "text/csv"
    assert form("application/x-tex") == form("text/csv", format="latex") == "application/x-tex"
    assert form("text/csv", format="json") == "application/json"


def test_csv_is_of_the_first_table_unless_another_is_named(lab, job):
    first, second = job["tables"][:2]
    assert _accepting(lab, job, "text/csv").text == lab.organiser.get(first["csv"]).text
    named = _accepting(lab, job, "text/csv", table=second["name"])
    assert named.text == lab.organiser.get(second["csv"]).text != _accepting(lab, job, "text/csv").text
    latex = _accepting(lab, job, "*/*", format="latex", table=second["name"])
    assert latex.text == lab.organiser.get(second["latex"]).text
    assert refused(_accepting(lab, job, "*/*", table=second["name"])) == (422, "invalid-request")


def test_an_unknown_table_or_figure_is_told_which_there_are(lab, job):
    url = job["result_url"].removesuffix("/result")
    for answer in (
        lab.organiser.get(f"{url}/tables/none.csv"),
        lab.organiser.get(f"{url}/tables/none.tex"),
        _accepting(lab, job, "text/csv", table="none"),
        lab.organiser.get(f"{url}/figures/none.svg"),
    ):
        assert refused(answer) == (404, "not-found")
        assert "curves" in answer.json()["detail"]


def test_equal_jobs_have_equal_results(lab, job):
    first = lab.organiser.get(job["result_url"])
    twin = Laboratory(lab.service)
    second = twin.organiser.get(twin.finished(twin.ask())["result_url"])
    assert first.text.replace(lab.name, twin.name) == second.text


def test_a_result_has_a_strong_etag_and_is_sent_once(lab, job):
    for path in FORMS:
        url = job["result_url"].replace("result", path)
        answer = lab.organiser.get(url, headers={"Accept-Encoding": "identity"})
        assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
        held = {"If-None-Match": answer.headers["etag"], "Accept-Encoding": "identity"}
        assert lab.organiser.get(url, headers=held).status_code == 304
        head = lab.organiser.head(url, headers={"Accept-Encoding": "identity"})
        assert (head.content, head.headers["etag"]) == (b"", answer.headers["etag"])


def test_a_large_result_comes_in_pieces_and_whole(shared):
    lab = Laboratory(shared)
    for number in range(4, 9):
        lab.submit(rotated(number))
    fuzziness = [number / 100 for number in range(100)]
    asked = lab.ask(metrics=[f"P@{cutoff}" for cutoff in range(1, 181)], trials=1, per_pair=True, fuzziness=fuzziness)
    answer = lab.organiser.get(lab.finished(asked)["result_url"], headers={"Accept-Encoding": "identity"})
    assert len(answer.content) > 4 << 20
    assert "content-length" not in answer.headers
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    assert len(answer.json()["metrics"]) == 180


def test_a_figure_that_is_opened_by_itself_loads_nothing(lab, job):
    figure = lab.organiser.get(job["figures"][0]["svg"])
    policy = figure.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "base-uri 'none'; frame-ancestors 'none'" in policy


def test_a_job_that_is_not_over_has_no_result_yet(alone):
    lab = alone[0]
    url = lab.ask().headers["location"]
    for path in FORMS:
        answer = lab.organiser.get(f"{url}/{path}")
        assert refused(answer) == (409, "job-not-finished")
        assert answer.headers["retry-after"] == "1"
        assert "queued" in answer.json()["detail"]


def test_a_cancelled_job_has_no_result(alone):
    lab = alone[0]
    url = lab.ask().headers["location"]
    lab.organiser.delete(url)
    answer = lab.organiser.get(f"{url}/result")
    assert refused(answer) == (409, "no-result")
    assert "cancelled" in answer.json()["detail"]


def test_a_failed_job_says_why_and_is_queued_again(alone):
    lab, workspace = alone
    asked = lab.ask()
    with workspace.database.writing() as tx:
        claim = claims.claim(tx, "somebody", workspace.now())
        assert claim is not None
        claims.give_back(tx, claim, workspace.now(), "It does not work out.", is_final=True)
    assert (lab.job(asked)["state"], lab.job(asked)["error"]) == ("failed", "It does not work out.")
    answer = lab.organiser.get(f"{asked.headers['location']}/result")
    assert refused(answer) == (409, "no-result")
    assert "It does not work out." in answer.json()["detail"]
    assert (lab.ask().status_code, lab.job(asked)["state"], lab.job(asked)["error"]) == (202, "queued", None)


def test_behind_a_proxy_every_address_begins_with_its_root_path(tmp_path):
    settings = new_settings(tmp_path, job_slots=0)
    workspace, _ = open_workspace(settings)
    with running(create_app(workspace, settings), root_path="/gain") as service:
        lab = Laboratory(service)
        location = lab.ask(**SHORT).headers["location"]
        assert location.startswith("/gain/v1/jobs/")
        work(workspace)
        job = lab.organiser.get(location.removeprefix("/gain")).json()
        shown = [job["result_url"], job["tables"][0]["csv"], job["tables"][0]["latex"], job["figures"][0]["svg"]]
        assert all(url.startswith(f"{location}/") for url in shown)


def test_results_outlive_the_server_that_worked_them(tmp_path):
    settings = new_settings(tmp_path, job_slots=0)
    with serving(settings) as service:
        lab = Laboratory(service)
        url = lab.worked(lab.ask())["result_url"]
        before = lab.organiser.get(url).content
    with serving(settings) as service:
        assert service.organiser.get(url).content == before


def test_no_request_parses_a_result(alone, monkeypatch):
    lab, workspace = alone
    url = lab.ask().headers["location"]
    report = lab.report().headers["location"]
    work(workspace)
    monkeypatch.setattr("gainboard.jobs.results.from_json", None)
    for place in (url, report):
        shown = lab.organiser.get(place).json()
        assert shown["state"] == "succeeded"
        tables = [table[form] for table in shown["tables"] for form in ("csv", "latex")]
        for each in (f"{place}/result", *tables):
            assert lab.organiser.get(each).status_code == 200


def test_the_notes_of_a_table_are_beside_its_caption(lab):
    asked = {"metrics": ["AP"], "resamples": FEW, "correction": "holm"}
    job = lab.finished(lab.ask("bootstrap-sensitivity", **asked))
    note = lab.organiser.get(job["result_url"]).json()["note"]
    assert note.startswith("20 resamples are too few for Holm's correction of 6 pairs, so no pair is significant")
    assert [table["notes"] for table in job["tables"]] == [[note], []]
