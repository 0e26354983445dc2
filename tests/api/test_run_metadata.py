"""What a run's file says of the run: a warning if it is faulty, and an address for those who may read the file."""

from __future__ import annotations

from typing import Any

from tests.api.campaign import RUN, Campaign, refused
from tests.conftest import Service

HEADER = "# ir_metadata.start\n# tag: tag\n# method: {automatic: true}\n# ir_metadata.end\n"


def about(campaign: Campaign, **query: Any) -> Any:
    return campaign.get("/runs/tag/metadata", **query).json()


def test_a_header_is_kept_with_the_file_and_shown(shared: Service) -> None:
    campaign = Campaign(shared)
    assert campaign.submit(HEADER + RUN).json()["warnings"] == []
    expected = {"tag": "tag", "method": {"automatic": True}}
    assert about(campaign) == {"metadata": expected, "text": "tag: tag\nmethod: {automatic: true}", "faults": []}
    assert refused(campaign.get("/runs/tag/metadata", campaign.client("participant", "otter"))) == (404, "not-found")


def test_a_faulty_header_is_a_warning_and_a_run_without_one_has_none(shared: Service) -> None:
    campaign = Campaign(shared)
    (warning,) = campaign.submit(HEADER.replace("# tag: tag", "# tag: [") + RUN).json()["warnings"]
    assert warning["code"] == "bad-metadata"
    assert "is not YAML in line 3" in warning["message"]
    assert about(campaign)["faults"] == [warning["message"]]
    plain = Campaign(shared)
    plain.submit(RUN)
    assert about(plain) == {"metadata": None, "text": None, "faults": []}
