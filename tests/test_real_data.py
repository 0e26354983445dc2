"""The organisers' published scores of 37 real runs, through the HTTP interface (TREC 2019, passage ranking).

The data may not be redistributed, so it is looked for in the folder that GAINBOARD_REAL_DATA names.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from tests.conftest import ADMIN, Service, serving

COLUMNS = {
    "map": "AP",
    "recip_rank": "RR",
    "P_10": "P@10",
    "P_100": "P@100",
    "ndcg": "MSnDCG@1000",
    "ndcg_cut_10": "MSnDCG@10",
    "ndcg_cut_100": "MSnDCG@100",
    "map_l2": "AP(rel=2)",
    "recip_rank_l2": "RR(rel=2)",
    "P_10_l2": "P(rel=2)@10",
}
NEAR_TIE = ("TUA1-1", "map")
"""The one figure that the order under float64 changes: two scores of that run differ only beyond single precision."""


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("GAINBOARD_REAL_DATA")
    if not folder:
        pytest.skip("GAINBOARD_REAL_DATA does not name the folder of the real runs")
    return Path(folder) / "trec-dl19-pass"


@pytest.fixture(scope="module")
def loaded(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The campaign under both orders, in one service."""
    teams = {row["run"]: row["team"] for row in rows(data / "runs-metadata.csv")}
    with serving(Settings.read({}, data=tmp_path_factory.mktemp("data"), admin_token=ADMIN)) as service:
        for order_by in ("score", "score32"):
            sent = {"name": order_by, "levels": 3, "gains": "linear", "order_by": order_by}
            assert service.organiser.post("/v1/collections", json=sent).status_code == 201
            qrels = (data / "qrels.dl19-passage.txt").read_bytes()
            assert service.organiser.put(f"/v1/collections/{order_by}/qrels", content=qrels).status_code == 201
            for name, team in teams.items():
                body = (data / "runs" / f"input.{name}.gz").read_bytes()
                query = {"team": team, "name": name}
                answer = service.organiser.post(f"/v1/collections/{order_by}/runs", params=query, content=body)
                assert answer.status_code == 201, answer.text
        yield service


def differing(service: Service, data: Path, order_by: str) -> set[tuple[str, str]]:
    """The figures that differ from the published ones, of all that are published."""
    query = {"metric": list(COLUMNS.values())}
    answer = service.organiser.get(f"/v1/collections/{order_by}/scores", params=query).json()
    means = {run["name"]: run["mean"] for run in answer["runs"]}
    published = rows(data / "official-scores.csv")
    figures = [(row["run"], column) for row in published for column in COLUMNS]
    assert len(figures) == 370
    return {
        (row["run"], column)
        for row in published
        for column, expression in COLUMNS.items()
        if f"{means[row['run']][answer['asked'][expression]]:.4f}" != f"{float(row[column]):.4f}"
    }


def test_all_370_published_figures_are_ours_in_the_order_of_their_day(loaded: Service, data: Path) -> None:
    assert differing(loaded, data, "score32") == set()


def test_all_but_one_are_ours_in_the_order_of_double_precision(loaded: Service, data: Path) -> None:
    assert differing(loaded, data, "score") == {NEAR_TIE}


def test_the_bytes_of_a_run_come_back(loaded: Service, data: Path) -> None:
    sent = gzip.decompress((data / "runs" / "input.p_bert.gz").read_bytes())
    answer = loaded.organiser.get("/v1/collections/score/runs/p_bert", headers={"Accept": "text/plain"})
    assert answer.content == sent
