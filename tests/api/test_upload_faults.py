"""Uploads that the server cannot take now: no room for their temporary copies."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest

from gainboard.api import uploads
from gainboard.evaluation import intake
from tests.api.campaign import RUN, Campaign, refused

LARGE = b"# a comment\n" * 50_000 + RUN.encode()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let temporary files be files of a device that is full: the system refuses what is written to them."""

    def opened(**_: Any) -> Any:
        return open("/dev/full", "w+b")

    monkeypatch.setattr(tempfile, "TemporaryFile", opened)


def test_a_body_that_finds_no_room_is_to_be_sent_again(
    campaign: Campaign, full_disk: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    form = campaign.organiser.post(f"{campaign.path}/runs?team=t", files={"file": LARGE * 3})
    for answer in (campaign.submit(LARGE), campaign.put_qrels(LARGE), form):
        assert refused(answer) == (503, "no-space")
        assert answer.headers["retry-after"] == "60"
    assert campaign.submit().status_code == 201


def test_so_is_one_whose_compressed_copy_finds_none(
    campaign: Campaign, full_disk: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "IN_MEMORY_BYTES", 10)
    assert refused(campaign.submit()) == (503, "no-space")
    assert refused(campaign.put_qrels()) == (503, "no-space")
    assert campaign.get("/runs").json()["items"] == []


def test_another_failure_of_the_system_is_still_unexpected(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(**_: Any) -> Any:
        raise PermissionError("no")

    monkeypatch.setattr(uploads, "SpooledTemporaryFile", failing)
    assert refused(campaign.submit()) == (500, "internal-error")
