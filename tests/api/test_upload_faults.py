"""Uploads that the server cannot take now: no room for their temporary copies."""

import tempfile

import pytest

from gainboard.api import uploads
from gainboard.evaluation.runs import intake
from tests.world.campaigns import RUN, refused

LARGE = b"# a comment\n" * 50_000 + RUN.encode()


@pytest.fixture
def full_disk(monkeypatch):
    """Let temporary files be files of a device that is full: the system refuses what is written to them."""

    def opened(**_):
        return open("/dev/full", "w+b")

    monkeypatch.setattr(tempfile, "TemporaryFile", opened)


def test_a_body_that_finds_no_room_is_to_be_sent_again(campaign, full_disk, monkeypatch):
    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    form = campaign.organiser.post(f"{campaign.path}/runs?team=t", files={"file": LARGE * 3})
    for answer in (campaign.submit(LARGE), campaign.put_qrels(LARGE), form):
        assert refused(answer) == (503, "no-space")
        assert answer.headers["retry-after"] == "60"
    assert campaign.submit().status_code == 201


def test_so_is_one_whose_compressed_copy_finds_none(campaign, full_disk, monkeypatch):
    monkeypatch.setattr(intake, "IN_MEMORY_BYTES", 10)
    assert refused(campaign.submit()) == (503, "no-space")
    assert refused(campaign.put_qrels()) == (503, "no-space")
    assert campaign.get("/runs").json()["items"] == []


def test_another_failure_of_the_system_is_still_unexpected(campaign, monkeypatch):
    def failing(**_):
        raise PermissionError("no")

    monkeypatch.setattr(uploads, "SpooledTemporaryFile", failing)
    assert refused(campaign.submit()) == (500, "internal-error")
