"""Real networks between a client and the service, that fail as they are told to: a proxy that answers 503, or drops a
connection before or after the service has done what it was asked.
"""

import socket
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx

from tests.world.servers import NO_AUTHORITIES

ANSWERS = {
    "busy": (503, {"Retry-After": "0"}, b""),
    "busy-for-long": (503, {"Retry-After": "7200"}, b""),
    "gateway": (502, {"Content-Type": "text/html"}, b"<html><title>Bad gateway</title>"),
    "page": (200, {"Content-Type": "text/html"}, b"<html><title>A shop</title>"),
    "elsewhere": (308, {"Location": "https://gainboard.example/"}, b""),
    "cut-json": (200, {"Content-Type": "application/json"}, b'{"name": '),
    "bad-gzip": (200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b"not gzip"),
    "odd-problem": (
        422,
        {"Content-Type": "application/problem+json"},
        b'{"detail": "No.", "errors": ["a", {"message": null}], "errors_total": "many"}',
    ),
    "bare-json": (200, {"Content-Type": "application/json"}, b'{"name": "another service"}'),
}


class Flaky:
    """A server in front of another: meets requests with the faults that are left, and then hands them on."""

    def __init__(self, behind):
        self.behind = behind
        self.faults = []
        self.seen = []
        """Method, headers and body of every request, those lost included."""


@contextmanager
def flaky(behind):
    state = Flaky(behind)
    handler = type("Handler", (_Handler,), {"state": state})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", state
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Flaky

    def log_message(self, format, *args):
        pass

    def _handle(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        self.state.seen.append((self.command, headers, body))
        fault = self.state.faults.pop(0) if self.state.faults else None
        if fault in ANSWERS:
            self._answer(*ANSWERS[fault])
        elif fault == "lost-request":
            self._drop()
        else:
            passed = {name: value for name, value in headers.items() if name not in ("host", "transfer-encoding")}
            with httpx.stream(
                self.command,
                self.state.behind + self.path,
                headers=passed,
                content=body,
                timeout=60,
                verify=NO_AUTHORITIES,
            ) as answer:
                content = b"".join(answer.iter_raw())
            if fault == "lost-answer":
                self._drop()
            else:
                self._answer(answer.status_code, dict(answer.headers), content)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _handle

    def _body(self, headers):
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", "0")))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _answer(self, status, headers, content):
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding"):
                self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _drop(self):
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True
