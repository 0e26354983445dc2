"""Every answer that is no success is a problem document, whose type leads to a page."""

import gzip
import logging

import pytest

from gainboard.errors import every_error, meaning_of
from gainboard.main import create_app, open_workspace
from tests.world.campaigns import Campaign, refused
from tests.world.laboratories import Laboratory, work
from tests.world.servers import new_settings, running, serving

PROMISED = {
    400: "several-hosts",
    401: "not-authenticated",
    403: (
        "refused forbidden judgments-hidden submissions-closed upload-after-release withdrawal-after-release "
        "quota-exceeded not-a-preset budget-exhausted"
    ),
    404: "not-found",
    405: "method-not-allowed",
    408: "body-stalled",
    409: (
        "conflict collection-exists run-exists team-exists no-qrels scores-alone setting-fixed settings-changed "
        "job-not-finished no-result outdated damaged held-by-release idempotency-key-in-use"
    ),
    413: "too-large",
    414: "address-too-long",
    415: "unsupported-encoding unsupported-media-type",
    421: "wrong-host",
    422: (
        "bad-input invalid-request unknown-parameter bad-expression needs-intents bad-gains faulty-file "
        "idempotency-key-reused bad-setting team-required name-required"
    ),
    429: "too-many-dear-requests too-many-failures too-many-jobs too-many-uploads",
    500: "error internal-error",
    503: (
        "unavailable no-space out-of-memory database-busy objects-unreachable database-unusable "
        "database-newer database-older"
    ),
}
"""The types of problems by their status, which programs rely on."""
STATUS = {slug: status for status, slugs in PROMISED.items() for slug in slugs.split()}


def test_every_problem_has_a_page_with_its_status_and_meaning(shared):
    assert STATUS.keys() == {error.slug for error in every_error()}
    for error in every_error():
        page = shared.anonymous.get(f"/problems/{error.slug}").json()
        own = {"type": f"/problems/{error.slug}", "title": error.title, "status": STATUS[error.slug]}
        assert page == own | {"meaning": meaning_of(error)}


def test_a_file_over_a_limit_is_too_large_before_it_is_read_whole(tmp_path):
    small = {"max_compressed_bytes": 1000, "max_decompressed_bytes": 2000, "max_line_bytes": 100}
    with serving(new_settings(tmp_path, **small)) as service:
        campaign = Campaign(service)
        assert refused(campaign.put_qrels(b"1 0 d 1\n" * 200)) == (413, "too-large")
        assert refused(campaign.put_qrels(gzip.compress(b"1 0 d 1\n" * 500))) == (413, "too-large")
        assert refused(campaign.put_qrels(b"1 0 " + b"d" * 200 + b" 1\n")) == (413, "too-large")
        streamed = campaign.organiser.put(f"{campaign.path}/qrels", content=iter([b"1 0 d 1\n"] * 200))
        assert refused(streamed) == (413, "too-large")
        form = campaign.organiser.put(f"{campaign.path}/qrels", files={"file": b"x" * 2000})
        assert refused(form) == (413, "too-large")


def test_a_fault_of_ours_is_a_problem_that_tells_its_request_id_only(tmp_path, caplog):
    application = create_app(open_workspace(new_settings(tmp_path))[0])

    @application.get("/fault")
    def fault():
        raise RuntimeError("a secret of the program")

    with running(application) as service, caplog.at_level(logging.ERROR, "gainboard"):
        answer = service.anonymous.get("/fault", headers={"X-Request-ID": "mine-1"})
    assert refused(answer) == (500, "internal-error")
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] == "mine-1"
    assert caplog.records[0].__dict__["request_id"] == "mine-1"


@pytest.mark.parametrize(("given", "kept"), [("abc-1.x_", True), ("a b", False), ("x" * 65, False), ("é", False)])
def test_every_answer_has_a_request_id_the_senders_own_where_it_is_a_sane_one(shared, given, kept):
    answer = shared.anonymous.get("/nothing", headers={b"X-Request-ID": given.encode()})
    assert (answer.headers["x-request-id"] == given) is kept
    assert answer.headers["x-request-id"]


def test_every_answer_has_the_headers_that_protect_its_reader(shared):
    for method, path in (("GET", "/"), ("GET", "/nothing"), ("POST", "/v1/collections")):
        headers = shared.anonymous.request(method, path).headers
        policy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
        assert headers.get_list("content-security-policy") == [policy]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


def test_behind_a_proxy_locations_and_links_begin_with_its_root_path(tmp_path):
    settings = new_settings(tmp_path, job_slots=0)
    workspace, _ = open_workspace(settings)
    with running(create_app(workspace, settings), root_path="/gain") as service:
        answer = service.organiser.post("/v1/collections", json={"name": "a", "levels": 1})
        assert answer.headers["location"] == answer.json()["links"]["self"] == "/gain/v1/collections/a"
        answer = service.organiser.post("/v1/collections/a/runs?team=t", content=b"1 Q0 d 1 1 t\n" * (1 << 17))
        assert refused(answer) == (422, "faulty-file")
        service.organiser.post("/v1/collections", json={"name": "b", "levels": 1})
        link = service.organiser.get("/v1/collections?limit=1").links["next"]["url"]
        assert link.startswith("/gain/v1/collections?")
        lab = Laboratory(service)
        location = lab.ask().headers["location"]
        assert location.startswith("/gain/v1/jobs/")
        work(workspace)
        job = lab.organiser.get(location.removeprefix("/gain")).json()
        shown = [job["result_url"], job["tables"][0]["csv"], job["tables"][0]["latex"], job["figures"][0]["svg"]]
        assert all(url.startswith(f"{location}/") for url in shown)
