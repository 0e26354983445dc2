"""A real server for the commands that ask one, and a world that names it."""

import pytest

from tests.world.campaigns import QRELS, RUN, WORSE, Campaign
from tests.world.servers import ADMIN


@pytest.fixture
def folder(shared, tmp_path, monkeypatch):
    """The working folder, with qrels and runs; the environment names the server and its organiser."""
    for name in ("GAINBOARD_COLLECTION", "GAINBOARD_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GAINBOARD_SERVER", shared.url)
    monkeypatch.setenv("GAINBOARD_TOKEN", ADMIN)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "worse.txt").write_text(WORSE)
    return tmp_path


@pytest.fixture
def campaign(shared, folder, monkeypatch):
    made = Campaign(shared)
    monkeypatch.setenv("GAINBOARD_COLLECTION", made.name)
    return made
