"""37 real runs of TREC 2019's passage ranking, with their judgments and the figures that the organisers published.

The data may not be redistributed, so it is looked for in the folder that GAINBOARD_REAL_DATA names.
"""

import csv
import os
from io import StringIO
from pathlib import Path

import pytest


def folder():
    """Where the data is; skips the test that asks where it is not."""
    found = os.environ.get("GAINBOARD_REAL_DATA")
    if not found:
        pytest.skip("GAINBOARD_REAL_DATA does not name the folder of the real runs")
    return Path(found) / "trec-dl19-pass"


def rows(text):
    return list(csv.DictReader(StringIO(text)))


def published():
    return rows((folder() / "official-scores.csv").read_text())


def load(service, name, most=37, **settings):
    """The campaign in the order of its day: a collection, its judgments, its first runs."""
    data, sent = folder(), {"name": name, "levels": 3, "gains": "linear", **settings}
    assert service.organiser.post("/v1/collections", json=sent).status_code == 201
    qrels = (data / "qrels.dl19-passage.txt").read_bytes()
    assert service.organiser.put(f"/v1/collections/{name}/qrels", content=qrels).status_code == 201
    for row in rows((data / "runs-metadata.csv").read_text())[:most]:
        body = (data / "runs" / f"input.{row['run']}.gz").read_bytes()
        query = {"team": row["team"], "name": row["run"]}
        answer = service.organiser.post(f"/v1/collections/{name}/runs", params=query, content=body)
        assert answer.status_code == 201, answer.text
