"""Scores and boards are answered in the event loop where that is quick, on SQLite, and in a thread otherwise."""

from datetime import timedelta
from itertools import count

import pytest
from fastapi.concurrency import run_in_threadpool

from gainboard.api import routes
from gainboard.evaluation.access import principals
from gainboard.store.database import Database, NotQuick, quickly
from tests.world.campaigns import WORSE, judged

BETAS = count(2)
"""Values of a parameter that nobody has asked for, so that no answer was kept."""


@pytest.fixture(autouse=True)
def _used(monkeypatch):
    """Have the use of a token noted once, and not in each minute, which may end in the middle of a test."""
    monkeypatch.setattr(principals, "USE_NOTED_EVERY", timedelta(days=1))


@pytest.fixture
def apart(monkeypatch):
    """The functions that were called in a thread."""
    called = []
    really = run_in_threadpool

    async def noting(function, *given, **arguments):
        called.append(function.__name__)
        return await really(function, *given, **arguments)

    monkeypatch.setattr(routes, "run_in_threadpool", noting)
    return called


@pytest.fixture
def known(shared):
    """A collection of two runs, all of which is in memory."""
    campaign = judged(shared)
    campaign.submit(WORSE, team="gnu")
    for path in ("/leaderboard", "/scores"):
        assert campaign.get(path, metric=["AP", "Q"]).status_code == 200
    return campaign


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/scores", {"metric": "Q"}),
        ("/scores", {"metric": "Q", "topics": "all", "format": "csv"}),
        ("/leaderboard", {"metric": ["AP", "Q"], "by": "Q"}),
        ("/leaderboard", {"metric": "Q", "format": "latex"}),
    ],
)
def test_what_is_in_memory_is_answered_at_once_and_as_in_a_thread(known, apart, path, query, monkeypatch):
    asked = {**query, "beta": next(BETAS)}
    quick = known.get(path, **asked)
    assert (quick.status_code, apart) == (200, [])
    monkeypatch.setattr(Database, "is_quick", False)
    # The same value by another spelling, so that the answer is not the one that was kept.
    other = known.get(path, **{**asked, "beta": f"{asked['beta']}.0"})
    assert len(apart) == 1
    assert other.content == quick.content


def test_what_may_take_long_is_not(known, apart, monkeypatch):
    standard = {"standardise": "normal", "reference": ["tag", "worse"]}
    for path, query in (
        ("/scores", {"metric": [f"P@{rank}" for rank in range(1, 60)]}),
        ("/scores", {"metric": "Q", "ties": "range"}),
        ("/leaderboard", {"metric": "Q", "by_group": "all"}),
        ("/leaderboard", {"metric": "Q", **standard}),
    ):
        known.get(path, **query, beta=next(BETAS))
        assert len(apart) == 1
        apart.clear()
    monkeypatch.setattr("gainboard.evaluation.scoring.requests.MOST_QUICK", 3)
    for metrics, called in ((["Q"], 0), (["AP", "Q"], 1)):
        known.read("/scores", metric=metrics, beta=next(BETAS))
        assert len(apart) == called


def test_the_use_of_a_token_is_written_in_a_thread_and_never_forgotten(known, apart):
    known.release()
    reader = known.client("reader")

    def used():
        tokens = known.get("/tokens").json()["items"]
        return [each["last_used_at"] for each in tokens if each["role"] == "reader"]

    assert used() == [None]
    assert known.get("/scores", metric="Q", beta=next(BETAS)).status_code == 200  # the release made a new revision
    apart.clear()
    for _ in range(2):
        assert known.get("/scores", reader, metric="Q", beta=next(BETAS)).status_code == 200
        assert len(apart) == 1
    assert used() != [None]


def test_nothing_is_written_where_it_must_be_quick(known):
    store = known.service.application.state.workspace.database
    for transaction in (store.writing, store.hurrying):
        with quickly(), pytest.raises(NotQuick), transaction():
            pass
    with store.writing():
        pass
