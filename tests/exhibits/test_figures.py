"""Figures as values, and as SVG."""

import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import pytest

from gainboard.exhibits.drawing import as_svg
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel, Reference, Series

pytestmark = pytest.mark.outer

BLUE = "#0072b2"
SVG = "{http://www.w3.org/2000/svg}"
MANY = [f"nDCG(base=2,gains=3:2:1)@{10 * number}" for number in range(1, 25)]


def curves(labels, x=None, y=None, points=5):
    series = [Series(label, range(points), [n + i for i in range(points)]) for n, label in enumerate(labels)]
    return Panel(x or Axis("rank"), y or Axis("gain"), series, [Reference(2.5, "limit")], title="a panel")


def matrix(size):
    names = [f"m{number}" for number in range(size)]
    values = [[None if i > j else (i + 1) / (j + 1) for j in range(size)] for i in range(size)]
    return HeatMap(names, names, values, Axis("Kendall's tau"))


def texts(svg):
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def drawn(*panels, highlight=""):
    svg = as_svg(Figure("made", "A caption", panels, highlight))
    assert ElementTree.fromstring(svg).tag == f"{SVG}svg"
    return svg


def test_a_drawing_has_a_title_and_its_caption_as_description():
    caption = "A <caption> & </title>\n more\x07"
    root = ElementTree.fromstring(as_svg(Figure("made", caption, [matrix(2)])))
    assert [each.tag for each in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "made"
    assert root[1].text == "A <caption> & </title>[U+000A] more[U+0007]"


def test_every_one_of_24_series_is_named_in_the_legend_and_looks_different():
    from gainboard.exhibits.drawing.panels import looks_of  # noqa: PLC0415  # as in the program: the extra may be missing

    assert set(MANY) <= set(texts(drawn(curves(MANY))))
    looks = looks_of(MANY).values()
    assert len({(look.marker, look.is_hollow) for look in looks}) == 24
    assert len({(look.colour, str(look.dash)) for look in looks}) == 24


def test_axes_are_named_with_their_units_and_references_are_labelled():
    shown = texts(drawn(curves(["AP"], Axis("time", "ms"), Axis("rate", scale="log"))))
    assert {"time (ms)", "rate", "limit", "a panel", "AP"} <= set(shown)


def test_the_same_figure_gives_the_same_bytes_in_threads_and_in_another_process():
    figure = Figure("made", "A caption", [curves(["AP", "Q"]), matrix(2)])
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(as_svg, [figure, figure])
    code = (
        "import sys; from tests.exhibits.test_figures import *;"
        "sys.stdout.buffer.write(as_svg(Figure('made', 'A caption', [curves(['AP', 'Q']), matrix(2)])))"
    )
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert first == second == elsewhere == as_svg(figure)
    assert str(sys.prefix).encode() not in first


def test_a_gap_interrupts_the_line_and_a_point_between_gaps_is_marked():
    def commands(y):
        # Limits are fixed, so that nothing but the curve can differ.
        panel = Panel(Axis("x", limits=(0, 9)), Axis("y", limits=(0, 9)), [Series("s", range(len(y)), y, "line")])
        svg = drawn(panel).decode()
        found = re.findall(r'<path d="([^"]*)" clip-path="[^"]*" style="fill: none; stroke: ' + BLUE, svg)
        return " ".join(re.findall(r"[ML]", found[0]))

    assert commands([1, 2, 4, 1]) == "M L L L"
    assert commands([1, 2, None, 4, 1]) == commands([1, 2, math.nan, 4, 1]) == "M L M L"


def test_a_log_axis_has_a_place_for_zero_and_none_for_less():
    taus = [0.9, 0.8, 0.7, 0.6]
    shown = texts(drawn(Panel(Axis("beta", scale="log"), Axis("tau"), [Series("Q", [0, 0.1, 1, 1000], taus)])))
    assert {"0", "0.1", "1", "1000"} <= set(shown)
    assert "0" not in texts(drawn(Panel(Axis("beta", scale="log"), Axis("tau"), [Series("Q", [-1, 1, 9, 80], taus)])))


def test_of_200_categories_at_most_60_are_named():
    runs = [f"run{number}" for number in range(200)]
    shown = texts(drawn(curves(["AP", "Q"], Axis("run", categories=runs), points=200)))
    named = [text for text in shown if text.startswith("run") and text != "run"]
    assert named == runs[::4]
    assert texts(drawn(curves(["AP"], Axis("run", categories=runs[:60]), points=60))).count("run59") == 1


def test_a_small_matrix_shows_its_numbers_and_a_large_one_only_shades():
    small, large = texts(drawn(matrix(4))), texts(drawn(matrix(43)))
    assert small.count("–") == 6
    assert {"0.33", "0.75", "Kendall's tau", "m3"} <= set(small)
    assert {"Kendall's tau", "m0", "m42"} <= set(large)
    assert "–" not in large


def test_highlighted_points_are_ringed_and_explained():
    panel = Panel(Axis("x"), Axis("y"), [Series("AP", [0, 1, 2], [3, 1, 2], highlighted=[2])])
    assert "swop" in texts(drawn(panel, highlight="swop"))
    with pytest.raises(ValueError, match="`highlight` must say"):
        Figure("made", "", [panel])


def test_no_text_breaks_the_drawing_or_is_taken_for_a_formula():
    svg = drawn(curves(["$x_1$", "<b> & --", "bell\x07", "日本", "a\nb", "x" * 500]))
    assert {"$x_1$", "a b", "bell[U+0007]", "[U+65E5][U+672C]"} <= set(texts(svg))
    assert "日本" in {element.text for element in ElementTree.fromstring(svg).iter()}


def test_figures_without_a_number_and_with_any_numbers_are_drawn_too():
    nothing = [Series("none", [1, 2], [None, math.nan]), Series("empty", [], [], "step"), Series("all", [1], [0])]
    for scale in ("linear", "log"):
        assert {"none", "empty"} <= set(texts(drawn(Panel(Axis("x"), Axis("y", scale=scale), nothing))))
    assert "a" in texts(drawn(HeatMap(["a"], ["b"], [[None]], Axis("tau"))))
    odd = ([-5.0, -1.0], [1e-300, 1.0], [1e-7, 2e-7], [1e300, 3.0])
    for data, limits in zip(odd, ((None, None), (0.0, 1.0), (0.5, None), (None, 1.0)), strict=True):
        axis, zero = Axis("ASL", scale="log", limits=limits), [Reference(0.0, "at 0")]
        assert "0" in texts(drawn(Panel(Axis("pair"), axis, [Series("AP", range(2), data)], zero)))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="2 x and 1 y"):
        Series("AP", [1, 2], [1])
    with pytest.raises(ValueError, match="as many values"):
        HeatMap(["a"], ["b"], [[1, 2]], Axis("tau"))
    with pytest.raises(ValueError, match="is not a name"):
        Figure("a figure", "", [matrix(2)])
    with pytest.raises(ValueError, match="are empty"):
        Axis("x", limits=(1, 1))
    with pytest.raises(ValueError, match="must end above 0"):
        Axis("x", scale="log", limits=(None, 0))


def test_without_matplotlib_an_error_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from gainboard.errors import NotFound\n"
        "from gainboard.exhibits.drawing import as_svg\n"
        "from gainboard.exhibits.figures import Axis, Figure, HeatMap\n"
        "try: as_svg(Figure('f', '', [HeatMap(['a'], ['b'], [[1]], Axis('tau'))]))\n"
        "except NotFound as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "the `figures` extra is not installed" in said
