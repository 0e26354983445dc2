"""The organisers' published scores of 37 real runs, through the HTTP interface (TREC 2019, passage ranking)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from gainboard.settings import Settings
from tests import real
from tests.conftest import ADMIN, Service, serving

pytestmark = pytest.mark.outer

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


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The campaign under both orders, in one service."""
    real.folder()
    with serving(Settings.read({}, data=tmp_path_factory.mktemp("data"), admin_token=ADMIN)) as service:
        for order_by in ("score", "score32"):
            real.load(service, order_by, order_by=order_by)
        yield service


def differing(service: Service, order_by: str) -> set[tuple[str, str]]:
    """The figures that differ from the published ones, of all that are published."""
    query = {"metric": list(COLUMNS.values())}
    answer = service.organiser.get(f"/v1/collections/{order_by}/scores", params=query).json()
    means = {run["name"]: run["mean"] for run in answer["runs"]}
    published = real.published()
    figures = [(row["run"], column) for row in published for column in COLUMNS]
    assert len(figures) == 370
    return {
        (row["run"], column)
        for row in published
        for column, expression in COLUMNS.items()
        if f"{means[row['run']][answer['asked'][expression]]:.4f}" != f"{float(row[column]):.4f}"
    }


def test_all_370_published_figures_are_ours_in_the_order_of_their_day(loaded: Service) -> None:
    assert differing(loaded, "score32") == set()


def test_all_but_one_are_ours_in_the_order_of_double_precision(loaded: Service) -> None:
    assert differing(loaded, "score") == {NEAR_TIE}


def test_the_bytes_of_a_run_come_back(loaded: Service) -> None:
    sent = gzip.decompress((real.folder() / "runs" / "input.p_bert.gz").read_bytes())
    answer = loaded.organiser.get("/v1/collections/score/runs/p_bert", headers={"Accept": "text/plain"})
    assert answer.content == sent
