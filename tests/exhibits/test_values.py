"""Tables and figures as plain JSON."""

import json
import math

import numpy as np

from gainboard.exhibits import Column, Marked, Share, Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Reference, Series, figure_as_json, table_as_json


def test_a_table_says_all_it_knows_in_plain_json():
    columns = [Column("part", section=True), Column("metric"), Column("tau", digits=2, group="AP"), Column("t", "s")]
    rows = [["a", Marked("Q"), Marked(0.123456, "italic"), Share(79, 105)], ["b", "AP", math.nan, None]]
    made = Table("t-1", "A table", columns, rows, mark="best", second_mark="low", notes=["So."])
    assert json.loads(json.dumps(table_as_json(made), allow_nan=False)) == {
        "name": "t-1",
        "caption": "A table",
        "columns": [
            {"title": "part", "unit": "", "group": "", "section": True},
            {"title": "metric", "unit": "", "group": "", "section": False},
            {"title": "tau", "unit": "", "group": "AP", "section": False},
            {"title": "t", "unit": "s", "group": "", "section": False},
        ],
        "rows": [["a", "Q", 0.123456, {"count": 79, "of": 105, "share": 79 / 105}], ["b", "AP", None, None]],
        "marks": [{"row": 0, "column": 1, "mark": "bold"}, {"row": 0, "column": 2, "mark": "italic"}],
        "meanings": {"bold": "best", "italic": "low"},
        "notes": ["So."],
    }


def test_numbers_keep_every_digit_and_an_empty_share_is_undefined():
    rows = [[0.1 + 0.2, np.float64(1e-300), Share(0, 0), math.inf]]
    made = table_as_json(Table("t", "", [Column(name) for name in "abcd"], rows))
    empty = {"count": 0, "of": 0, "share": None}
    assert json.loads(json.dumps(made, allow_nan=False))["rows"] == [[0.1 + 0.2, 1e-300, empty, None]]


def test_a_figure_names_its_axes_series_references_and_values():
    x, y = Axis("runs", categories=["r1", "r2"]), Axis("ASL", "share", "log", limits=(None, 1))
    series = [Series("AP", range(2), [0.5, math.nan], "line", highlighted=[0])]
    panels = [
        Panel(x, y, series, [Reference(0.05, "5 %")], title="left"),
        HeatMap(["a"], ["b", "c"], [[0.5, math.nan]], x),
    ]
    made = json.loads(json.dumps(figure_as_json(Figure("f", "A figure", panels, highlight="swop")), allow_nan=False))
    curves, heat = made["panels"]
    assert (made["name"], made["caption"], made["highlight"], curves["title"]) == ("f", "A figure", "swop", "left")
    assert curves["x"] == {"title": "runs", "unit": "", "scale": "linear", "categories": ["r1", "r2"]}
    assert curves["y"] == {"title": "ASL", "unit": "share", "scale": "log", "categories": []}
    assert curves["series"] == [{"label": "AP", "x": [0, 1], "y": [0.5, None], "highlighted": [0]}]
    assert curves["references"] == [{"of": "y", "value": 0.05, "label": "5 %"}]
    assert (heat["rows"], heat["columns"], heat["values"]) == (["a"], ["b", "c"], [[0.5, None]])
