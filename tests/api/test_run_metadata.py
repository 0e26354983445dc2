"""What a run's file says of the run: a warning if it is faulty, and an address for those who may read the file."""

import gzip
import hashlib

from tests.world.campaigns import QRELS, RUN, Campaign, refused

MEASURED = b"""ir_metadata.start
schema version: 0.2
tag: tag
platform: {hardware: {cpu: {model: Abacus}}}
resources:
  runtime: {wallclock: 171 ms}
ir_metadata.end
"""
"""What tirex-tracker writes, in short."""
HEADER = "# ir_metadata.start\n# tag: tag\n# method: {automatic: true}\n# ir_metadata.end\n"


def about(campaign, **query):
    return campaign.get("/runs/tag/metadata", **query).json()


def test_a_faulty_header_is_a_warning(shared):
    campaign = Campaign(shared)
    (warning,) = campaign.submit(HEADER.replace("# tag: tag", "# tag: [") + RUN).json()["warnings"]
    assert (warning["code"], "is not YAML in line 3" in warning["message"]) == ("bad-metadata", True)
    assert about(campaign)["faults"] == [warning["message"]]


def put(campaign, content, client=None):
    return (client or campaign.organiser).put(f"{campaign.path}/runs/tag/metadata", content=content)


def test_a_file_that_cannot_be_read_or_comes_too_late_is_refused(shared):
    campaign = Campaign(shared)
    campaign.submit(RUN, team="lemur")
    own = campaign.client("participant", "lemur")
    for content, why in (
        (b"a: [1\n", "is not YAML in line 1"),
        (b"a: &x [1]\nb: *x\n", "aliases are not read"),
        (b"nonsense\n", "is not a mapping"),
        (b"", "is not a mapping"),
    ):
        answer = put(campaign, content, own)
        assert refused(answer) == (422, "invalid-request")
        assert why in answer.json()["detail"]
    for large in (b"a" * 65_537, b"a" * 200_000, gzip.compress(b"a" * 100_000_000)):
        answer = put(campaign, large, own)
        assert refused(answer) == (413, "too-large")
        assert "timeseries" in answer.json()["detail"]
    assert about(campaign)["file"] is None
    assert put(campaign, gzip.compress(MEASURED), own).json()["sha256"] == hashlib.sha256(MEASURED).hexdigest()
    campaign.put_qrels(QRELS)
    campaign.release()
    assert refused(put(campaign, MEASURED, own)) == (403, "forbidden")
    assert put(campaign, MEASURED).status_code == 200
