"""Scores by the client: what the API answers, as values, arrays and frames."""

import csv
import io
import math
import sys

import numpy as np
import pytest

from gainboard.client import MissingPackage
from gainboard.client.answers import ResultTable as Table
from tests.world.campaigns import judged, run_text
from tests.world.laboratories import TOPICS, Laboratory

METRICS = ["Q", "nDCG@3", "AP"]


@pytest.fixture(scope="module")
def lab(shared):
    """Four runs, and one that found nothing that anybody judged."""
    lab = Laboratory(shared)
    assert lab.submit(run_text({"1": ["elsewhere"]}, "nothing"), team="team-2").status_code == 201
    return lab


@pytest.fixture(scope="module")
def undefined(shared):
    """Of its two topics one has no relevant document, so nothing is defined there."""
    return judged(shared, qrels="1 0 good 2\n2 0 bad 0\n")


def test_arrays_are_runs_by_metrics_or_runs_by_topics_by_metrics(organiser, lab):
    scores = organiser.scores(lab.name, METRICS, topics=True)
    topics, means = scores.to_numpy(), scores.to_numpy(topics=False)
    assert topics.values.shape == (5, len(TOPICS), 3)
    axes = {"run": [run.name for run in scores.runs], "topic": TOPICS, "metric": scores.metrics}
    assert {name: list(labels) for name, labels in topics.axes.items()} == axes
    assert np.nanmean(topics.values, axis=1) == pytest.approx(means.values)
    assert topics.values[2, 4, 1] == (scores.runs[2].topics or {})[scores.metrics[1]]["5"]
    assert means.values[3, 0] == scores.runs[3].mean[scores.metrics[0]]
    assert organiser.scores(lab.name, METRICS).to_numpy().values == pytest.approx(means.values)


