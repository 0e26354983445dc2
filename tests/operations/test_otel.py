"""Traces and measurements of requests, sent to a collector over OTLP."""

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from zlib import MAX_WBITS, decompress

import httpx
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.waiting import until
from tests.world.processes import answers
from tests.world.processes import server as served
from tests.world.servers import ADMIN

pytestmark = pytest.mark.proof
TRACE = "0af7651916cd43dd8448eb211c80319c"
COLLECTION = "/v1/collections/{collection}"


class Collector:
    """A server that takes what OTLP exporters send, and keeps it."""

    def __init__(self):
        received = self.received = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                is_packed = self.headers.get("Content-Encoding") == "gzip"
                received.append((self.path, decompress(body, MAX_WBITS | 16) if is_packed else body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format, *args):
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, args=[0.01], daemon=True)
        self._thread.start()

    def spans(self):
        """All spans, each as its attributes, with `name`, `trace` and the `service`."""
        found = []
        for body in self._of("/v1/traces"):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                service = _attributes(resource.resource.attributes)["service.name"]
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        own = {"name": span.name, "trace": span.trace_id.hex(), "service": service}
                        found.append(own | _attributes(span.attributes))
        return found

    def measured(self):
        return {
            metric.name
            for body in self._of("/v1/metrics")
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def _of(self, path):
        return [body for where, body in self.received if where == path]

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.close()


@contextmanager
def serving(folder, monkeypatch, endpoint):
    own = {"EXPORTER_OTLP_ENDPOINT": endpoint, "SERVICE_NAME": "gainboard", "BSP_SCHEDULE_DELAY": "100"}
    for name, value in own.items():
        monkeypatch.setenv(f"OTEL_{name}", value)
    with served(f"sqlite:///{folder}/gainboard.db", slots=0) as running:
        yield running


def ask(url, path, **headers):
    until(lambda: answers(url))
    return httpx.get(url + path, headers={"Authorization": f"Bearer {ADMIN}"} | headers, timeout=60).status_code


def test_requests_are_traced_and_measured(collector, tmp_path, monkeypatch):
    with serving(tmp_path, monkeypatch, collector.url) as server:
        assert ask(server.url, "/readyz") == 200
        parent = f"00-{TRACE}-b7ad6b7169203331-01"
        assert ask(server.url, "/v1/collections/none?x=1", traceparent=parent) == 422
        assert ask(server.url, "/v1/collections/none", traceparent=parent) == 404
        until(lambda: len(collector.spans()) >= 2)
        server.terminate()  # the end sends what is left
    spans = sorted(collector.spans(), key=lambda span: span["http.response.status_code"])
    assert [span["http.response.status_code"] for span in spans] == [404, 422]
    assert {span["http.route"] for span in spans} == {COLLECTION}
    assert {(span["trace"], span["service"]) for span in spans} == {(TRACE, "gainboard")}
    assert "http.server.request.duration" in collector.measured()
    assert not any(ADMIN.encode() in body for _, body in collector.received)


def test_a_collector_that_is_away_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with serving(tmp_path, monkeypatch, "http://127.0.0.1:9") as server:
        assert ask(server.url, "/v1/collections") == 200
        server.terminate()
