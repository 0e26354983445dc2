"""Every entry of the corpus still gets its answer, and the corpus holds the whole surface in little text."""

import re
from collections import Counter
from contextlib import closing
from functools import cache
from itertools import chain

import httpx
import pytest

from gainboard import errors
from gainboard.metrics.scoring import SCORING
from tests.api.conforms import faults
from tests.corpus.campaigns import ADDRESS
from tests.corpus.entries import HERE, files, parse, read_all, written
from tests.corpus.ways import ask_by_call, form_of
from tests.corpus.world import Worlds, prepare
from tests.world.servers import description

MOST_LINES, MOST_BYTES, MOST_HASHED = 9_300, 420_000, 80
ENTRIES = read_all()
SEVERAL, SOUND, AT_ONCE = "stands for several", "a sound service never says it", "takes requests at the same time"
WITHOUT_ENTRY = {
    **dict.fromkeys(("error", "refused", "unavailable"), SEVERAL),
    **dict.fromkeys(("bad-input", "bad-setting"), "commands alone say it"),
    **dict.fromkeys(("database-newer", "database-older", "database-unusable"), "a service that says it does not start"),
    **dict.fromkeys(("damaged", "database-busy", "internal-error", "no-space"), SOUND),
    **dict.fromkeys(("objects-unreachable", "out-of-memory"), SOUND),
    **dict.fromkeys(("too-many-dear-requests", "too-many-uploads"), AT_ONCE),
    "body-stalled": "takes half a minute in which nothing is sent",
    "outdated": "takes a result of an earlier release of the program",
    "too-many-failures": "takes more than twenty requests within a minute",
    "wrong-host": "a service of one command alone says it",
}
"""Problems that no client of a sound service gets, with the reason."""


@pytest.fixture(scope="module")
def worlds(request, tmp_path_factory):
    """On SQLite and plainly; with other marks, on PostgreSQL, and compiled."""
    way = getattr(request, "param", "sqlite")
    postgres = request.getfixturevalue("postgres_url") if way == "postgresql" else None
    with closing(Worlds(tmp_path_factory.mktemp("corpus"), postgres)) as worlds:
        if way == "compiled":
            SCORING.load()
        yield worlds
    SCORING.unload()


SCORED = re.compile("api/(leaderboard|scores|sweep|compare|impact|readings|more-boards|job-results|runs)[.]txt")
"""What compiled scoring computes. Everything else would be asked a third time for nothing."""
WAYS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]


@cache
def routes():
    """Method, shape of the address, and description of each operation."""
    found = []
    for path, operations in description()["paths"].items():
        shape = re.compile(re.sub(r"\\\{\w+\\\}", "[^/?]+", re.escape(path)) + r"(\?.*)?")
        found += ((method.upper(), shape, operation) for method, operation in operations.items())
    return found


def undescribed(request, answer):
    """Every place of an answer in JSON that is not as the description of the interface says."""
    found = [each for method, shape, each in routes() if method == request.method and shape.fullmatch(request.address)]
    kind = answer.headers.get("content-type") if found else None
    if kind not in ("application/json", "application/problem+json"):
        return []
    schema = {"$ref": "#/components/schemas/ProblemDetails"}
    if answer.is_success:
        schema = found[0]["responses"][str(answer.status_code)]["content"][kind]["schema"]
    return list(faults(answer.json(), schema, description()["components"]["schemas"]))


@pytest.mark.outer
@pytest.mark.parametrize("worlds", WAYS, indirect=True)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_nothing_that_a_client_sees_has_changed(worlds, entry):
    assert list(worlds.answer_to(entry)) == list(entry.answer), "python -m tests.corpus shows and renews it"
    assert undescribed(entry.request, worlds.answer) == []


@pytest.mark.proof
@pytest.mark.parametrize("worlds", ["compiled"], indirect=True)
@pytest.mark.parametrize("entry", [each for each in ENTRIES if SCORED.match(each.name)], ids=lambda entry: entry.name)
def test_compiled_scores_are_answered_as_plain_ones(worlds, entry):
    assert list(worlds.answer_to(entry)) == list(entry.answer)


@pytest.mark.proof
@pytest.mark.parametrize(
    ("entry", "also"), [(entry, each) for entry in ENTRIES for each in entry.also], ids=lambda each: str(each)[:60]
)
def test_the_client_sends_the_same_request(worlds, entry, also):
    own = entry.request
    with worlds.world_of(entry) as world:
        prepare(world, entry)
        url = httpx.URL(ADDRESS + world.names.filled(own.address))
        wanted = form_of(own.method, url, world.sent_content(own.body).encode())
        assert wanted in ask_by_call(world, own.who, also)


def test_the_corpus_is_small_enough_to_be_read():
    texts = [path.read_text() for path in files()]
    assert sum(text.count("\n") for text in texts) <= MOST_LINES
    assert sum(len(text.encode()) for text in texts) <= MOST_BYTES
    assert sum(entry.is_hashed for entry in ENTRIES) <= MOST_HASHED


def test_entries_are_written_as_they_are_read_and_say_each_thing_once():
    for path in files():
        entries = parse(path.read_text(), path.relative_to(HERE).as_posix())
        assert written(path, entries) == path.read_text()
    assert [name for name, times in Counter(entry.name for entry in ENTRIES).items() if times > 1] == []
    for name in ("etag", "engine_version"):
        assert sum(name in entry.shows for entry in ENTRIES) == 1, name


def test_every_operation_and_every_format_has_an_entry():
    missing = []
    for method, shape, operation in routes():
        own = [each for each in ENTRIES if each.request.method == method and shape.fullmatch(each.request.address)]
        seen = {entry.answer[0].split()[-1] for entry in own if entry.answer}
        good = [each.get("content", ()) for status, each in operation["responses"].items() if status < "4"]
        name = operation["operationId"]
        missing += [f"{name} {kind}" for kind in sorted({*chain(*good)} - seen)] if own else [name]
    assert missing == []


def test_every_problem_that_a_client_can_get_has_an_entry():
    seen = set(re.findall(r'"type": "/problems/([a-z-]+)"', "\n".join("\n".join(entry.answer) for entry in ENTRIES)))
    leaves = {error.slug for error in errors.every_error() if "slug" in vars(error)}
    assert leaves - seen - set(WITHOUT_ENTRY) == set()
