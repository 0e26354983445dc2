"""What a hostile or broken client sends: always an answer, never a fault of ours."""

import gzip
import socket
from urllib.parse import urlsplit

import pytest

from tests.api.routes import every_route
from tests.world.campaigns import RUN, Campaign, codes, judged, refused
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


PAGES = (
    *("cursor=%00", "cursor=AA==", "cursor=x", "cursor=%C3%A9", "cursor=YQ", "cursor=YQ==%20", "cursor="),
    *("limit=0", "limit=99999999999999999999999", "limit=-1", "limit=1e2", "limit=", "limit=%D9%A3x"),
    *("limit=1_0", "limit=+1", "limit=%201", "limit=1.0", "limit=%D9%A3"),
)
OTHERS = ("compare?margin=nan", "compare?margin=1_0", "audit?since=20261124", "audit?since=0")
VERSIONS = ("9" * 30, "9" * 5000, "-1", "0", "1.0", "2147483648", "%D9%A1")


def test_a_parameter_in_another_form_than_ours_is_refused_on_either_database(service):
    campaign = judged(service)
    for asked in (*(f"runs?{each}" for each in PAGES), *OTHERS):
        answer = service.organiser.get(f"{campaign.path}/{asked}")
        assert refused(answer) == (422, "invalid-request"), asked
        (fault,) = answer.json()["errors"]
        assert fault["location"] == f"query.{asked.partition('?')[2].partition('=')[0]}"
    for version in VERSIONS:
        for path in (f"/qrels/{version}", f"/scores?qrels={version}"):
            assert service.organiser.get(campaign.path + path).status_code in (404, 422), path
    (fault,) = service.organiser.get(f"{campaign.path}/audit?since=2026-11-24T12:00:00+09:00").json()["errors"]
    assert "%2B" in fault["message"]


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


def test_an_authorization_header_that_is_no_token_is_refused(shared):
    for header in ("Bearer", "Basic YTpi", "bearer x", "Bearer a b", "Bearer \xff", f"Bearer {'x' * 9000}", "x"):
        answer = shared.anonymous.get("/v1/me", headers={b"Authorization": header.encode("latin-1")})
        assert refused(answer) == (401, "not-authenticated")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_json_larger_than_a_mebibyte_is_too_large_without_a_declared_length_too(shared):
    body = iter([b'{"name": "x", "title": "', b"x" * (1 << 20) + b'"}'])
    answer = shared.organiser.post("/v1/collections", content=body, headers={"Content-Type": "application/json"})
    assert refused(answer) == (413, "too-large")


FORM = 'multipart/form-data; boundary="b"'
PART = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (FORM, b""), (FORM, b"--b"), (FORM, RUN.encode()), (FORM, b"--b--\r\n"),
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


def test_an_address_beyond_what_the_server_parses_is_refused_as_the_description_says(shared):
    address = urlsplit(shared.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(b"GET /healthz?%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"x" * (1 << 16)))
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    described = description()["paths"]["/healthz"]["get"]["responses"]["400"]["content"]["text/plain"]["schema"]
    assert answer.endswith(described["const"].encode())


def test_an_unknown_query_parameter_is_refused_on_every_route(shared):
    for route in every_route("GET"):
        answer = route.ask(shared.organiser, dict.fromkeys(route.parameters, "1"), {"gian": "3:2:1"})
        assert refused(answer) == (422, "unknown-parameter"), route.title


def test_control_characters_do_not_get_into_descriptions(campaign):
    for text in ("\0", "a\1", "\x7f"):
        assert codes(campaign.submit(description=text)) == ["string-pattern-mismatch"]


def test_a_token_of_the_last_day_of_the_calendar_does_not_break_the_clock(campaign):
    for when, status in (("9999-12-31T23:59:59-14:00", 422), ("9999-12-31T00:00:00Z", 201)):
        answer = campaign.organiser.post(f"{campaign.path}/tokens", json={"role": "reader", "expires_at": when})
        assert answer.status_code == status


def test_a_bomb_is_refused_long_before_it_is_inflated(campaign):
    bomb = gzip.compress(b"1 Q0 document 1 1 tag\n" * 2_000_000, compresslevel=9)
    assert refused(campaign.submit(bomb)) == (413, "too-large")
    assert refused(campaign.submit(gzip.compress(RUN.encode())[:-4])) == (422, "faulty-file")
