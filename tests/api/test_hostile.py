"""What a hostile or broken client sends: always an answer, never a fault of ours."""

import gzip
import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.world.campaigns import RUN, Campaign, codes, judged, refused, slug
from tests.world.servers import description

ODD_NAMES = ("%00", "a%00b", "%ED%A0%80", "%ff", "-x", "a" * 129, "a%0A", "a%2Fb", "..%2f", "%F0%9F%90%98")


def test_a_path_that_can_be_no_name_is_not_found_on_either_database(service):
    campaign, key = Campaign(service), {"Idempotency-Key": "k"}
    for name in ODD_NAMES:
        for path in (f"/v1/collections/{name}", f"{campaign.path}/runs/{name}"):
            assert service.organiser.get(path).status_code == 404
        assert service.organiser.delete(f"{campaign.path}/tokens/{name}").status_code == 404
        path = f"/v1/collections/{name}/tokens"
        assert service.organiser.post(path, json={"role": "reader"}, headers=key).status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "cursor=%00", "cursor=AA==", "cursor=x", "cursor=%C3%A9", "cursor=YQ", "cursor=YQ==%20", "limit=0", "limit=501",
        "limit=99999999999999999999999", "limit=-1", "limit=1e2", "limit=", "limit=%D9%A3x", "cursor=",
    ],
)  # fmt: skip
def test_a_page_that_cannot_be_is_refused(shared, query):
    answer = shared.organiser.get(f"/v1/collections?{query}")
    assert refused(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["location"].startswith("query.")


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/runs", "limit=1_0"), ("/runs", "limit=+1"), ("/runs", "limit=%201"), ("/runs", "limit=1.0"),
        ("/runs", "limit=%D9%A3"), ("/scores", "qrels=1.0"), ("/qrels/%D9%A1", ""), ("/pool", "depth=1e2"),
        ("/compare", "margin=nan"), ("/compare", "margin=1_0"), ("/audit", "since=20261124"), ("/audit", "since=0"),
        ("/audit", "since=2026-11-24T12:00:00+09:00"),
    ],
)  # fmt: skip
def test_a_parameter_in_another_form_than_ours_is_refused(campaign, path, query):
    answer = campaign.organiser.get(f"{campaign.path}{path}?{query}")
    assert refused(answer) == (422, "invalid-request")
    (fault,) = answer.json()["errors"]
    assert fault["location"] in (f"query.{query.partition('=')[0]}", "path.version")
    assert ("%2B" in fault["message"]) == ("09:00" in query)


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "-1", "0", "1.5", "2147483648"])
def test_a_version_beyond_every_integer_is_refused_or_absent(campaign, number):
    campaign.put_qrels()
    assert campaign.get(f"/qrels/{number}").status_code in (404, 422)
    assert campaign.get("/scores", qrels=number).status_code in (404, 422)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"[" * 9_000, b'{"name": "x", "levels": ' + b"9" * 5000 + b"}",
        b'{"name": "x", "levels": 1e999}', b'{"name": "x", "levels": NaN}', b'{"name": "a\\u0000", "levels": 1}',
        b'{"name": "x", "levels": 1, "title": "\\ud800"}', b'{"name": "x", "levels": 1, "\\ud800": 1}', b"\xff\xfe{",
        b'{"name": "x", "levels": 1, "title": "\\u0000"}', b'{"name": "x", "levels": 1, "gains": "\\ud800"}',
        b'{"name": "x", "levels": 1, "topics": ["\\u0000"]}', b'{"name": "x", "levels": 1, "metrics": ["\\ud800"]}',
    ],
)  # fmt: skip
def test_json_that_cannot_be_is_refused(shared, body):
    kind = {"Content-Type": "application/json"}
    answer = shared.organiser.post("/v1/collections", content=body, headers=kind)
    assert refused(answer) == (422, "invalid-request")
    assert answer.json()["errors"]


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data", ""])
def test_json_of_another_media_type_is_not_read(shared, kind):
    body = json.dumps({"name": "x", "levels": 1})
    answer = shared.organiser.post("/v1/collections", content=body, headers={"Content-Type": kind})
    assert refused(answer) == (415, "unsupported-media-type")


