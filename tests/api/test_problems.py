"""Every answer that is no success is a problem document, whose type leads to a page."""

import gzip
import logging

import pytest

from gainboard.api.problem_pages import meaning_of
from gainboard.errors import every_error
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from tests.world.campaigns import Campaign, refused
from tests.world.servers import new_settings, running, serving

PROMISED = {
    400: ["several-hosts"],
    401: ["not-authenticated"],
    403: [
        "refused",
        "forbidden",
        "judgments-hidden",
        "submissions-closed",
        "upload-after-release",
        "withdrawal-after-release",
        "quota-exceeded",
        "not-a-preset",
        "budget-exhausted",
    ],
    404: ["not-found"],
    405: ["method-not-allowed"],
    408: ["body-stalled"],
    409: [
        "conflict",
        "collection-exists",
        "run-exists",
        "team-exists",
        "no-qrels",
        "setting-fixed",
        "settings-changed",
        "job-not-finished",
        "no-result",
        "outdated",
        "damaged",
        "held-by-release",
        "idempotency-key-in-use",
    ],
    413: ["too-large"],
    414: ["address-too-long"],
    415: ["unsupported-encoding", "unsupported-media-type"],
    421: ["wrong-host"],
    422: [
        "bad-input",
        "invalid-request",
        "unknown-parameter",
        "bad-expression",
        "needs-intents",
        "bad-gains",
        "faulty-file",
        "idempotency-key-reused",
        "bad-setting",
        "team-required",
        "name-required",
    ],
    429: ["too-many-dear-requests", "too-many-failures", "too-many-jobs", "too-many-uploads"],
    500: ["error", "internal-error"],
    503: [
        "unavailable",
        "no-space",
        "out-of-memory",
        "database-busy",
        "objects-unreachable",
        "database-unusable",
        "database-newer",
        "database-older",
    ],
}
"""The types of problems by their status, which programs rely on."""
STATUS = {slug: status for status, slugs in PROMISED.items() for slug in slugs}


@pytest.mark.parametrize("error", list(every_error()), ids=lambda error: error.slug)
def test_every_problem_has_a_page_with_its_status_and_meaning(shared, error):
    page = shared.anonymous.get(f"/problems/{error.slug}").json()
    assert page == {
        "type": f"/problems/{error.slug}",
        "title": error.title,
        "status": STATUS[error.slug],
        "meaning": meaning_of(error),
    }


def test_every_promised_type_is_there():
    assert STATUS.keys() == {error.slug for error in every_error()}


def test_no_page_is_empty():
    assert [error.slug for error in every_error() if not meaning_of(error)] == []


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/collections/", "/problems/nothing", "/v1//me"])
def test_what_is_not_there_is_a_problem_document(shared, path):
    assert refused(shared.organiser.get(path)) == (404, "not-found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/collections", "GET, HEAD, POST"),
        ("POST", "/v1/collections/c", "DELETE, GET, HEAD, PATCH"),
        ("PATCH", "/v1/collections/c/runs", "GET, HEAD, POST"),
        ("POST", "/v1/collections/c/qrels", "GET, HEAD, PUT"),
        ("PUT", "/v1/collections/c/tokens/t", "DELETE, GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("OPTIONS", "/v1/metrics", "GET, HEAD"),
        ("PROPFIND", "/v1/metrics", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_there_is_answered_with_all_that_are(shared, method, path, allowed):
    answer = shared.organiser.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["allow"] == allowed


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


@pytest.mark.parametrize(
    ("method", "path", "policy"),
    [
        ("GET", "/", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
        ("GET", "/nothing", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
        ("POST", "/v1/collections", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    ],
)
def test_every_answer_has_the_headers_that_protect_its_reader(shared, method, path, policy):
    headers = shared.anonymous.request(method, path).headers
    assert headers.get_list("content-security-policy") == [policy]
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


def test_pages_of_other_origins_may_call_only_where_that_is_set(tmp_path, shared):
    origins = "https://a.example, https://b.example"

    def allowed(service, origin):
        answer = service.anonymous.get("/healthz", headers={"Origin": origin})
        return answer.headers.get("access-control-allow-origin")

    with serving(Settings.read({}, data=tmp_path, cors_origins=origins, public_cors="off")) as service:
        assert allowed(service, "https://b.example") == "https://b.example"
        assert allowed(service, "https://c.example") is None
    answer = shared.organiser.get("/v1/me", headers={"Origin": "https://a.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_behind_a_proxy_locations_and_links_begin_with_its_root_path(tmp_path):
    workspace, _ = open_workspace(new_settings(tmp_path))
    with running(create_app(workspace), root_path="/gain") as service:
        answer = service.organiser.post("/v1/collections", json={"name": "a", "levels": 1})
        assert answer.headers["location"] == answer.json()["links"]["self"] == "/gain/v1/collections/a"
        answer = service.organiser.post("/v1/collections/a/runs?team=t", content=b"1 Q0 d 1 1 t\n" * (1 << 17))
        assert refused(answer) == (422, "faulty-file")
        service.organiser.post("/v1/collections", json={"name": "b", "levels": 1})
        link = service.organiser.get("/v1/collections?limit=1").links["next"]["url"]
        assert link.startswith("/gain/v1/collections?")
