"""One campaign for all tests of analyses: jobs only add to it, and an equal one is worked once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analyses.laboratory import Laboratory, copied, planted

Answer = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session", autouse=True)
def little_to_collect() -> Iterator[None]:
    """Workers collect garbage before each job, and would look through all that was ever imported each time."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the campaign's database is."""
    return tmp_path_factory.mktemp("grove")


@pytest.fixture(scope="session")
def laboratory(folder: Path) -> Iterator[Laboratory]:
    """Twelve topics and eight runs."""
    planted_here = planted(folder)
    yield planted_here
    planted_here.workspace.database.close()


@pytest.fixture(scope="session")
def many_topics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """Twenty topics, more than are enumerated, and five runs."""
    planted_here = planted(tmp_path_factory.mktemp("wood"), 20, ("maple", "zelkova", "birch", "yew", "hazel"))
    yield planted_here
    planted_here.workspace.database.close()


@pytest.fixture(scope="session")
def shelf(laboratory: Laboratory, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """The same campaign in another database: jobs that are asked for here keep nobody busy."""
    copy = copied(folder, tmp_path_factory.mktemp("shelf"))
    yield copy
    copy.workspace.database.close()


@pytest.fixture
def answer(laboratory: Laboratory) -> Answer:
    """Asks for a job and works it: `answer(kind, **params)`."""
    return laboratory.answer
