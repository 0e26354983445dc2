"""gain-vectors, against the metrics at each cut-off and precision at each rank."""

import pytest

from tests.world.groves import NO_RELEVANT, ONLY_LOW

CURVES = ("CG", "DCG", "nCG", "nDCG")
WAYS = [{}, {"gains": "10:5:1", "base": 4}, {"rel": 2, "base": "2.5"}, {"gains": "adjust(3:2:1)"}]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_curves_are_the_metrics_at_each_rank(answer, laboratory, way):
    found = answer("gain-vectors", cutoff=28, **way)
    assert found["ranks"] == list(range(1, 29))
    defaults = {name: str(value) for name, value in way.items()}
    for rank in (1, 2, 3, 7, 14, 25, 28):
        for name in CURVES:
            means = laboratory.means(f"{name}@{rank}", defaults=defaults)
            ours = {run["name"]: run[name][rank - 1] for run in found["runs"]}
            assert ours == pytest.approx(means, abs=1e-12)
    for tenths in (0, 3, 10):
        metric = f"IPrec(recall={tenths / 10},rel={way.get('rel', 1)})"
        ours = {run["name"]: run["precision_recall"][tenths] for run in found["runs"]}
        assert ours == pytest.approx(laboratory.means(metric), abs=1e-12)


def test_topics_that_are_worth_nothing_are_left_out_and_said_so(answer):
    found = answer("gain-vectors", cutoff=5)
    assert (found["topics"], found["topics_left_out"]) == (11, [NO_RELEVANT])
    assert "nothing relevant" in found["left_out_because"]
    found = answer("gain-vectors", cutoff=5, gains="3:2:0")
    assert (found["topics"], found["topics_left_out"]) == (10, [ONLY_LOW, NO_RELEVANT])


def test_the_caption_of_a_curve_names_its_own_metric(laboratory):
    found = laboratory.read("gain-vectors", cutoff=5, rel=2, base=3)
    captions = {figure.name: figure.caption for figure in found.figures()}
    for name in CURVES:
        own = f"{name}(rel=2{',base=3' if 'D' in name else ''})@5"
        assert captions[name].endswith(f": {laboratory.label(own)}.")
