"""Axes of small charts: round ticks around all values."""

import json
import math

import pytest

from gainboard.dashboard.figures import MOST_CELLS, ChartScale, FigureOnPage
from gainboard.exhibits.figures import Axis, Figure, HeatMap


@pytest.mark.parametrize(
    ("values", "low", "high", "step"),
    [
        ([0.04, 0.76], 0.0, 0.8, 0.1),
        ([0.612, 0.648], 0.61, 0.65, 0.005),
        ([-0.3, 0.4], -0.3, 0.4, 0.1),
        ([12, 480], 0, 500, 100),
        ([], 0.0, 1.0, 0.2),
        ([None, math.nan, 0.5, 0.5], 0.0, 0.5, 0.1),
        ([0.0, 0.0], 0.0, 1.0, 0.2),
    ],
)
def test_an_axis_holds_all_values_between_round_ticks(values, low, high, step):
    scale = ChartScale.around(values)
    known = [value for value in values if value is not None and not math.isnan(value)]
    assert [scale.low, scale.high, scale.step] == pytest.approx([low, high, step])
    assert all(scale.low - 1e-12 <= value <= scale.high + 1e-12 for value in known)


def test_a_large_heat_map_has_each_value_to_half_a_step():
    names = [str(number) for number in range(1 + MOST_CELLS // 10)]
    values = [[math.sin(number), *[0.25] * 8, math.nan] for number in range(len(names))]
    figure = FigureOnPage.of(Figure("topics", "", [HeatMap(names, names[:10], values, Axis("AP"))]))
    (panel,) = json.loads(figure.json)["panels"]
    step = panel["step"]
    for row, drawn in zip(values, panel["values"], strict=True):
        assert drawn[-1] is None
        shown = [step["from"] + step["size"] * value for value in drawn[:-1]]
        assert shown == pytest.approx(row[:-1], abs=step["size"] / 2 + 1e-9)
