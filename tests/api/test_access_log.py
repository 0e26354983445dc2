"""The access log: a line for each request, in order, none lost when the service stops, and none where it is off."""

import json
import logging

from gainboard.api.telemetry import AccessLog
from gainboard.logs import ACCESS, JsonLines, TextLines
from tests.world.campaigns import judged
from tests.world.servers import ADMIN, new_settings, serving


def _lines(caplog):
    """What was logged, as it is written to standard error."""
    records = [record for record in caplog.records if record.name == ACCESS]
    return [json.loads(line) for record in records for line in JsonLines().format(record).split("\n")]


def _note(access, number):
    access.note(f"id-{number}", "GET", "/healthz", 200, 0.25)


def test_every_request_before_a_stop_has_its_line(tmp_path, caplog):
    caplog.set_level(logging.INFO, "gainboard")
    with serving(new_settings(tmp_path)) as service:
        for number in range(50):
            service.anonymous.get(f"/v1/me?secret={ADMIN}", headers={"X-Request-ID": f"mine-{number}"})
    lines = [line for line in _lines(caplog) if line["path"] == "/v1/me"]
    assert [line["request_id"] for line in lines] == [f"mine-{number}" for number in range(50)]
    assert list(lines[0])[:4] == ["time", "level", "logger", "message"]
    assert {(line["method"], line["status"], line["message"]) for line in lines} == {("GET", 422, "request")}
    assert ADMIN not in caplog.text


def test_a_path_is_one_line_that_cannot_control_a_terminal(caplog):
    caplog.set_level(logging.INFO, "gainboard")
    AccessLog().note("id", "GET", "/v1/\x1b[2Ja\nb\u2028é", 404, 1.25)
    assert TextLines().format(caplog.records[-1])[8:].startswith(r" GET /v1/\x1b[2Ja\nb")
    assert json.loads(caplog.messages[0])["path"] == "/v1/\x1b[2Ja\nb\u2028é"
    assert caplog.messages[0].count("\n") == 0


def test_it_is_switched_off(tmp_path, caplog):
    caplog.set_level(logging.INFO, "gainboard")
    with serving(new_settings(tmp_path, access_log="off")) as service:
        assert service.anonymous.get("/healthz").status_code == 200
    assert _lines(caplog) == []


def test_lines_that_too_many_wait_for_are_written_by_who_brings_the_next(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "gainboard")
    monkeypatch.setattr(AccessLog, "SECONDS", 60.0)
    monkeypatch.setattr(AccessLog, "MOST_WAITING", 3)
    access = AccessLog()
    access.start()
    for number in range(5):
        _note(access, number)
    assert [line["request_id"] for line in _lines(caplog)] == [f"id-{number}" for number in range(4)]
    access.stop()
    _note(access, 5)
    assert [line["request_id"] for line in _lines(caplog)] == [f"id-{number}" for number in range(6)]


def test_nothing_is_kept_for_a_log_that_takes_no_such_lines(caplog):
    caplog.set_level(logging.WARNING, "gainboard")
    access = AccessLog()
    _note(access, 1)
    caplog.set_level(logging.INFO, "gainboard")
    access.stop()
    assert _lines(caplog) == []


def test_a_line_says_whose_token_asked(tmp_path, caplog):
    caplog.set_level(logging.INFO, "gainboard")
    with serving(new_settings(tmp_path)) as service:
        campaign = judged(service)
        campaign.release(public=True)
        made = campaign.new_token()
        reader, board = service.client(made["token"]), f"{campaign.path}/leaderboard?metric=AP"
        for path in ("/v1/me", board, board):  # the second board is a kept answer
            for method in ("GET", "HEAD"):
                reader.request(method, path, headers={"X-Request-ID": "reader"})
        reader.post(f"{campaign.path}/jobs", json={}, headers={"X-Request-ID": "reader"})
        signed_in = service.client(None)
        signed_in.headers["X-Request-ID"] = "reader"
        data, origin = {"token": made["token"]}, {"Origin": service.url}
        assert signed_in.post("/signin", data=data, headers=origin).status_code == 303
        for path in ("/me", f"/c/{campaign.name}", f"/c/{campaign.name}/board.json"):
            assert signed_in.get(path).status_code == 200
        service.organiser.delete(f"{campaign.path}/tokens/{made['id']}")
        assert reader.get("/v1/me", headers={"X-Request-ID": "reader"}).status_code == 401
        assert reader.get(board, headers={"X-Request-ID": "reader"}).status_code == 401
        for client in (service.anonymous, service.client("gainboard_guessed"), signed_in):
            for path in ("/healthz", board, "/c/none"):
                client.get(path, headers={"X-Request-ID": "nobody"})
    lines = _lines(caplog)
    assert {line["token"] for line in lines if line["request_id"] == "reader"} == {made["id"]}
    assert {line["token"] for line in lines if line["request_id"] == "nobody"} == {None}
    assert made["token"] not in caplog.text
