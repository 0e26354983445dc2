"""Metric expressions: how metrics are named, and what they are called in answers."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gainboard.errors import BadExpression, BadGains
from gainboard.metrics import Scale, notes_on_names, resolve, trec_eval_name
from tests.metrics.judged import ordinary_metrics

from .test_definitions import expressions

SCALE = Scale(3)


def label(expression, scale=SCALE, **query):
    return resolve(expression, scale, query=query).label


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("AP", "AP"),
        ("AP@10", "AP@10"),
        ("nDCG", "nDCG(base=2,gains=linear)@1000"),
        ("nDCG(gains=3:2:1,base=2.0)@10", "nDCG(base=2,gains=3:2:1)@10"),
        ("nDCG( gains = 3:2:1 , base = 2 )@010", "nDCG(base=2,gains=3:2:1)@10"),
        ("MSnDCG@10", "MSnDCG(gains=linear)@10"),
        ("Q(gains=10.0:5:.5)", "Q(beta=1,gains=10:5:0.5)"),
        ("Q(gains=adjust(3:2:1))", "Q(beta=1,gains=adjust(3:2:1))"),
        ("Q(beta=1e30,gains=exp)", "Q(beta=1e30,gains=exp)"),
        ("Q(beta=-0)", "Q(beta=0,gains=linear)"),
        ("AP(rel=1)", "AP"),
        ("AP(rel=2,recall_base=cutoff)@5", "AP(recall_base=cutoff,rel=2)@5"),
        ("AP(mean=geometric,condensed=true)", "AP(condensed=true,mean=geometric)"),
        ("P(rel=2)", "P(rel=2)@1000"),
        ("genP", "genP(gains=linear)@1000"),
        ("WRR", "WRR(b=2:3:4)"),
        ("ADM(srs=raw)", "ADM(gains=linear,srs=raw)"),
    ],
)
def test_a_label_shows_what_separates_metrics(expression, expected):
    assert label(expression) == expected


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_label_names_the_metric_that_bears_it(data):
    for metric in ordinary_metrics():
        bound = data.draw(expressions(metric))
        again = resolve(bound.label, SCALE)
        assert again.label == bound.label
        assert (again.metric, again.cutoff) == (bound.metric, bound.cutoff), bound.label
        assert again.parameters == bound.parameters, bound.label


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("AveP", "AP"),
        ("R-Prec", "Rprec"),
        ("PDoc@5", "P@5"),
        ("MRR", "RR"),
        ("R-WP", "RWP(gains=linear)"),
        ("genAveP", "genAP(gains=linear)"),
        ("WP@5", "nCG(gains=linear)@5"),
        ("P+", "Pplus(beta=1,gains=linear)"),
        ("Q-measure", "Q(beta=1,gains=linear)"),
        ("R-measure", "Rmeasure(beta=1,gains=linear)"),
    ],
)
def test_aliases_are_accepted_everywhere(alias, name):
    assert label(alias) == name


@pytest.mark.parametrize(("written", "meant"), [("ap", "AP"), ("NDCG@10", "nDCG@10"), ("ndcg", "nDCG"), ("q", "Q")])
def test_case_matters_only_where_it_must(written, meant):
    assert label(written) == label(meant)


@pytest.mark.parametrize(
    ("spelling", "meaning"),
    [
        ("map", "AP"),
        ("MAP", "AP"),
        ("map_cut_10", "AP@10"),
        ("P_10", "P@10"),
        ("recall_10", "Recall@10"),
        ("recip_rank", "RR"),
        ("ndcg_cut_10", "MSnDCG(gains=linear)@10"),
        ("ndcg_cut_10(gains=3:2:1)", "MSnDCG(gains=3:2:1)@10"),
        ("map(rel=2)", "AP(rel=2)"),
    ],
)
def test_spellings_of_trec_eval_mean_what_it_means_whatever_the_defaults(spelling, meaning):
    defaults = {"gains": "10:5:1", "rel": "3", "condensed": "true", "recall_base": "cutoff", "mean": "geometric"}
    assert resolve(spelling, SCALE, query=defaults, collection=defaults).label == meaning


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("AP", "map"),
        ("AP@10", "map_cut_10"),
        ("RR", "recip_rank"),
        ("P@5", "P_5"),
        ("MSnDCG(gains=linear)@10", "ndcg_cut_10"),
        ("MSnDCG(gains=3:2:1)@10", None),
        ("AP(rel=2)", None),
        ("RR@10", None),
        ("nDCG@10", None),
    ],
)
def test_trec_eval_has_a_name_only_for_what_it_computes(expression, name):
    assert trec_eval_name(resolve(expression, SCALE), SCALE) == name


def test_our_own_spelling_takes_the_defaults():
    assert label("AP@10", rel="2") == "AP(rel=2)@10"
    assert label("Rprec", rel="2") == "Rprec(rel=2)"


def test_the_expression_wins_over_the_query_and_the_query_over_the_collection():
    query, collection = {"beta": "5", "gains": "1:1:1"}, {"gains": "10:5:1", "rel": "2", "beta": "7"}
    bound = resolve("Q(beta=3)", SCALE, query=query, collection=collection)
    assert bound.label == "Q(beta=3,gains=1:1:1,rel=2)"


def test_a_default_that_the_metric_lacks_is_ignored():
    assert label("AP", beta="10", base="3", gains="1:1:1", b="2:2:2") == "AP"


@pytest.mark.parametrize("default", [{"beta": "-1"}, {"rel": "4"}, {"base": "1"}, {"mean": "harmonic"}])
def test_a_default_out_of_range_is_an_error_even_where_it_is_ignored(default):
    with pytest.raises(BadExpression, match="must be"):
        resolve("map", SCALE, query=default)
    with pytest.raises(BadExpression, match="must be"):
        resolve("map", SCALE, collection=default)


def test_penalties_follow_the_scale():
    assert label("WRR", Scale(1)) == "WRR(b=2)"
    assert label("NWRR", Scale(4)) == "NWRR(b=2:3:4:5)"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("Qmeasur", "Did you mean Q-measure"),
        ("ndcg_cut", "Did you mean ndcg_cut_10"),
        ("P_l", "Did you mean P_10"),
        ("nonsense", "there is no metric"),
        ("P", r"P needs a cut-off, such as P@10. If you mean P\+, write Pplus, or %2B"),
        ("p", "needs a cut-off"),
        ("P ", "contains a space. In a URL, write Pplus, or %2B"),
        ("P (beta=1)", "write Pplus, or %2B"),
        (" AP", "contains a space"),
        ("nDCG(beta=1)", "nDCG has no parameter beta. Available: base, condensed, gains, ia, mean, rel"),
        ("AP(rel=2,rel=2)", "rel is given twice"),
        ("AP(rel)", "Write key=value"),
        ("AP(rel=2,)", "Write key=value"),
        ("AP()", "is not a metric expression"),
        ("AP(rel=2", "is not a metric expression"),
        ("Q(gains=adjust(adjust(3:2:1)))", "is not a metric expression"),
        ("", "is not a metric expression"),
        ("AP@", "is not a metric expression"),
        ("AP@ten", "is not a metric expression"),
        ("AP@10@10", "is not a metric expression"),
        ("A" * 2000, "is not a metric expression"),
        ("AP@0", "must be a whole number from 1"),
        ("AP@10000000000", "must be a whole number from 1"),
        ("AP@" + "9" * 400, "must be a whole number from 1"),
        ("map_cut_0", "must be a whole number from 1"),
        ("map_cut_10@10", "two cut-offs, 10 and 10"),
        ("Rprec@5", "Rprec takes no cut-off"),
        ("ADM@5", "ADM takes no cut-off"),
        ("AP(rel=0)", "must be a whole number from 1 to 3"),
        ("AP(rel=4)", "must be a whole number from 1 to 3"),
        ("AP(rel=1.0)", "must be a whole number from 1 to 3"),
        ("AP(condensed=yes)", "must be true or false"),
        ("AP(mean=median)", "must be arithmetic or geometric"),
        ("Q(beta=-1)", "must be a number >= 0"),
        ("Q(beta=inf)", "must be a number >= 0"),
        ("Q(beta=1_0)", "must be a number >= 0"),
        ("nDCG(base=1)", "must be a number > 1"),
        ("WRR(b=2:3)", "one number > 1 for each level"),
        ("WRR(b=1:2:3)", "one number > 1 for each level"),
        ("WRR(b=4:3:2)", "one number > 1 for each level"),
        ("WRR(b=a:b:c)", "one number > 1 for each level"),
        ("ADM(urs=x)", "must be scaled or raw"),
    ],
)
def test_an_error_says_what_would_be_right(expression, message):
    with pytest.raises(BadExpression, match=message):
        resolve(expression, SCALE)


@given(st.text(alphabet="APQnDCGmap_10@(),=:+- relgainsbtujd3.\n\u0660\u00b2", max_size=30))
def test_any_text_is_a_metric_or_a_bad_expression(text):
    try:
        bound = resolve(text, SCALE)
    except (BadExpression, BadGains):
        return
    assert resolve(bound.label, SCALE).label == bound.label


@pytest.mark.parametrize(
    ("expressions", "notes"),
    [
        (["AP", "ndcg_cut_10", "ERR(gains=exp,stop_scale=4)@10", "RBP(gains=flat,p=0.8)", "nDCG@R"], []),
        (["nDCG@10", "nDCG(base=10)@5"], ["nDCG@10 is Järvelin and Kekäläinen's; .* is ndcg_cut_10"]),
        (["ERR"], [r"ERR is on the scale of this collection; .* is ERR\(gains=exp,stop_scale=4\)\."]),
        (["RBP@20"], [r"RBP@20 is of graded gains; .* is RBP\(gains=flat,p=0\.8\)@20"]),
    ],
)
def test_a_name_that_means_something_else_elsewhere_is_told_once(expressions, notes):
    found = notes_on_names([resolve(each, Scale(3)) for each in expressions])
    assert len(found) == len(notes)
    assert all(re.match(pattern, note) for pattern, note in zip(notes, found, strict=True))
    for note in found:  # what it offers can be asked
        resolve(note.rstrip(".").rpartition(" is ")[2], Scale(3))
