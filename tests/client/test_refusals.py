"""What a client says when something is wrong, and what it never says."""

import logging
import pickle
import socket

import pytest

from gainboard.client import NoAnswer, NotGainboard, Problem
from gainboard.errors import BadInput, BadSetting
from tests.world.campaigns import RUN
from tests.world.servers import ADMIN, free_port

SECRET = "gainboard_of-which-nobody-hears"


def test_a_faulty_file_is_refused_with_its_first_faults_and_their_lines(organiser, name):
    organiser.create_collection(name, 2)
    faulty = "".join(f"1 Q0 d{number} {number} high tag\n" for number in range(200))
    with pytest.raises(Problem) as refused:
        organiser.submit(name, RUN + faulty, team="lemur")
    problem = refused.value
    assert (problem.status, problem.type, problem.title) == (422, "faulty-file", "Faulty file")
    assert (problem.errors[0]["line"], problem.errors_total, len(problem.errors)) == (5, 200, 100)
    lines = str(problem).splitlines()
    assert lines[0] == problem.detail
    assert lines[1] == f"  line 5: {problem.errors[0]['message']}"
    assert lines[-1] == "  ... and 190 more"
    again = pickle.loads(pickle.dumps(problem))
    assert (str(again), again.errors, again.status) == (str(problem), problem.errors, 422)
    assert len(lines) == 12


def test_no_server_is_said_with_the_address(connect):
    port = free_port()
    with pytest.raises(NoAnswer, match=rf"no server at http://127\.0\.0\.1:{port} .*refused"):
        connect(f"http://127.0.0.1:{port}", retries=0).health()


def test_a_server_that_does_not_answer_in_time_is_not_asked_twice(connect):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NoAnswer, match="has not answered GET /v1/me in time"):
            connect(url, SECRET, timeout=0.05).me()
        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_a_problem_of_another_form_is_one_and_a_body_that_cannot_be_decoded_is_none(connect, broken):
    broken[1].faults = ["bad-gzip", "odd-problem"]
    with pytest.raises(NoAnswer, match="The connection to"):
        connect(broken[0], SECRET).me()
    with pytest.raises(Problem, match=r"^No\.$"):
        connect(broken[0], SECRET).me()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("page", "returned text/html, not application/json, so this is not Gainboard"),
        ("bare-json", "is not a Me that this client"),
        ("cut-json", "is not a Me that this client"),
        ("elsewhere", "308 Permanent Redirect: a redirect to https://gainboard.example/"),
    ],
)
def test_what_is_no_gainboard_is_said_to_be_none(connect, broken, fault, said):
    broken[1].faults = [fault]
    with pytest.raises(NotGainboard, match=said):
        connect(broken[0], SECRET).me()


def test_a_page_is_not_written_where_a_file_was_wanted(connect, broken, tmp_path):
    broken[1].faults = ["page"]
    with pytest.raises(NotGainboard):
        connect(broken[0], ADMIN).save_audit(tmp_path / "audit.ndjson")
    with pytest.raises(Problem, match="no collection 'other'"):
        connect(broken[0], ADMIN).save_run_file("other", "run", tmp_path / "run.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "server", ["127.0.0.1:8000", "ftp://host", "http://", "http://host:port", "http://host?x=1", " "]
)
def test_what_is_no_address_is_refused(connect, server):
    with pytest.raises(BadSetting, match="not a valid address of a server"):
        connect(server)


@pytest.mark.parametrize("host", ["host", "host:port"])
def test_a_secret_in_the_address_is_refused_and_not_repeated(connect, host):
    with pytest.raises(BadSetting, match="give a token instead") as refused:
        connect(f"http://somebody:{SECRET}@{host}")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_be_another_path_is_refused(organiser, name):
    with pytest.raises(BadInput, match="cannot be a name in an address"):
        organiser.collection(name)


def test_a_name_cannot_leave_its_place_in_the_path(organiser):
    for name in ("a/../../me", "a?limit=1", "a#b", "%2e%2e"):
        with pytest.raises(Problem) as refused:
            organiser.run("other", name)
        assert refused.value.type == "not-found"


def test_what_is_not_given_is_read_from_the_environment(connect, shared, monkeypatch):
    monkeypatch.setenv("GAINBOARD_SERVER", shared.url + "/")
    monkeypatch.setenv("GAINBOARD_TOKEN", ADMIN)
    assert connect().me().role == "organiser"
    assert connect(token="").health().status == "ok"
    with pytest.raises(Problem, match="token") as refused:
        connect(token="").me()
    assert refused.value.status == 401


def test_the_token_is_in_no_text(connect, shared, broken, caplog):
    caplog.set_level(logging.DEBUG)
    broken[1].faults = ["page"]
    errors = []
    for server, token in ((shared.url, SECRET), (broken[0], SECRET), (shared.url, f"{SECRET}\r\nX: y")):
        with pytest.raises((Problem, NotGainboard, BadSetting)) as refused:
            connect(server, token, retries=0).me()
        errors.append(refused.value)
    client = connect(shared.url, SECRET)
    for text in (repr(client), str(client), repr(client._connection.target), caplog.text, *map(repr, errors)):
        assert SECRET not in text
    assert all(SECRET not in f"{error}{vars(error)}" for error in errors)


def test_a_token_of_another_alphabet_is_sent_as_it_is(connect, shared):
    with pytest.raises(Problem) as refused:
        connect(shared.url, "ключ-от-всех-дверей").me()
    assert refused.value.status == 401