def test_an_undefined_score_is_nan_in_an_array(organiser, undefined):
    scores = organiser.scores(undefined.name, "AP", topics=True)
    values = scores.to_numpy().values[0, :, 0]
    assert [math.isnan(value) for value in values] == [False, True]
    assert scores.columns()["value"] == [1.0, None, 1.0]


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def as_text(columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


def test_the_columns_are_those_of_csv(organiser, lab):
    for topics in (True, False):
        scores = organiser.scores(lab.name, METRICS, topics=topics)
        printed = organiser.scores_text(lab.name, METRICS, topics=topics)
        assert as_text(scores.columns()) == read_csv(printed)


def test_a_leaderboard_is_that_of_the_api(organiser, lab):
    board = organiser.leaderboard(lab.name, METRICS, by="AP", gains="linear")
    tied = organiser.scores(lab.name, "AP", ties="range")
    assert tied.to_dict() == lab.scores("AP", ties="range")
    assert board.to_dict() == lab.get("/leaderboard", metric=METRICS, by="AP", gains="linear").json()
    best = board.to_numpy()
    assert list(best.axes["run"]) == [row.name for row in board.rows]
    assert list(best.values[:, 2]) == sorted(best.values[:, 2], reverse=True)
    columns = board.columns()
    assert columns["run"][:3] == [board.rows[0].name] * 3
    interval = board.rows[0].interval[board.metrics[0]]
    assert interval == (columns["low"][0], columns["high"][0])
    printed = lab.get("/leaderboard", metric=METRICS, by="AP", gains="linear", format="csv").text
    assert as_text(columns) == read_csv(printed)


def test_comparisons_are_those_of_the_api(organiser, lab):
    found = organiser.compare(lab.name, "run-1", "run-3", ["Q", "AP"], beta=0.5)
    sent = {"run": ["run-1", "run-3"], "metric": ["Q", "AP"], "beta": "0.5"}
    assert found.to_dict() == lab.get("/compare", **sent).json()
    differences = found.to_numpy()
    assert differences.values.shape == tuple(map(len, differences.axes.values())) == (2, 6)
    assert differences.values[0].tolist() == [row.difference for row in found.comparisons[0].topics]
    assert as_text(found.columns()) == read_csv(lab.get("/compare", **sent, format="csv").text)
    assert repr(found) == f"<Comparison of {lab.name}: 2 metrics, 6 topics>"
    several = organiser.compare_with(lab.name, ["run-1", "run-2"], ["Q", "AP"], margin=0.1)
    sent = {"baseline": ["run-1", "run-2"], "metric": ["Q", "AP"], "margin": 0.1}
    assert several.to_dict() == lab.get("/compare", **sent).json()
    assert several.to_numpy().values.shape == (2, 6, 6)
    assert repr(several) == f"<Comparison of {lab.name}: 6 pairs, 2 metrics, 6 topics>"


def test_a_sweep_is_that_of_the_api(organiser, lab):
    grid = {"gains": ["3:2:1", "10:5:1"], "beta": [0.1, 10]}
    sweep = organiser.sweep(lab.name, ["Q", "AP"], runs=["run-1", "run-2"], **grid)
    sent = {"metric": ["Q", "AP"], "run": ["run-1", "run-2"], **grid}
    assert sweep.to_dict() == lab.get("/sweep", **sent).json()
    assert sweep.to_numpy().values.shape == (2, 5)
    assert sweep.to_numpy().values[1, 3] == sweep.runs[1].means[3]
    columns = sweep.columns()
    assert columns["beta"][:5] == [0.1, 10, 0.1, 10, None]
    texts = columns | {"beta": [None if value is None else f"{value:g}" for value in columns["beta"]]}
    assert as_text(texts) == read_csv(lab.get("/sweep", **sent, format="csv").text)


def test_a_frame_of_pandas_has_the_columns(organiser, undefined):
    pandas = pytest.importorskip("pandas")
    frame = organiser.scores(undefined.name, ["AP", "Q"], topics=True).to_pandas()
    assert list(frame.columns) == ["run", "topic", "metric", "value"]
    assert pandas.api.types.is_float_dtype(frame["value"])
    assert list(frame["topic"]) == ["1", "2", "all"] * 2
    bases = organiser.sweep(undefined.name, "nDCG@10", base=[2, 10]).to_pandas()["base"]
    assert pandas.api.types.is_integer_dtype(bases)
    assert frame["value"].isna().sum() == 2
    board = organiser.leaderboard(undefined.name, "AP").to_pandas()
    assert pandas.api.types.is_integer_dtype(board["rank"])
    found = organiser.leaderboard(undefined.name, ["AP", "nDCG@10"])
    wide = found.to_pandas(wide=True)
    assert list(wide.columns) == ["rank", "run", "team", *found.metrics, "groups"]
    assert list(wide[found.by]) == [row.mean[found.by] for row in found.rows]
    assert found.notes == ["nDCG@10 is Järvelin and Kekäläinen's; trec_eval's and ir_measures' is ndcg_cut_10."]


def test_a_frame_of_polars_has_the_columns(organiser, undefined):
    polars = pytest.importorskip("polars")
    frame = organiser.scores(undefined.name, ["AP", "Q"], topics=True).to_polars()
    assert frame.schema == {**dict.fromkeys(("run", "topic", "metric"), polars.String), "value": polars.Float64}
    assert frame["value"].null_count() == 2
    assert organiser.leaderboard(undefined.name, "AP").to_polars().schema["rank"] == polars.Int64


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # so Python notes that there is none
    with pytest.raises(MissingPackage, match=r"pip install pandas$"):
        Table("a\r\n1\r\n").to_pandas()


def test_a_column_of_a_table_is_of_numbers_where_there_is_nothing_else():
    table = Table('metric,runs,share,topic\r\nAP,3,0.5,001\r\n"Q, mean",4,,002\r\n')
    texts, numbers = {"metric": ["AP", "Q, mean"], "topic": ["001", "002"]}, {"runs": [3, 4], "share": [0.5, None]}
    assert table.columns() == texts | numbers
    found = table.to_numpy()
    assert dict(found.axes) == {"row": ["AP, 001", "Q, mean, 002"], "column": ["runs", "share"]}
    assert found.values == pytest.approx(np.array([[3, 0.5], [4, np.nan]]), nan_ok=True)


def test_a_column_without_any_number_is_undefined_and_marks_stay_texts():
    table = Table("metric,difference,marked\r\nAP,,\r\nQ,,\r\n")
    assert table.columns() == {"metric": ["AP", "Q"], "difference": [None, None], "marked": ["", ""]}
