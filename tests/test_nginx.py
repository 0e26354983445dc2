"""The configuration of nginx that the docs show, in front of a real server."""

import json
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace

import httpx
import pytest

from gainboard.evaluation.access.principals import FAILURES, MOST_FAILURES
from gainboard.settings import Settings
from tests import nginx
from tests.nginx import NGINX
from tests.outside import ROOT
from tests.waiting import until
from tests.world.campaigns import Campaign
from tests.world.laboratories import LONG, Laboratory
from tests.world.servers import ADMIN, free_port, new_settings, serving

CONFIGURATION = ROOT / "deploy/nginx.conf"
OPENSSL = shutil.which("openssl")
NAME = "gainboard.example"

pytestmark = [
    pytest.mark.outer,
    pytest.mark.proof,
    pytest.mark.skipif(NGINX is None or OPENSSL is None, reason="no nginx or no openssl: install them"),
]


def _substituted(text, changes):
    for old, new in changes.items():
        assert old in text, f"{CONFIGURATION} has no {old!r}: change this test as well"
        text = text.replace(old, new)
    return text


class Proxy:
    def __init__(self, service, certificate, folder, **changes):
        self.service, self.folder = service, folder
        for file in certificate.glob("*.pem"):
            shutil.copy(file, folder)
        self.plain, self.port = free_port(), free_port()
        self.trust = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
        self._clients = ExitStack()
        self._site = _substituted(
            CONFIGURATION.read_text(encoding="utf-8"),
            {
                "    listen [::]:80;\n": "",
                "    listen [::]:443 ssl;\n": "",
                "listen 80;": f"listen 127.0.0.1:{self.plain};",
                "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
                "127.0.0.1:8000": service.url.removeprefix("http://"),
                "/etc/ssl/gainboard": str(folder),
                **changes,
            },
        )

    @contextmanager
    def running(self):
        with nginx.running(self.folder, self._site, self.port), self._clients:
            yield self

    def client(self, **headers):
        return self._clients.enter_context(
            httpx.Client(
                base_url=f"https://127.0.0.1:{self.port}",
                headers={"Authorization": f"Bearer {ADMIN}", "Host": NAME, **headers},
                verify=self.trust,
                timeout=60,
            )
        )

    def connection(self):
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return self._clients.enter_context(self.trust.wrap_socket(opened, server_hostname=NAME))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A folder with a certificate for the name of the example, and for this machine."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        [
            *(str(OPENSSL), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem"), "-days", "2"),
            *("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def proxy(certificate, tmp_path_factory):
    settings = new_settings(tmp_path_factory.mktemp("data"), job_slots=0)
    with serving(settings) as service, Proxy(service, certificate, tmp_path_factory.mktemp("nginx")).running() as proxy:
        yield proxy


def _directive(name):
    found = re.search(rf"^ *{name} ([^;]+);", CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def test_nobody_chooses_the_address_by_which_invalid_tokens_are_counted(proxy):
    client = proxy.client(Authorization="Bearer gainboard_guessed")
    own = ("X-Forwarded-For", "Forwarded", "X-Real-IP")
    answers = [
        client.get("/v1/me", headers=dict.fromkeys(own, f"192.0.2.{number}")).status_code
        for number in range(MOST_FAILURES + 1)
    ]
    proxy.service.application.state.workspace.kept.pop(FAILURES)
    assert answers == [401] * MOST_FAILURES + [429]


def test_people_are_led_to_https(proxy):
    answer = httpx.get(f"http://127.0.0.1:{proxy.plain}/c/web?a=b", headers={"Host": NAME}, timeout=60)
    assert (answer.status_code, answer.headers["location"]) == (301, f"https://{NAME}/c/web?a=b")


@pytest.mark.parametrize("path", ["/v1/me", "/metrics"])
def test_a_program_over_http_is_refused(proxy, path):
    answer = httpx.get(f"http://127.0.0.1:{proxy.plain}{path}", headers={"Host": NAME}, timeout=60)
    assert answer.status_code == answer.json()["status"] == 403
    assert answer.headers["content-type"] == "application/problem+json"


def _spoken(proxy, version):
    """The version of TLS that nginx agrees to if a client speaks only this one."""
    context = ssl.create_default_context(cafile=str(proxy.folder / "fullchain.pem"))
    context.minimum_version = context.maximum_version = version
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # so that the client would agree to any
    opened = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
    with opened, context.wrap_socket(opened, server_hostname=NAME) as secure:
        return secure.version()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")  # the older versions are deprecated, and so they are refused
def test_only_the_last_two_versions_of_tls_are_spoken(proxy):
    assert _directive("ssl_protocols") == "TLSv1.2 TLSv1.3"
    assert _spoken(proxy, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    assert _spoken(proxy, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises(ssl.SSLError) as refused:
            _spoken(proxy, version)
        assert refused.value.reason == "TLSV1_ALERT_PROTOCOL_VERSION"  # nginx has said it


PROTECTION = {
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}


def _send(proxy, head):
    connection = proxy.connection()
    connection.sendall(f"{head}\r\nHost: {NAME}\r\n\r\n".encode())
    with connection.makefile("rb") as answer:
        status = int(answer.readline().split()[1])
        lines = iter(lambda: answer.readline().decode().strip(), "")
        headers = httpx.Headers([(name, value) for name, _, value in (line.partition(": ") for line in lines)])
        return httpx.Response(status, headers=headers, content=answer.read(int(headers["content-length"])))


@pytest.mark.parametrize(
    ("status", "head"),
    [
        (200, "GET /healthz HTTP/1.1"),
        (404, "GET /nothing HTTP/1.1"),
        (400, "GET /healthz HTTP/1.1\r\nno header"),
        (405, "TRACE /healthz HTTP/1.1"),
        (413, f"PUT /v1/collections/c/qrels HTTP/1.1\r\nContent-Length: {(256 << 20) + 1}"),
        (414, f"GET /?{'x' * (70 << 10)} HTTP/1.1"),
    ],
)
def test_every_answer_protects_its_reader_once(proxy, status, head):
    """Whether Gainboard or nginx has written it."""
    answer = _send(proxy, head)
    assert answer.status_code == status
    assert re.fullmatch(r"application/(problem\+)?json|text/html; charset=utf-8", answer.headers["content-type"])
    assert {name: answer.headers.get_list(name) for name in PROTECTION} == {
        name: [value] for name, value in PROTECTION.items()
    }


def _require_problem(answer, status):
    """A refusal that nginx has written says when to ask again, and protects its reader."""
    assert answer.status_code == answer.json()["status"] == status
    assert (answer.headers["content-type"], answer.headers["retry-after"]) == ("application/problem+json", "5")
    assert {name: answer.headers.get(name) for name in PROTECTION} == PROTECTION


def test_a_request_of_two_lengths_is_refused(proxy):
    """Two servers could read it as two different requests."""
    answer = _send(proxy, "POST /v1/collections HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked")
    assert answer.status_code == 400


def test_more_requests_a_second_than_one_address_may_send_are_refused(certificate, proxy, tmp_path):
    assert _directive("limit_req") == "zone=gainboard_requests burst=400 nodelay"
    fewer = {"rate=200r/s": "rate=1r/m", "burst=400": "burst=4"}
    with Proxy(proxy.service, certificate, tmp_path, **fewer).running() as strict:
        client = strict.client()
        answers = [client.get("/healthz") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    _require_problem(answers[-1], 429)


def test_an_idle_connection_is_closed(certificate, proxy, tmp_path):
    assert _directive("keepalive_timeout") == "30s"
    quick = Proxy(proxy.service, certificate, tmp_path, **{"keepalive_timeout 30s": "keepalive_timeout 1s"})
    with quick.running():
        connection = quick.connection()
        connection.sendall(f"HEAD /healthz HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))  # to its end, which only nginx makes
    assert answer.startswith(b"HTTP/1.1 200")


def test_a_header_that_comes_slowly_is_closed(certificate, proxy, tmp_path):
    assert _directive("client_header_timeout") == "10s"
    quick = Proxy(proxy.service, certificate, tmp_path, **{"client_header_timeout 10s": "client_header_timeout 1s"})
    with quick.running():
        connection = quick.connection()
        connection.settimeout(0.1)
        # A byte more every 0.1 s: the time-out is for the whole header, not for the next byte. One thread both sends
        # and listens, because an encrypted connection cannot do both at once.
        for byte in b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"x" * 600:
            try:
                connection.sendall(bytes([byte]))
                assert connection.recv(100) == b""  # closed, without an answer
                return
            except TimeoutError:
                continue
            except (ConnectionError, ssl.SSLEOFError):
                return
        pytest.fail("the connection stayed open for 600 bytes, one every 0.1 s")


def test_more_requests_at_once_than_one_address_may_have_are_refused(proxy):
    job = Laboratory(proxy.service).ask(**LONG).headers["location"]
    most = int(_directive("limit_conn").split()[1])
    waiting = [proxy.connection() for _ in range(most)]
    for each in waiting:  # they follow a job that nobody computes, so that these requests do not end
        each.sendall(f"GET {job}/events HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: Bearer {ADMIN}\r\n\r\n".encode())
    assert all(connection.recv(12) == b"HTTP/1.1 200" for connection in waiting)
    _require_problem(proxy.client().get("/healthz"), 429)
    # Nothing of this reaches the service, which answers others as ever.
    assert proxy.service.anonymous.get("/healthz").status_code == 200
    for connection in waiting:
        connection.close()
    until(lambda: proxy.client().get("/healthz").status_code == 200)


def test_an_upload_streams_through(proxy):
    campaign = Campaign(proxy.service)
    reader = campaign.client("reader").headers["authorization"]
    connection = proxy.connection()
    head = f"POST {campaign.path}/runs HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: {reader}\r\n"
    connection.sendall(f"{head}Content-Length: 100000\r\n\r\n1 Q0 d 1 1 t\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 403"  # before the rest of the body was sent


def test_a_body_over_the_limit_is_a_problem_document(proxy):
    answer = _send(proxy, f"PUT /v1/collections/c/qrels HTTP/1.1\r\nContent-Length: {(256 << 20) + 1}")
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")
    page = proxy.service.anonymous.get(answer.json()["type"]).json()
    assert [page[name] for name in ("title", "status")] == [answer.json()[name] for name in ("title", "status")]
    assert _directive("client_max_body_size") == f"{Settings.read({}).max_compressed_bytes >> 20}m"


def test_events_come_as_they_happen(proxy):
    lab = Laboratory(proxy.service)
    job = lab.ask(**LONG).headers["location"]
    with proxy.client().stream("GET", f"{job}/events") as answer:
        events = (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))
        assert next(events)["state"] == "queued"
        lab.organiser.delete(job)
        assert next(events)["state"] == "cancelled"


class Echo(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(bytes(self.headers))


def test_what_a_client_claims_about_itself_ends_at_nginx(certificate, tmp_path):
    claims = {"X-Forwarded-For": "10.9.9.9", "X-Forwarded-Host": "evil.example", "Forwarded": "for=10.9.9.9"}
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        Thread(target=server.handle_request, daemon=True).start()
        echo = SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}")
        with Proxy(echo, certificate, tmp_path).running() as to_echo:
            sent = to_echo.client(**claims, **{"X-Forwarded-Proto": "ftp"}).get("/").text.lower()
    assert {"x-forwarded-for: 127.0.0.1", "x-forwarded-proto: https", f"host: {NAME}"} <= set(sent.splitlines())
    assert "evil.example" not in sent
    assert "10.9.9.9" not in sent


def test_without_the_service_the_answer_is_a_problem_document(certificate, tmp_path):
    nobody = SimpleNamespace(url=f"http://127.0.0.1:{free_port()}")
    with Proxy(nobody, certificate, tmp_path).running() as to_nobody:
        answer = to_nobody.client().get("/healthz")
    _require_problem(answer, 503)
