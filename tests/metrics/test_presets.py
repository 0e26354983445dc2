"""Presets: names for several metrics."""

import pytest

from gainboard.errors import BadExpression
from gainboard.metrics import Scale, every_metric, every_preset, expand, resolve, trec_eval_name

EVERY = pytest.mark.parametrize("preset", every_preset(), ids=lambda preset: preset.name)


def labels(expressions, highest_level=3):
    return [resolve(expression, Scale(highest_level, intents=True)).label for expression in expressions]


def test_the_guideline_is_that_of_section_6():
    # "3:2:1 or 10:5:1 ... say, beta = 1, 10 ... beta = 0, to reduce Q-measure to binary AveP ... one may additionally
    # use the rank-based nDCG with a small logarithm base: We recommend two"; its cut-off is 1000 in that paper.
    graded = [
        [f"Q(beta=1,gains={gains})", f"Q(beta=10,gains={gains})", f"nDCG(base=2,gains={gains})@1000"]
        for gains in ("3:2:1", "10:5:1")
    ]
    assert labels(expand(["sakai2006"], 3)) == ["AP", *graded[0], *graded[1]]


def test_other_scales_have_gains_for_all_of_their_levels():
    assert "Q(beta=10,gains=2:1)" in labels(expand(["sakai2006"], 2), 2)
    assert "nDCG(base=2,gains=exp)@1000" in labels(expand(["sakai2006"], 4), 4)
    binary = labels(expand(["sakai2006"], 1), 1)
    assert binary == ["AP", "Q(beta=1,gains=1)", "Q(beta=10,gains=1)", "nDCG(base=2,gains=1)@1000"]


def test_a_preset_is_expanded_in_its_place():
    found = expand(["RR", "SAKAI2006", "P@5"], 3)
    assert (found[0], found[1], found[-1]) == ("RR", "AP", "P@5")
    assert len(found) == 9
    assert expand(["RR", "no such metric", "sakai2006@10"], 3) == ["RR", "no such metric", "sakai2006@10"]


def test_the_default_output_of_trec_eval_is_named_as_there():
    found = [trec_eval_name(resolve(each, Scale(3)), Scale(3)) for each in expand(["trec_eval"], 3)]
    cutoffs = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    points = [f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)]
    assert found == ["map", "gm_map", "Rprec", "bpref", "recip_rank", *points, *(f"P_{cutoff}" for cutoff in cutoffs)]


HABITS = {
    "trec-dl": ["MSnDCG(gains=linear)@10", "nCG(gains=linear)@1000", "AP(rel=2)", "RR(rel=2)"],
    "trec-covid": ["MSnDCG(gains=linear)@10", "P@5", "RBP(gains=linear,p=0.5)", "bpref", "AP"],
    "ntcir-www": [
        "MSnDCG(gains=linear)@10",
        "Q(beta=1,gains=linear,recall_base=cutoff)@10",
        "nERR(gains=linear)@10",
        "iRBU(gains=linear,p=0.99)@10",
    ],
    "msmarco": ["RR@10", "Recall@1000"],
    "beir": ["MSnDCG(gains=linear)@10", "Recall@100"],
}


@pytest.mark.parametrize("name", HABITS)
def test_a_habit_is_labelled_with_what_tools_disagree_on(name):
    assert labels(expand([name], 3)) == HABITS[name]


def test_a_threshold_of_two_levels_needs_two_levels():
    assert labels(expand(["trec-dl"], 1), 1)[2:] == ["AP", "RR"]


@EVERY
def test_a_preset_says_whether_its_official_figures_are_compared(preset):
    """`trec_eval` alone is compared as a whole, in tests/trec_eval; `trec-dl` in part, in tests/test_real_data.py."""
    assert ("not compared" in " ".join(preset.definition.split())) == (preset.name != "trec_eval")


@EVERY
@pytest.mark.parametrize("form", ["{}", "{}@10", "{}(gains=3:2:1)"])
def test_where_one_metric_is_meant_a_preset_is_refused_as_such(preset, form):
    with pytest.raises(BadExpression, match=f"{preset.name} is a preset, the name of several metrics"):
        resolve(form.format(preset.name.upper()), Scale(3))


@EVERY
def test_no_metric_has_the_name_of_a_preset(preset):
    metrics = {name.lower() for metric in every_metric() for name in (metric.name, *metric.aliases)}
    assert preset.name.lower() not in metrics
    assert not preset.name.rpartition("_")[2].isdigit(), "such a name could be that of a metric with a cut-off"