@pytest.mark.parametrize(
    "header", ["Bearer", "Basic YTpi", "bearer x", "Bearer a b", "Bearer \xff", "Bearer gainboard_" + "x" * 9000, "x"]
)
def test_an_authorization_header_that_is_no_token_is_refused(shared, header):
    answer = shared.anonymous.get("/v1/me", headers={b"Authorization": header.encode("latin-1")})
    assert refused(answer) == (401, "not-authenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_json_larger_than_a_mebibyte_is_too_large_with_and_without_a_declared_length(shared):
    body = b'{"name": "x", "title": "' + b"x" * (1 << 20) + b'"}'
    kind = {"Content-Type": "application/json"}
    for content in (body, iter([body[:9], body[9:]])):
        assert refused(shared.organiser.post("/v1/collections", content=content, headers=kind)) == (413, "too-large")


FORM = 'multipart/form-data; boundary="b"'
PART = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"--b"), (FORM, b""), (FORM, b"--b"), (FORM, RUN.encode()), (FORM, b"--b--\r\n"),
        (FORM, PART % (b"file", b"", RUN.encode()) + b"--b--\r\n"),
        (FORM, PART % (b"other", b'; filename="x"', RUN.encode()) + b"--b--\r\n"),
        (FORM, (PART % (b"file", b'; filename="x"', RUN.encode())) * 2 + b"--b--\r\n"),
        (FORM, (PART % (b"file", b'; filename="x"', RUN.encode())).rstrip()[:-3]),
        (FORM + "; charset=undefined", PART % (b"\xff", b'; filename="\xff"', b"x") + b"--b--\r\n"),
        (FORM + "; charset=punycode", PART % (b"\xff", b'; filename="\xff"', b"x") + b"--b--\r\n"),
        (FORM, b"--b\r\nContent-Disposition: " + b"x" * 100_000 + b"\r\n\r\n"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # starlette drops a half part unclosed
def test_a_malformed_form_is_refused(campaign, kind, body):
    answer = campaign.organiser.post(f"{campaign.path}/runs?team=t", content=body, headers={"Content-Type": kind})
    assert refused(answer) == (422, "invalid-request")
    assert campaign.get("/runs").json()["items"] == []


def test_a_form_is_compressed_inside_not_outside(campaign):
    answer = campaign.organiser.post(
        f"{campaign.path}/runs?team=t", files={"file": RUN}, headers={"Content-Encoding": "gzip"}
    )
    assert refused(answer) == (415, "unsupported-encoding")


def test_a_body_that_is_cut_off_stores_nothing(campaign, caplog):
    address = urlsplit(campaign.service.url)
    token = campaign.organiser.headers["authorization"]
    head = f"POST {campaign.path}/runs?team=t HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(f"{head}Content-Length: 100000\r\n\r\n{RUN}".encode())
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert campaign.get("/runs").json()["items"] == []
    assert "unexpected error" not in caplog.text


def test_who_may_not_upload_is_told_so_before_sending_the_file(campaign):
    address = urlsplit(campaign.service.url)
    token = campaign.client("reader").headers["authorization"]
    for path, method in (("runs", "POST"), ("qrels", "PUT")):
        head = f"{method} {campaign.path}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
        with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
            connection.sendall(f"{head}Content-Length: 100000\r\n\r\n".encode())
            assert connection.recv(100).split()[1] == b"403"


def test_an_address_may_have_sixty_kibibytes(shared):
    campaign = judged(shared)
    longest = 60 * 1024
    query = "cursor=".ljust(longest - len("/v1/collections"), "x")
    assert refused(shared.anonymous.get(f"/v1/collections?{query}")) == (422, "invalid-request")
    assert refused(shared.anonymous.get(f"/v1/collections?{query}x")) == (414, "address-too-long")
    assert refused(campaign.organiser.delete(f"{campaign.path}/runs/{'x' * longest}")) == (414, "address-too-long")


def test_an_address_beyond_what_the_server_parses_is_refused_as_the_description_says(shared):
    address = urlsplit(shared.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(b"GET /healthz?%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"x" * (1 << 16)))
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    described = description()["paths"]["/healthz"]["get"]["responses"]["400"]["content"]["text/plain"]["schema"]
    assert answer.endswith(described["const"].encode())


def test_a_request_with_two_hosts_is_refused(shared):
    """A proxy may have read the other one."""
    address = urlsplit(shared.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"/problems/several-hosts" in answer


UNKNOWN = ["/", "/healthz", "/v1/metrics", "/v1/me", "/v1/collections"]
BELOW = ["", "/qrels", "/runs", "/runs/tag", "/pool", "/scores", "/leaderboard", "/tokens"]


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_query_parameter_is_refused_on_every_route(shared, path):
    answer = shared.organiser.get(path, params={"gian": "3:2:1"})
    assert refused(answer) == (422, "unknown-parameter")
    assert "gian" in answer.json()["detail"]


@pytest.mark.parametrize("path", BELOW)
def test_an_unknown_query_parameter_is_refused_below_a_collection(campaign, path):
    assert slug(campaign.get(path, Metric="AP")) == "unknown-parameter"
    assert slug(campaign.organiser.request("DELETE", f"{campaign.path}?force=1")) == "unknown-parameter"
    assert slug(campaign.submit(nmae="x")) == "unknown-parameter"


@pytest.mark.parametrize("text", ["%00", "a%01", "%7f"])
def test_control_characters_do_not_get_into_descriptions(campaign, text):
    answer = campaign.organiser.post(f"{campaign.path}/runs?team=t&description={text}", content=RUN)
    assert refused(answer) == (422, "invalid-request")
    assert codes(answer) == ["string-pattern-mismatch"]


def test_a_token_of_the_last_day_of_the_calendar_does_not_break_the_clock(campaign):
    for when, status in (("9999-12-31T23:59:59-14:00", 422), ("9999-12-31T00:00:00Z", 201)):
        answer = campaign.organiser.post(f"{campaign.path}/tokens", json={"role": "reader", "expires_at": when})
        assert answer.status_code == status


def test_a_bomb_is_refused_long_before_it_is_inflated(campaign):
    bomb = gzip.compress(b"1 Q0 document 1 1 tag\n" * 2_000_000, compresslevel=9)
    assert refused(campaign.submit(bomb)) == (413, "too-large")
    assert refused(campaign.submit(gzip.compress(RUN.encode())[:-4])) == (422, "faulty-file")


def test_the_word_for_means_is_no_topic_of_a_run_either(campaign):
    assert codes(campaign.submit("all Q0 d 1 1 t\n")) == ["reserved-topic"]


def test_a_parameter_that_is_given_twice_is_refused_unless_it_is_a_list(shared):
    campaign = judged(shared)
    assert refused(campaign.get("/scores", beta=["1", "5"])) == (422, "invalid-request")
    assert campaign.get("/scores", metric=["AP", "RR"]).status_code == 200


def test_a_name_that_is_none_is_refused_in_words_at_its_place(shared):
    answer = shared.organiser.post("/v1/collections", json={"name": "a b", "levels": ["x y"]})
    places = {each["location"]: each["message"] for each in answer.json()["errors"]}
    assert "letters, digits" in places["body.name"]
    assert "body.levels.0" in places
