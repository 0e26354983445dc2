"""A server that is not to be trusted: what it says becomes neither a file outside the folder nor a command to the
terminal."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gainboard.cli import main
from tests.world.laboratories import Laboratory

pytestmark = pytest.mark.outer


class Stranger(BaseHTTPRequestHandler):
    answer: Any
    status = 200

    def do_GET(self):
        kind = "application/json" if self.status == 200 else "application/problem+json"
        body = json.dumps(self.answer).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Nothing, for the output is what is tested."""


@pytest.fixture
def stranger(folder, monkeypatch):
    kind = type("ThisStranger", (Stranger,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        monkeypatch.setenv("GAINBOARD_SERVER", f"http://127.0.0.1:{server.server_port}")
        yield kind
        server.shutdown()


def test_a_table_cannot_be_written_outside_the_folder(shared, stranger, folder, capsys):
    laboratory = Laboratory(shared)
    job = laboratory.finished(laboratory.ask())
    job["tables"][0]["name"] = "../outside"
    stranger.answer = job
    assert main(["job", "result", job["id"], "--output", "out"]) == 1
    assert "names a table or figure '../outside'" in capsys.readouterr().err
    assert not (folder / "outside.csv").exists()


def test_a_problem_does_not_steer_the_terminal(stranger, folder, capsys):
    stranger.status = 422
    faults = [{"location": "\x1b[2J", "code": "\x1b", "message": "\x1b]0;title\x07"}] * 2
    stranger.answer = {
        "type": "/problems/\x1b[2J",
        "title": "",
        "status": 422,
        "detail": "\x1b[2Jgone",
        "errors": faults,
    }
    assert main(["me"]) == 1
    said = capsys.readouterr().err
    assert "gone" in said
    assert "title" in said
    assert "\x1b" not in said
